//! Paragraph for the methods section of a paper, with references.

use codiag::Criterion;
use codiag::signals::{
    Components, Contrast, Recording, Scale, Separation, SeparationResult, Shrinkage,
};

use super::Input;
use crate::args::Separate;
use crate::format;
use crate::page::solve::StabilityEstimate;
use crate::page::stability;

/// A paragraph and the references that it cites.
pub struct Methods {
    pub text: String,
    pub references: Vec<&'static str>,
}

const ABLIN: &str = "P. Ablin, J.-F. Cardoso and A. Gramfort, Beyond Pham's algorithm for joint diagonalization, \
                     ESANN, 2019.";
const PHAM: &str = "D.-T. Pham, Joint approximate diagonalization of positive definite Hermitian matrices, SIAM \
                    Journal on Matrix Analysis and Applications 22, 2001.";
const PHAM_CARDOSO: &str = "D.-T. Pham and J.-F. Cardoso, Blind separation of instantaneous mixtures of \
                            nonstationary sources, IEEE Transactions on Signal Processing 49, 2001.";
const SOBI: &str = "A. Belouchrani, K. Abed-Meraim, J.-F. Cardoso and E. Moulines, A blind source separation technique \
                    using second-order statistics, IEEE Transactions on Signal Processing 45, 1997.";
const AMUSE: &str = "L. Tong, V. C. Soon, Y. F. Huang and R. Liu, AMUSE: a new blind identification algorithm, IEEE \
                     International Symposium on Circuits and Systems, 1990.";
const JADE: &str = "J.-F. Cardoso and A. Souloumiac, Blind beamforming for non-Gaussian signals, IEE Proceedings F \
                    140, 1993.";
const LEDOIT: &str = "O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices, \
                      Journal of Multivariate Analysis 88, 2004.";
const CHEN: &str = "Y. Chen, A. Wiesel, Y. C. Eldar and A. O. Hero, Shrinkage algorithms for MMSE covariance \
                    estimation, IEEE Transactions on Signal Processing 58, 2010.";
const DAMMERS: &str = "J. Dammers et al., Integration of amplitude and phase statistics for complete artifact removal \
                       in independent components of neuromagnetic recordings, IEEE Transactions on Biomedical \
                       Engineering 55, 2008.";

/// Describes a separation.
pub fn paragraph(
    input: &Input,
    args: &Separate,
    separation: &Separation,
    found: &SeparationResult,
) -> Methods {
    let (contrast, mut references) = contrast(separation, found, input.sfreq);
    let mut sentences = vec![recording(input, args, found), components(separation, found)];
    sentences.push(contrast);
    match separation.shrinkage {
        Shrinkage::LedoitWolf => {
            sentences.push(
                "Each matrix was shrunk towards a multiple of the identity (Ledoit & Wolf 2004)."
                    .to_owned(),
            );
            references.push(LEDOIT);
        }
        Shrinkage::Oas => {
            sentences.push(
                "Each matrix was shrunk towards a multiple of the identity (Chen et al. 2010)."
                    .to_owned(),
            );
            references.push(CHEN);
        }
        Shrinkage::Fixed(weight) if weight > 0.0 => sentences.push(format!(
            "Each matrix was shrunk towards a multiple of the identity with weight {weight}."
        )),
        _ => {}
    }
    let result = &found.diagonalization;
    sentences.push(format!(
        "The matrices were diagonalized by the method \"{}\" of codiag {} ({}, gradient norm {:.1e} after {}, \
         tolerance {:e}{}).",
        separation.solver.method.name(),
        env!("CARGO_PKG_VERSION"),
        result.status,
        result.gradient_norm,
        format::count(result.n_iter, "iteration", "iterations"),
        separation.solver.tol,
        match separation.solver.n_restarts {
            0 => String::new(),
            n => format!(", the best of {} starts", n + 1),
        }
    ));
    if let Some(estimate) = result.stability.as_ref().map(StabilityEstimate::from) {
        let resampled = stability::resampled_in(&separation.contrast);
        sentences.push(format!(
            "The stability of a source is {}: {}.",
            stability::definition(&estimate, resampled),
            stability::summary(&estimate)
        ));
    }
    if !input.references.is_empty() {
        let names: Vec<&str> = input
            .references
            .iter()
            .map(|(r, _)| r.name.as_str())
            .collect();
        sentences.push(format!(
            "Sources were compared with {}: by their correlation around the peaks of that channel, and for heartbeats also by the consistency of \
             their phase (Kuiper's test; Dammers et al. 2008).",
            names.join(", ")
        ));
        references.push(DAMMERS);
    }
    if !args.exclude.is_empty() {
        let numbers: Vec<String> = args
            .exclude
            .iter()
            .map(|k| format::component(*k, found.n_components()))
            .collect();
        sentences.push(format!(
            "Source{} {} {} removed from the unfiltered recording.",
            if numbers.len() == 1 { "" } else { "s" },
            numbers.join(", "),
            if numbers.len() == 1 { "was" } else { "were" }
        ));
    }
    Methods {
        text: sentences.join(" "),
        references,
    }
}

