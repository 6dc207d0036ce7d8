//! HTML reports of results that were computed elsewhere, for example in Python. The program writes
//! the same pages.

use codiag::signals::{ArtifactDetector, Contrast, Recording, ReferenceChannel, Thresholds, apply};
use codiag::{Error, Matrix, Scalar, SortBy};

pub use crate::page::Comparison;
pub use crate::page::diagonalize::Page as DiagonalizationReport;
pub use crate::page::provenance::Provenance;
pub use crate::page::separate::Sources;
pub use crate::page::solve::{HistoryPoint, SolveResult, StabilityEstimate};

use crate::commands::result::warnings;
use crate::commands::separate::warnings::identifiability;
use crate::page::separate::{Page, is_sound, render};
use crate::page::{Removal, diagonalize};
use crate::source_view::{ArtifactScorer, GoodSamples, SourceView};

/// Name of the argument that reduces the number of components, for warnings.
const N_COMPONENTS: &str = "n_components";
/// Number of sources that are computed at a time.
const SOURCES_AT_A_TIME: usize = 16;

/// Returns warnings about a result, for [`DiagonalizationReport::warnings`].
pub fn diagonalization_warnings<T: Scalar>(result: &SolveResult<'_, T>) -> Vec<String> {
    warnings(result, N_COMPONENTS)
}

/// Returns the report of a diagonalization as HTML.
///
/// ```
/// use codiag::{Settings, diagonalize, synthetic};
/// use codiag_cli::report::{self, Comparison, DiagonalizationReport, Provenance};
/// let set = synthetic::noisy(20, 4, 0.1, 0);
/// let result = diagonalize(&set, &Settings::default())?;
/// let page = report::diagonalization(&DiagonalizationReport {
///     input: "covariances",
///     matrices: set.len(),
///     size: set.channels(),
///     weights: None,
///     result: (&result).into(),
///     method: None,
///     sort_by: None,
///     tol: Some(1e-8),
///     seconds: None,
///     warnings: &[],
///     comparison: Comparison::of(&set, &(&result).into()).as_ref(),
///     provenance: &Provenance::default(),
///     files: false,
/// });
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// # Ok::<(), codiag::Error>(())
/// ```
pub fn diagonalization<T: Scalar>(report: &DiagonalizationReport<'_, T>) -> String {
    diagonalize::render(report)
}

/// Content of the report of a separation.
pub struct SeparationReport<'a> {
    /// Name of the recording.
    pub input: &'a str,
    /// Recording of the channels that were separated.
    pub recording: &'a dyn Recording,
    /// Sampling frequency in Hz, if known.
    pub sfreq: Option<f64>,
    /// Name of each channel.
    pub names: &'a [String],
    /// Position of each channel seen from above, with x to the right ear and y to the nose, if
    /// known.
    pub positions: &'a [Option<[f64; 2]>],
    /// Type of each channel, such as "eeg"; empty if unknown.
    pub types: &'a [String],
    /// Spans of samples that were left out, each given by its first sample and the one after its
    /// last.
    pub bad_spans: &'a [[usize; 2]],
    /// Channels that record artifacts, without the samples of `bad_spans`.
    pub references: &'a [ReferenceChannel<'a>],
    /// Property by which the sources were separated.
    pub contrast: &'a Contrast,
    /// Order of the sources.
    pub sort_by: SortBy,
    /// Sources.
    pub sources: Sources<'a>,
    /// Tolerance of the solve.
    pub tol: f64,
    /// Duration of the solve in seconds, if known.
    pub seconds: Option<f64>,
    /// Sources whose removal is shown, in ascending order.
    pub exclude: &'a [usize],
    /// Settings and command.
    pub provenance: &'a Provenance,
}

