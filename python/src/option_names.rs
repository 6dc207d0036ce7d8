//! Names of options in Python's error messages.

use std::borrow::Cow;

use codiag::error::{OptionNames, Setting};

/// Keyword arguments of Python.
pub struct Keywords {
    /// Name of a matrix B that the caller passes.
    pub given_matrix: &'static str,
}

impl OptionNames for Keywords {
    fn option(&self, setting: Setting) -> Cow<'static, str> {
        match setting {
            Setting::Labels => "y".into(),
            Setting::Weights => "sample_weight".into(),
            other => other.to_string().into(),
        }
    }

    fn with_value(&self, setting: Setting, value: &str) -> String {
        format!("{}={value}", self.option(setting))
    }

    fn choice(&self, setting: Setting, name: &str) -> Option<String> {
        Some(match (setting, name) {
            (Setting::Rank, "full") => "None".to_owned(),
            _ => format!("{name:?}"),
        })
    }

    fn switched_on(&self, setting: Setting) -> String {
        self.with_value(setting, "True")
    }

    fn given_matrix(&self) -> &'static str {
        self.given_matrix
    }

    fn in_memory(&self) -> &'static str {
        "pass the matrices as an array"
    }

    fn on_disk(&self) -> Option<&'static str> {
        Some("pass the path of a .npy file with memory=\"2GB\"")
    }
}
