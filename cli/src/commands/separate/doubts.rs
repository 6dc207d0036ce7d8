//! What speaks against some sources.

use codiag::signals::{Contrast, SeparationResult, drift_fraction};

use super::super::answer::{ill_conditioned, warnings};
use super::NAMES;
use super::input::Input;
use crate::words::small;

/// What the user of a separation of a recording of so many samples should know.
pub fn doubts(contrast: &Contrast, found: &SeparationResult, samples: usize) -> Vec<String> {
    let answer = &found.diagonalization;
    let doubt = match contrast {
        Contrast::Lags(_) => alike(found, samples),
        Contrast::Cumulants { .. } => gaussian(found, samples),
        _ => return warnings(answer, &NAMES),
    };
    doubt
        .into_iter()
        .chain(ill_conditioned(answer, &NAMES))
        .collect()
}

/// The share of the variance that drifts may have without a word.
const DRIFT: f64 = 0.1;

/// Whether the recording drifts too much.
pub fn drift(input: &Input) -> anyhow::Result<Option<String>> {
    let Some(rate) = input.rate else {
        return Ok(None);
    };
    let bad: Vec<_> = input.info.bad.iter().map(|[from, to]| *from..*to).collect();
    let share = drift_fraction(&input.picked(), rate, &bad)?;
    Ok((share > DRIFT).then(|| {
        format!(
            "drifts over several seconds are {:.0} % of the variance of the channels, and hide what tells sources \
             apart: --highpass 1 keeps them out",
            100.0 * share
        )
    }))
}

/// As many times what chance shows is still taken for chance: the rotation was chosen to show the most.
const CHOSEN: f64 = 5.0;

/// Two sources of the same autocorrelations: those of white noise differ by as much by chance. An
/// autocorrelation of independent samples has the variance 1/T, and a difference of two twice that.
fn alike(found: &SeparationResult, samples: usize) -> Option<String> {
    let by_chance = 2.0 * found.diagonalization.powers.rows() as f64 / samples as f64;
    let rivals = found.least_separable.iter().enumerate();
    let (source, rival) = rivals
        .filter_map(|(source, rival)| Some((source, (*rival)?)))
        .min_by(|x, y| x.1.margin.total_cmp(&y.1.margin))?;
    (rival.margin < CHOSEN * by_chance).then(|| {
        let other = rival.partner;
        format!(
            "sources {} and {} are nearly unidentifiable (margin {}, where chance alone shows {}): their \
             autocorrelations are the same, so any mixture of the two fits as well; only the subspace they span is determined",
            source.min(other),
            source.max(other),
            small(rival.margin),
            small(by_chance)
        )
    })
}

/// Several sources without kurtosis: that of T independent Gaussian samples has the variance 24/T.
fn gaussian(found: &SeparationResult, samples: usize) -> Option<String> {
    let by_chance = (CHOSEN * 24.0 / samples as f64).sqrt();
    let near: Vec<String> = (0..found.n_components())
        .filter(|k| found.kurtosis[*k].abs() < by_chance)
        .map(|k| k.to_string())
        .collect();
    (near.len() > 1).then(|| {
        format!(
            "sources {} are nearly unidentifiable: all are Gaussian as far as their kurtosis tells, so any mixture \
             of them fits as well; only the subspace they span is determined",
            near.join(", ")
        )
    })
}
