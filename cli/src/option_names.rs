//! Names of options in the program's error messages.

use std::borrow::Cow;

use codiag::error::{OptionNames, Setting};

/// Flags of the command line.
pub struct Flags;

impl OptionNames for Flags {
    fn option(&self, setting: Setting) -> Cow<'static, str> {
        match setting {
            // The program has no flag for these.
            Setting::BadSpans => "the bad spans".into(),
            Setting::Forgetting
            | Setting::Labels
            | Setting::LambdaMin
            | Setting::TrackerWindow
            | Setting::Window => setting.to_string().into(),
            Setting::Matrices => "-n".into(),
            Setting::Weights => "--sample-weight".into(),
            other => format!("--{}", other.to_string().replace('_', "-")).into(),
        }
    }

    fn with_value(&self, setting: Setting, value: &str) -> String {
        let option = self.option(setting);
        match setting {
            Setting::Lags => format!("{option} 1:{value}"),
            _ => format!("{option} {value}"),
        }
    }

    fn choice(&self, setting: Setting, name: &str) -> Option<String> {
        // Without --n-components, the rank is full.
        let exists = (setting, name) != (Setting::Rank, "full");
        exists.then(|| name.to_owned())
    }

    fn switched_on(&self, setting: Setting) -> String {
        self.option(setting).into()
    }

    fn in_memory(&self) -> &'static str {
        "leave out --memory"
    }

    fn on_disk(&self) -> Option<&'static str> {
        Some("keep them in a .npy file that is read in parts (--memory)")
    }
}
