//! All numbers by which artifacts are detected.

use super::{Artifact, ArtifactKind, Evidence};
use crate::setters::setters;

/// Scores from which on a source is flagged as an artifact.
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
    /// Blinks by their form: the fraction of power below 8 Hz, reduced if the source is not peaked
    /// and one-sided.
    pub blink: f64,
    /// Heartbeats by their form: the peak of the energy's autocorrelation one beat apart.
    pub heartbeat: f64,
    /// Line noise: the fraction of power at the mains frequency and its harmonics.
    pub line_noise: f64,
    /// Muscles: the fraction of power above 30 Hz, reduced if it does not vary.
    pub muscle: f64,
    /// The correlation with a reference channel.
    pub correlation: f64,
    /// The concentration of phases at the beats of a reference channel, from 0 (chance) to 1.
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
    /// The threshold of a score.
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

    /// The artifacts of a source with these scores, the highest score first, each kind once. The
    /// form of the source is not used for a kind with a reference channel, and heartbeats or line
    /// noise are not flagged as muscles too.
    pub fn flagged(&self, scores: &[Artifact]) -> Vec<Artifact> {
        let likeliest = |kind: ArtifactKind| {
            let own = || scores.iter().filter(move |score| score.kind == kind);
            let referred = own().any(|score| score.evidence != Evidence::Form);
            own()
                .filter(|score| !referred || score.evidence != Evidence::Form)
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

/// Defines the struct of all parameters and its default, with values beside their documentation.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)*) => {
        /// The numbers from which scores are computed.
        pub(super) struct DetectionParameters {
            $($(#[$doc])* pub $name: $type,)*
        }

        /// The values that are used.
        pub(super) const DETECTION: DetectionParameters = DetectionParameters {
            $($name: $value,)*
        };
    };
}

parameters! {
    /// Shortest source that is scored.
    min_duration_s: f64 = 2.0,
    /// Length of the windows of a source's spectrum.
    spectrum_window_s: f64 = 2.0,
    /// Window whose mean is subtracted from a signal before it is filtered.
    drift_window_s: f64 = 1.0,
    /// Width of the edge of a filter's band, as a fraction of the frequency of the edge.
    filter_edge: f64 = 0.25,

    /// Frequency below which blinks have most of their power.
    max_blink_hz: f64 = 8.0,
    /// Excess kurtosis from which on a blink has its full score.
    full_blink_kurtosis: f64 = 4.0,
    /// Skewness from which on a blink has its full score.
    full_blink_skewness: f64 = 1.0,

    /// Lowest heart rate in beats per minute.
    min_heart_rate_bpm: f64 = 40.0,
    /// Highest heart rate in beats per minute.
    max_heart_rate_bpm: f64 = 200.0,
    /// Excess kurtosis from which on a heartbeat has its full score.
    full_beat_kurtosis: f64 = 2.0,
    /// Bin width of the energy whose autocorrelation shows heartbeats.
    energy_bin_s: f64 = 0.02,
    /// Relative height from which on a peak at ½ or ⅓ of the best period replaces the best one.
    min_shorter_period_height: f64 = 0.5,
    /// Largest deviation of a period from a multiple of a shorter one: the period divided by this.
    period_tolerance_divisor: usize = 16,

    /// Frequencies of the mains.
    mains_hz: [f64; 2] = [50.0, 60.0],
    /// Number of harmonics of the mains, the mains frequency included.
    mains_harmonics: i32 = 5,
    /// Half the width of a line.
    line_half_width_hz: f64 = 1.0,
    /// Distances from a line at which the spectrum around it is measured.
    line_surroundings_hz: (f64, f64) = (2.0, 8.0),
    /// Ratio of a line to the spectrum around it from which on it has its full score.
    full_line_prominence: f64 = 10.0,
    /// Largest ratio of a line to the spectrum around it that is computed.
    max_line_prominence: f64 = 1e12,

    /// Frequency above which muscles have most of their power.
    min_muscle_hz: f64 = 30.0,
    /// Smallest ratio of the highest frequency in a signal to `min_muscle_hz`.
    min_muscle_bandwidth: f64 = 1.5,
    /// Relative variation of high-frequency power from which on muscles have their full score.
    full_muscle_variation: f64 = 0.4,

    /// Band in which a source is compared with a reference channel of the eyes.
    eye_band_hz: (f64, f64) = (1.0, 10.0),
    /// Band in which a source is compared with a reference channel of the heart.
    heart_band_hz: (f64, f64) = (5.0, 35.0),
    /// Lower end of the band in which a source is compared with other reference channels.
    min_other_hz: f64 = 0.5,
    /// Band in which the phase of a source at the beats is measured.
    phase_band_hz: (f64, f64) = (8.0, 16.0),
    /// Fraction of its power that a reference channel must have in its band.
    min_reference_power: f64 = 1e-20,
    /// Time on either side of a peak that is compared.
    peak_surroundings_s: f64 = 0.5,
    /// Fewest beats from which phases are tested.
    min_beats: usize = 8,
    /// Number of times per period of the highest frequency at which phases are tested.
    phase_tests_per_period: f64 = 8.0,
    /// Significance level of Kuiper's test over all times around the beats together.
    phase_significance: f64 = 1e-3,
    /// Shortest time between two blinks.
    min_blink_interval_s: f64 = 0.4,
    /// Shortest time between two beats.
    min_beat_interval_s: f64 = 0.27,
    /// Smallest height of a blink, as a fraction of the range of the reference channel.
    min_blink_height: f64 = 0.25,
    /// Smallest height of a beat, as a fraction of the median of the maxima of windows.
    min_beat_height: f64 = 0.5,
    /// Length of the windows in whose maxima the usual height of a beat is found.
    beat_window_s: f64 = 2.0,
}
