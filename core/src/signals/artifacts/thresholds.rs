//! Thresholds and parameters of artifact detection.

use super::{Artifact, ArtifactKind, Evidence};
use crate::setters::setters;

/// Minimum scores at which a source is flagged as an artifact.
///
/// ```
/// use codiag::signals::{ArtifactDetector, Thresholds, simulate};
/// let simulated = simulate::eeg_with_blinks(4, 4, 60.0, 0);
/// let scores = ArtifactDetector::new(simulated.sfreq, &[]).scores(simulated.sources.row(0));
/// assert_eq!(Thresholds::default().flagged(&scores).len(), 1);
/// assert_eq!(Thresholds::default().blink(1.0).flagged(&scores).len(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Thresholds {
    /// Blinks by their form: fraction of the power below 8 Hz, reduced if the source is not peaked
    /// and one-sided (default 0.7).
    pub blink: f64,
    /// Heartbeats by their form: peak of the autocorrelation of the energy at the interval between
    /// beats (default 0.3).
    pub heartbeat: f64,
    /// Line noise: fraction of the power at the mains frequency and its harmonics (default 0.2).
    pub line_noise: f64,
    /// Muscles: fraction of the power above 30 Hz, reduced if it does not vary (default 0.6).
    pub muscle: f64,
    /// Correlation with a reference channel (default 0.4).
    pub correlation: f64,
    /// Concentration of the phases at the heartbeats of a reference channel, from 0 (chance) to 1
    /// (default 0.2).
    pub phase: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            blink: 0.7,
            heartbeat: 0.3,
            line_noise: 0.2,
            muscle: 0.6,
            correlation: 0.4,
            phase: 0.2,
        }
    }
}

setters!(Thresholds {
    blink: f64,
    heartbeat: f64,
    line_noise: f64,
    muscle: f64,
    correlation: f64,
    phase: f64,
});

impl Thresholds {
    /// Returns the threshold that applies to a score.
    pub fn of(&self, artifact: &Artifact) -> f64 {
        match (&artifact.evidence, artifact.kind) {
            (Evidence::Correlation(_), _) => self.correlation,
            (Evidence::Phase(_), _) => self.phase,
            (Evidence::Form, ArtifactKind::Blink) => self.blink,
            (Evidence::Form, ArtifactKind::Heartbeat) => self.heartbeat,
            (Evidence::Form, ArtifactKind::LineNoise) => self.line_noise,
            (Evidence::Form, ArtifactKind::Muscle) => self.muscle,
        }
    }

    /// Returns the scores that reach their thresholds, at most one per kind, in descending order.
    /// For a kind with a reference channel, the score by form is not used. Heartbeats and line
    /// noise are not also flagged as muscles.
    pub fn flagged(&self, scores: &[Artifact]) -> Vec<Artifact> {
        let likeliest = |kind: ArtifactKind| {
            let of_kind = || scores.iter().filter(move |score| score.kind == kind);
            let has_reference = of_kind().any(|score| score.evidence != Evidence::Form);
            of_kind()
                .filter(|score| !has_reference || score.evidence != Evidence::Form)
                .filter(|score| score.score >= self.of(score))
                .max_by(|x, y| x.score.total_cmp(&y.score))
        };
        let mut found: Vec<Artifact> = Vec::new();
        for kind in ArtifactKind::ALL {
            let heart_or_line = [ArtifactKind::Heartbeat, ArtifactKind::LineNoise];
            let excludes_muscle = |found: &Artifact| heart_or_line.contains(&found.kind);
            if kind == ArtifactKind::Muscle && found.iter().any(excludes_muscle) {
                continue;
            }
            found.extend(likeliest(kind).cloned());
        }
        found.sort_by(|x, y| y.score.total_cmp(&x.score));
        found
    }
}

/// Defines the struct of all parameters and its constant, with values next to their documentation.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)*) => {
        /// Parameters of the scores.
        pub(super) struct DetectionParameters {
            $($(#[$doc])* pub $name: $type,)*
        }

        /// The parameters of all scores.
        pub(super) const DETECTION: DetectionParameters = DetectionParameters {
            $($name: $value,)*
        };
    };
}

