//! Names of options in the error messages of C, R and Octave.

use std::borrow::Cow;

use codiag::error::{OptionNames, Setting};

/// Fields, arguments and constants of C.
pub(crate) struct C;

impl OptionNames for C {
    fn option(&self, setting: Setting) -> Cow<'static, str> {
        match setting {
            Setting::SegmentLength => "n_segments".into(),
            other => other.to_string().into(),
        }
    }

    fn with_value(&self, setting: Setting, value: &str) -> String {
        format!("{} = {value}", self.option(setting))
    }

    fn choice(&self, setting: Setting, name: &str) -> Option<String> {
        let name = name.to_uppercase().replace('-', "_");
        Some(match (setting, &*name) {
            (Setting::Rank, "FULL") => "0".to_owned(),
            (setting, name) => format!("CODIAG_{}_{name}", setting.to_string().to_uppercase()),
        })
    }

    fn switched_on(&self, setting: Setting) -> String {
        self.with_value(setting, "1")
    }

    fn given_matrix(&self) -> &'static str {
        "b"
    }

    fn regularizes_covariances(&self) -> bool {
        false
    }
}

/// Arguments of R.
pub(crate) struct R;

impl OptionNames for R {
    fn option(&self, setting: Setting) -> Cow<'static, str> {
        match setting {
            Setting::Components => "n.comp".into(),
            Setting::Lags => "k".into(),
            other => other.to_string().into(),
        }
    }

    fn with_value(&self, setting: Setting, value: &str) -> String {
        format!("{} = {value}", self.option(setting))
    }

    fn switched_on(&self, setting: Setting) -> String {
        self.with_value(setting, "TRUE")
    }

    fn given_matrix(&self) -> &'static str {
        "init"
    }

    fn first_index(&self) -> usize {
        1
    }
}

/// Name-value pairs of Octave and MATLAB.
pub(crate) struct Octave;

impl OptionNames for Octave {
    fn option(&self, setting: Setting) -> Cow<'static, str> {
        format!("'{setting}'").into()
    }

    fn with_value(&self, setting: Setting, value: &str) -> String {
        format!("{}, {value}", self.option(setting))
    }

    fn choice(&self, _: Setting, name: &str) -> Option<String> {
        Some(format!("'{name}'"))
    }

    fn switched_on(&self, setting: Setting) -> String {
        self.with_value(setting, "true")
    }

    fn given_matrix(&self) -> &'static str {
        "init"
    }

    fn first_index(&self) -> usize {
        1
    }
}