/// Returns the report of a separation as HTML.
///
/// # Errors
/// If the recording cannot be read.
pub fn separation(report: SeparationReport<'_>) -> Result<String, Error> {
    let (recording, solve) = (report.recording, &report.sources.solve);
    let samples = recording.samples();
    let good = GoodSamples::new(report.bad_spans, samples);
    let sound = is_sound(report.sfreq, report.types, report.references.is_empty());
    let scorer = report.sfreq.filter(|_| !sound).map(|sfreq| ArtifactScorer {
        detector: ArtifactDetector::new(sfreq, report.references),
        thresholds: Thresholds::default(),
    });
    let views = views(recording, solve.b, &good, report.sfreq, scorer.as_ref())?;
    let removal = if report.exclude.is_empty() {
        None
    } else {
        Some(Removal::of(
            recording,
            (solve.b, solve.a),
            report.exclude,
            report.types,
            &good,
            report.sfreq,
        )?)
    };
    let warnings = identifiability(report.contrast, &report.sources, samples, N_COMPONENTS);
    Ok(render(&Page {
        input: report.input,
        samples,
        sfreq: report.sfreq,
        sound,
        names: report.names,
        positions: report.positions,
        types: report.types,
        methods: None,
        thresholds: &Thresholds::default(),
        cleaned_file: None,
        contrast: report.contrast,
        sort_by: report.sort_by,
        found: report.sources,
        views: &views,
        tol: report.tol,
        seconds: report.seconds,
        warnings: &warnings,
        removal: removal.as_ref(),
        excluded: report.exclude,
        provenance: report.provenance,
        files: false,
    }))
}

/// Computes the sources, some at a time, and summarizes each of them.
fn views(
    recording: &dyn Recording,
    filters: &Matrix,
    good: &GoodSamples,
    sfreq: Option<f64>,
    scorer: Option<&ArtifactScorer>,
) -> Result<Vec<SourceView>, Error> {
    let (count, p, samples) = (filters.rows(), filters.columns(), recording.samples());
    let mut views = Vec::with_capacity(count);
    for first in (0..count).step_by(SOURCES_AT_A_TIME) {
        let some = SOURCES_AT_A_TIME.min(count - first);
        let own = Matrix::from_fn(some, p, |k, c| filters[(first + k, c)]);
        let mut sources = Matrix::zeros(some, samples);
        apply(&own, recording, None, &mut |start, block| {
            for k in 0..some {
                let row = &mut sources.row_mut(k)[start..start + block.columns()];
                row.copy_from_slice(block.row(k));
            }
            Ok(())
        })?;
        views.extend((0..some).map(|k| SourceView::new(sources.row(k), good, sfreq, scorer)));
    }
    Ok(views)
}

#[cfg(test)]
mod tests {
    use codiag::signals::{RecordingView, Segments, Separation, simulate};

    use super::*;

    #[test]
    fn separation_report_needs_no_files() {
        let made = simulate::eeg_with_blinks(8, 4, 40.0, 1);
        let recording = RecordingView::new(&made.data, 8, made.samples).unwrap();
        let found = Separation::default().fit(&recording).unwrap();
        let names: Vec<String> = (0..8).map(|c| format!("E{c}")).collect();
        let page = |exclude: &[usize]| {
            separation(SeparationReport {
                input: "recording",
                recording: &recording,
                sfreq: Some(250.0),
                names: &names,
                positions: &[],
                types: &[],
                bad_spans: &[],
                references: &[],
                contrast: &Contrast::Segments(Segments::default()),
                sort_by: SortBy::Contrast,
                sources: (&found).into(),
                tol: 1e-8,
                seconds: None,
                exclude,
                provenance: &Provenance::default(),
            })
            .unwrap()
        };
        let plain = page(&[]);
        for heading in ["Suspected artifacts", "All sources", "Convergence"] {
            assert!(plain.contains(&format!("<h2>{heading}</h2>")), "{heading}");
        }
        for absent in ["<h2>Files</h2>", "<h2>Before and after</h2>", ".npy", "--"] {
            let (_, body) = plain.split_once("<body>").unwrap();
            assert!(!body.contains(absent), "{absent}");
        }
        assert!(page(&[0]).contains("<h2>Before and after</h2>"));
    }
}
