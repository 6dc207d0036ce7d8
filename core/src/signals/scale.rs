//! The units of channels.

use crate::Error;
use crate::error::{Expected, Setting};

/// The unit in which each channel counts: for principal components, shrinkage and shares of
/// variance, where the channels of a recording are not all of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// As recorded.
    #[default]
    Unchanged,
    /// Every channel is divided by its root mean square.
    UnitRms,
    /// Every channel is divided by the root mean square of its group, such as all magnetometers:
    /// one number a channel, equal for the channels of a group.
    Groups(Vec<usize>),
    /// Every channel is multiplied by its own positive factor.
    Given(Vec<f64>),
}

impl Scale {
    /// The factors, if they are not all 1. The powers are only computed if needed.
    pub(super) fn factors(
        &self,
        channels: usize,
        powers: impl FnOnce() -> Result<Vec<f64>, Error>,
    ) -> Result<Option<Vec<f64>>, Error> {
        let one_a_channel = |length: usize| {
            if length == channels {
                return Ok(());
            }
            let value = format!("{length} for {channels} channels");
            Err(refused("one number per channel", value))
        };
        Ok(Some(match self {
            Self::Unchanged => return Ok(None),
            Self::UnitRms => powers()?.into_iter().map(inverse_root).collect(),
            Self::Groups(groups) => {
                one_a_channel(groups.len())?;
                let powers = powers()?;
                let mean = |group: usize| {
                    let own = groups.iter().zip(&powers).filter(|(g, _)| **g == group);
                    let count = own.clone().count() as f64;
                    own.map(|(_, power)| power / count).sum()
                };
                groups.iter().map(|g| inverse_root(mean(*g))).collect()
            }
            Self::Given(factors) => {
                one_a_channel(factors.len())?;
                if let Some(bad) = factors.iter().find(|f| !(f.is_finite() && **f > 0.0)) {
                    return Err(refused("positive numbers", bad.to_string()));
                }
                factors.clone()
            }
        }))
    }
}

fn refused(expected: &'static str, value: String) -> Error {
    Error::setting(Setting::Scale, Expected::Words(expected), value)
}

/// A channel that is always zero stays so.
fn inverse_root(power: f64) -> f64 {
    if power > 0.0 { 1.0 / power.sqrt() } else { 1.0 }
}
