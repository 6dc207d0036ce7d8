//! The units of channels.

use crate::Error;
use crate::error::{Expected, Setting};

/// The unit in which each channel counts: for principal components, shrinkage and shares of
/// variance, where the channels of a recording are not all of one kind.
///
/// ```
/// use codiag::signals::{CovarianceOptions, Cut, Scale, Segments, View, segment_covariances};
///
/// let data = [1.0, -1.0, 1.0, -1.0, 2.0, 2.0, -2.0, -2.0]; // two channels of four samples
/// let recording = View::new(&data, 2, 4)?;
/// let whole = Segments::default().cut(Cut::Count(1));
/// let options = CovarianceOptions::default().scale(Scale::UnitRms);
/// let found = segment_covariances(&recording, &whole, &options)?;
/// assert_eq!(found.data, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Scale {
    /// As recorded.
    #[default]
    Unchanged,
    /// Every channel is divided by its root mean square.
    UnitRms,
    /// Every channel is divided by the root mean square of its group, such as all magnetometers:
    /// one number per channel, equal for the channels of a group.
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
        let one_per_channel = |length: usize| {
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
                one_per_channel(groups.len())?;
                let powers = powers()?;
                let mean = |group: usize| {
                    let own = groups.iter().zip(&powers).filter(|(g, _)| **g == group);
                    let count = own.clone().count() as f64;
                    own.map(|(_, power)| power / count).sum()
                };
                groups.iter().map(|g| inverse_root(mean(*g))).collect()
            }
            Self::Given(factors) => {
                one_per_channel(factors.len())?;
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