/// Describes the recording and its filter.
fn recording(input: &Input, args: &Separate, found: &SeparationResult) -> String {
    let mut text = format!(
        "The recording ({}{}, {} samples{})",
        format::count(found.n_channels(), "channel", "channels"),
        by_type(&input.types()),
        input.stored.samples(),
        input.sfreq.map_or(String::new(), |sfreq| format!(
            " at {} Hz, {}",
            (1e2 * sfreq).round() / 1e2, // 600.614990234375 in some files
            format::seconds(input.stored.samples() as f64 / sfreq)
        ))
    );
    let filter = match (args.highpass, args.lowpass) {
        (Some(low), Some(high)) => format!("between {low} and {high} Hz"),
        (Some(low), None) => format!("above {low} Hz"),
        (None, Some(high)) => format!("below {high} Hz"),
        (None, None) => String::new(),
    };
    text += &if filter.is_empty() {
        " was separated without filtering".to_owned()
    } else {
        format!(" was filtered {filter} (Butterworth filter of fourth order, forward and backward)")
    };
    let bad: usize = input
        .info
        .bad_spans
        .iter()
        .map(|[from, to]| to - from)
        .sum();
    if bad > 0 {
        text += &format!("; {bad} samples marked as bad were left out");
    }
    text + "."
}

/// Lists the number of channels of each type, if types are known.
fn by_type(types: &[String]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for kind in types.iter().filter(|kind| !kind.is_empty()) {
        match counts.iter_mut().find(|(known, _)| known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    let each: Vec<String> = counts
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    if each.is_empty() {
        String::new()
    } else {
        format!(": {}", each.join(" and "))
    }
}

/// Describes the scaling and the number of components.
fn components(separation: &Separation, found: &SeparationResult) -> String {
    let units = match &separation.scale {
        Scale::Groups(_) => ", after division of each type of channels by its root mean square,",
        Scale::UnitRms => ", after division of each channel by its root mean square,",
        _ => "",
    };
    let kept = 100.0 * found.explained_variance_ratio_total;
    match separation.n_components {
        Components::All => format!(
            "All {} components were separated{}.",
            found.n_components(),
            units.trim_end_matches(',')
        ),
        _ => format!(
            "The first {} principal components{units} with {kept:.1} % of the variance were separated.",
            found.n_components()
        ),
    }
}

/// Describes the contrast by which sources are separated, and returns its references.
fn contrast(
    separation: &Separation,
    found: &SeparationResult,
    sfreq: Option<f64>,
) -> (String, Vec<&'static str>) {
    let rows = found.diagonalization.powers.rows();
    let length = found.segments.first().map_or(0, |piece| {
        piece.iter().map(ExactSizeIterator::len).sum::<usize>()
    });
    let each = sfreq.map_or(format!("{length} samples"), |sfreq| {
        format!(
            "{length} samples ({})",
            format::seconds(length as f64 / sfreq)
        )
    });
    match &separation.contrast {
        Contrast::Bands(bands) => {
            let edges: Vec<String> = bands
                .bands
                .iter()
                .map(|(a, b)| format!("{a:.4}-{b:.4}"))
                .collect();
            let segments = if found.segments.is_empty() {
                String::new()
            } else {
                format!(", in each of {} segments of {each}", found.segments.len())
            };
            let text = format!(
                "The separation makes the cospectra in {} frequency bands ({} Hz){segments} as diagonal as possible, measured \
                 by Pham's likelihood (Pham 2001; Ablin et al. 2019).",
                bands.bands.len(),
                edges.join(", ")
            );
            (text, vec![PHAM, ABLIN])
        }
        Contrast::Lags(lags) => {
            let (by, cited) = match lags.lags.len() {
                1 => ("AMUSE; Tong et al. 1990", AMUSE),
                _ => ("SOBI; Belouchrani et al. 1997", SOBI),
            };
            let how = match found.diagonalization.criterion {
                Criterion::Frobenius => "by a rotation of the whitened components",
                _ => "by least squares",
            };
            let text = format!(
                "The separation makes {rows} lagged covariances as diagonal as possible {how} ({by})."
            );
            (text, vec![cited])
        }
        Contrast::Cumulants { .. } => (
            format!(
                "The separation makes {rows} matrices of fourth-order cumulants as diagonal as possible by a \
                 rotation of the whitened components (JADE; Cardoso & Souloumiac 1993)."
            ),
            vec![JADE],
        ),
        _ => (
            format!(
                "The separation makes the covariances of {rows} segments of {each} as diagonal as possible, measured by \
                 Pham's likelihood (Pham & Cardoso 2001; Ablin et al. 2019)."
            ),
            vec![PHAM_CARDOSO, PHAM, ABLIN],
        ),
    }
}
