//! Names of the options of the command line in error messages.

use std::borrow::Cow;

use codiag::error::{OptionNames, Setting};

/// Writes settings as flags of the command line.
pub struct Flags;

impl OptionNames for Flags {
    fn option(&self, setting: Setting) -> Cow<'static, str> {
        match setting {
            // A field of the file of --info.
            Setting::BadSpans => "bad_spans".into(),
            Setting::Forgetting | Setting::Labels | Setting::TrackerWindow | Setting::Window => {
                setting.to_string().into()
            }
            Setting::LambdaMin => "lambda_min".into(),
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
        // Full rank is the default: there is no name for it on the command line.
        let exists = (setting, name) != (Setting::Rank, "full");
        exists.then(|| name.to_owned())
    }

    fn given_matrix(&self) -> &'static str {
        "the matrix of --init"
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