parameters! {
    /// Minimum length of a source.
    min_duration_s: f64 = 2.0,
    /// Length of the windows of the spectrum of a source.
    spectrum_window_s: f64 = 2.0,
    /// Length of the moving average that is subtracted from a signal before it is filtered.
    drift_window_s: f64 = 1.0,
    /// Width of the transition bands of filters, as a fraction of the cutoff frequency.
    filter_edge: f64 = 0.25,

    /// Frequency below which blinks have most of their power.
    max_blink_hz: f64 = 8.0,
    /// Excess kurtosis at which a blink reaches its full score.
    full_blink_kurtosis: f64 = 4.0,
    /// Skewness at which a blink reaches its full score.
    full_blink_skewness: f64 = 1.0,

    /// Lowest heart rate in beats per minute.
    min_heart_rate_bpm: f64 = 40.0,
    /// Highest heart rate in beats per minute.
    max_heart_rate_bpm: f64 = 200.0,
    /// Excess kurtosis at which a heartbeat reaches its full score.
    full_beat_kurtosis: f64 = 2.0,
    /// Bin width of the energy for its autocorrelation.
    energy_bin_s: f64 = 0.02,
    /// Minimum relative height at which a peak at ½ or ⅓ of the best period replaces the best one.
    min_shorter_period_height: f64 = 0.5,
    /// Tolerance of a multiple of a shorter period: the period divided by this number.
    period_tolerance_divisor: usize = 16,

    /// Frequencies of the mains.
    mains_hz: [f64; 2] = [50.0, 60.0],
    /// Number of harmonics of the mains, including the mains frequency.
    mains_harmonics: i32 = 5,
    /// Half-width of a spectral line.
    line_half_width_hz: f64 = 1.0,
    /// Range of distances from a line in which the surrounding spectrum is measured.
    line_surroundings_hz: (f64, f64) = (2.0, 8.0),
    /// Ratio of a line to the surrounding spectrum at which it reaches its full score.
    full_line_prominence: f64 = 10.0,
    /// Upper limit of the ratio of a line to the surrounding spectrum.
    max_line_prominence: f64 = 1e12,

    /// Frequency above which muscles have most of their power.
    min_muscle_hz: f64 = 30.0,
    /// Minimum ratio of the Nyquist frequency to `min_muscle_hz`.
    min_muscle_bandwidth: f64 = 1.5,
    /// Relative variation of high-frequency power at which muscles reach their full score.
    full_muscle_variation: f64 = 0.4,

    /// Band in which sources are compared with a reference channel of the eyes.
    eye_band_hz: (f64, f64) = (1.0, 10.0),
    /// Band in which sources are compared with a reference channel of the heart.
    heart_band_hz: (f64, f64) = (5.0, 35.0),
    /// Lower end of the band in which sources are compared with other reference channels.
    min_other_hz: f64 = 0.5,
    /// Band in which the phase of a source at heartbeats is measured.
    phase_band_hz: (f64, f64) = (8.0, 16.0),
    /// Minimum fraction of the power of a reference channel within its band.
    min_reference_power: f64 = 1e-20,
    /// Time before and after a peak that is compared.
    peak_surroundings_s: f64 = 0.5,
    /// Minimum number of heartbeats for a test of phases.
    min_beats: usize = 8,
    /// Number of tests of phases per period of the highest frequency.
    phase_tests_per_period: f64 = 8.0,
    /// Significance level of Kuiper's test over all times around the heartbeats.
    phase_significance: f64 = 1e-3,
    /// Minimum time between two blinks.
    min_blink_interval_s: f64 = 0.4,
    /// Minimum time between two heartbeats.
    min_beat_interval_s: f64 = 0.27,
    /// Minimum height of a blink, as a fraction of the range of the reference channel.
    min_blink_height: f64 = 0.25,
    /// Minimum height of a heartbeat, as a fraction of the median of the maxima of windows.
    min_beat_height: f64 = 0.5,
    /// Length of the windows whose maxima determine the typical height of a heartbeat.
    beat_window_s: f64 = 2.0,
}
