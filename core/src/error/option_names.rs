//! Names of options in error messages. Each language and program supplies its own.

use std::borrow::Cow;

use super::Setting;
use crate::choices::{Criterion, Method, SortBy};

/// Spelling of the options that error messages name, in one language or program.
///
/// ```
/// use std::borrow::Cow;
/// use codiag::error::{OptionNames, Setting};
/// use codiag::{Settings, diagonalize, synthetic};
///
/// struct Flags;
///
/// impl OptionNames for Flags {
///     fn option(&self, setting: Setting) -> Cow<'static, str> {
///         format!("--{setting}").into()
///     }
///
///     fn with_value(&self, setting: Setting, value: &str) -> String {
///         format!("{} {value}", self.option(setting))
///     }
/// }
///
/// let set = synthetic::noisy(20, 3, 0.1, 0);
/// let error = diagonalize(&set, &Settings::default().tol(-1.0)).unwrap_err();
/// assert_eq!(error.render(&Flags), "--tol must be a positive number, got -1");
/// ```
pub trait OptionNames {
    /// Returns the name of an option: `--tol`, `tol`.
    fn option(&self, setting: Setting) -> Cow<'static, str>;

    /// Returns an option with a value: `--shrinkage 1e-3`, `shrinkage=1e-3`.
    fn with_value(&self, setting: Setting, value: &str) -> String;

    /// Returns one of the names that an option accepts: `auto`, `"auto"`,
    /// `CODIAG_N_COMPONENTS_AUTO`. None if the language does not have it.
    fn choice(&self, setting: Setting, name: &str) -> Option<String> {
        let _ = setting;
        Some(format!("{name:?}"))
    }

    /// Returns an option with one of the names that it accepts: `--n-components auto`,
    /// `n_components="auto"`, `Rank::Auto`.
    fn with_choice(&self, setting: Setting, name: &str) -> String {
        let choice = self.choice(setting, name);
        self.with_value(setting, choice.as_deref().unwrap_or(name))
    }

    /// Returns an option that is switched on: `--orthogonal`, `orthogonal=True`.
    fn switched_on(&self, setting: Setting) -> String {
        self.with_value(setting, "true")
    }

    /// Returns the name of a matrix B that the caller passes.
    fn given_matrix(&self) -> &'static str {
        "the starting point"
    }

    /// Returns the number of the first matrix, row, channel and so on: 0 or 1.
    fn first_index(&self) -> usize {
        0
    }

    /// Returns the instruction that keeps all matrices in memory.
    fn in_memory(&self) -> &'static str {
        "load all matrices into memory"
    }

    /// Returns the instruction that keeps the matrices in a file. None if that is not possible in
    /// the language.
    fn on_disk(&self) -> Option<&'static str> {
        None
    }

    /// Whether the functions that estimate covariances have the options shrinkage and n_components.
    fn regularizes_covariances(&self) -> bool {
        true
    }
}

/// The names of Rust.
pub(super) struct RustNames;

impl OptionNames for RustNames {
    fn option(&self, setting: Setting) -> Cow<'static, str> {
        setting.to_string().into()
    }

    fn with_value(&self, setting: Setting, value: &str) -> String {
        match setting {
            Setting::Components => format!("Components::Count({value})"),
            Setting::Rank => format!("Rank::Exactly({value})"),
            Setting::Shrinkage | Setting::Symmetrize => format!("SetOptions::{setting}({value})"),
            Setting::Orthogonal | Setting::NRestarts | Setting::NResamples => {
                format!("Settings::{setting}({value})")
            }
            _ => format!("{setting} = {value}"),
        }
    }

    fn choice(&self, setting: Setting, name: &str) -> Option<String> {
        Some(match (setting, name) {
            (Setting::Rank, "full") => "Rank::Full".to_owned(),
            (Setting::Rank, "auto") => "Rank::Auto".to_owned(),
            _ => format!("{name:?}"),
        })
    }

    fn with_choice(&self, setting: Setting, name: &str) -> String {
        let variant = match setting {
            Setting::Criterion => name.parse().map(|c: Criterion| format!("Criterion::{c:?}")),
            Setting::Method => name.parse().map(|m: Method| format!("Method::{m:?}")),
            Setting::SortBy => name.parse().map(|s: SortBy| format!("SortBy::{s:?}")),
            _ => Ok(self.choice(setting, name).unwrap_or_default()),
        };
        variant.unwrap_or_else(|_| self.with_value(setting, name))
    }

    fn given_matrix(&self) -> &'static str {
        "B"
    }

    fn on_disk(&self) -> Option<&'static str> {
        Some("keep them in a file with OnDisk")
    }
}
