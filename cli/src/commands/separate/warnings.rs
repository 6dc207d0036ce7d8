//! Warnings about the result of a separation.

use codiag::signals::{Contrast, drift_fraction};

use super::super::result::{ill_conditioned, warnings};
use super::input::Input;
use crate::format::short;
use crate::page::separate::Sources;

/// Returns warnings about sources that cannot be identified. `samples` is the length of the
/// recording, `n_components_option` the name of the option that reduces the number of components.
pub fn identifiability(
    contrast: &Contrast,
    found: &Sources<'_>,
    samples: usize,
    n_components_option: &str,
) -> Vec<String> {
    let result = &found.solve;
    let warning = match contrast {
        Contrast::Lags(_) => equal_autocorrelations(found, samples),
        Contrast::Cumulants { .. } => gaussian_sources(found, samples),
        _ => return warnings(result, n_components_option),
    };
    warning
        .into_iter()
        .chain(ill_conditioned(result, n_components_option))
        .collect()
}

/// Fraction of the variance in slow drifts above which a warning is given.
const MAX_DRIFT_FRACTION: f64 = 0.1;

/// Returns a warning if slow drifts are a large part of the variance.
pub fn drift(input: &Input) -> anyhow::Result<Option<String>> {
    let Some(sfreq) = input.sfreq else {
        return Ok(None);
    };
    let bad_spans: Vec<_> = input
        .info
        .bad_spans
        .iter()
        .map(|[from, to]| *from..*to)
        .collect();
    let fraction = drift_fraction(&input.picked(), sfreq, &bad_spans)?;
    Ok((fraction > MAX_DRIFT_FRACTION).then(|| {
        format!(
            "slow drifts are {:.0} % of the variance of the channels and make sources harder to separate; use --highpass 1 \
             to remove them",
            100.0 * fraction
        )
    }))
}

/// Factor applied to the expected effect of sampling noise, because the rotation was chosen to
/// maximize the contrast.
const SELECTION_FACTOR: f64 = 5.0;

/// Returns a warning if the autocorrelations of two sources differ by no more than those of white
/// noise. An autocorrelation of T independent samples has the variance 1/T, and the difference of
/// two has 2/T.
fn equal_autocorrelations(found: &Sources<'_>, samples: usize) -> Option<String> {
    let by_chance = 2.0 * found.solve.powers.rows() as f64 / samples as f64;
    let margins = found.least_separable.iter().enumerate();
    let (source, closest) = margins
        .filter_map(|(source, margin)| Some((source, (*margin)?)))
        .min_by(|x, y| x.1.1.total_cmp(&y.1.1))?;
    let (other, margin) = closest;
    (margin < SELECTION_FACTOR * by_chance).then(|| {
        format!(
            "sources {} and {} are nearly unidentifiable (margin {}; sampling noise alone gives about {}): their \
             autocorrelations do not differ significantly, so any mixture of the two fits as well; only the subspace they span is determined",
            found.solve.name(source.min(other)),
            found.solve.name(source.max(other)),
            short(margin),
            short(by_chance)
        )
    })
}

/// Returns a warning if the kurtosis of several sources is consistent with a Gaussian distribution.
/// The kurtosis of T independent Gaussian samples has the variance 24/T.
fn gaussian_sources(found: &Sources<'_>, samples: usize) -> Option<String> {
    let by_chance = (SELECTION_FACTOR * 24.0 / samples as f64).sqrt();
    let gaussian: Vec<String> = (0..found.kurtosis.len())
        .filter(|k| found.kurtosis[*k].abs() < by_chance)
        .map(|k| found.solve.name(k))
        .collect();
    (gaussian.len() > 1).then(|| {
        format!(
            "sources {} are nearly unidentifiable: their kurtosis is consistent with Gaussian sources, so any mixture \
             of them fits as well; only the subspace they span is determined",
            gaussian.join(", ")
        )
    })
}
