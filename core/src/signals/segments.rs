//! Division of a recording into segments. One matrix is estimated from each segment.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use super::invalid;
use crate::Error;
use crate::error::{Expected, Setting};
use crate::setters::setters;

/// Samples of a segment or epoch: spans in ascending order, separated by excluded samples. The mean
/// is computed over all of them.
pub type Spans = Vec<Range<usize>>;

/// The number or the length of segments.
///
/// ```
/// use codiag::signals::{SegmentLength, Segments};
/// let third = |length| {
///     let segments = Segments::default().length(length).spans(100, 4)?;
///     Ok::<_, codiag::Error>(segments[2].clone())
/// };
/// assert_eq!(third(SegmentLength::Count(4))?, [50..75]);
/// assert_eq!(third(SegmentLength::Length(30))?, [60..90]); // the last 10 samples are not used
/// assert_eq!("30".parse(), Ok(SegmentLength::Length(30)));
/// assert_eq!("250ms".parse(), Ok(SegmentLength::Seconds(0.25)));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SegmentLength {
    /// The length is chosen by [`Segments::automatic_length`]: as short as the matrices allow, but
    /// at least a quarter of a second, since sources such as the heart are active for short times.
    /// A [`Separation`](super::Separation) uses longer segments if a source is silent in one of
    /// them.
    #[default]
    Auto,
    /// The given number of segments of equal length, evenly spread over the recording.
    Count(usize),
    /// Consecutive segments of the given number of samples. Remaining samples are not used.
    Length(usize),
    /// Consecutive segments of the given length in seconds. Requires
    /// [`sfreq`](Segments#structfield.sfreq).
    Seconds(f64),
}

impl FromStr for SegmentLength {
    type Err = Error;

    /// Parses a length in samples, such as `"150"`, or in time, such as `"0.25s"` or `"250ms"`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let seconds = |number: &str, unit: f64| {
            Some(Self::Seconds(number.trim().parse::<f64>().ok()? * unit))
        };
        let parsed = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(number), _) => seconds(number, 1e-3),
            (None, Some(number)) => seconds(number, 1.0),
            (None, None) => text.trim().parse().map(Self::Length).ok(),
        };
        parsed.ok_or_else(|| length_error(&format!("{text:?}")))
    }
}

/// Returns the error of an invalid length of segments.
fn length_error(value: &str) -> Error {
    let expected = "an integer number of samples, or a time such as \"0.25s\" or \"250ms\"";
    invalid(Setting::SegmentLength, expected, value)
}

/// Division of a recording into segments.
///
/// ```
/// use codiag::signals::{SegmentLength, Segments};
///
/// let halves = Segments::default().length(SegmentLength::Count(2));
/// assert_eq!(halves.spans(100, 4)?, [vec![0..50], vec![50..100]]);
///
/// // Bad spans are removed first. The remaining samples are divided like one recording.
/// let without_bad = halves.bad_spans(vec![40..60]);
/// assert_eq!(without_bad.spans(100, 4)?, [vec![0..40], vec![60..100]]);
///
/// // The default length is 0.25 s, if that is long enough for the matrices.
/// let minute = Segments::default().sfreq(600.0);
/// assert_eq!(minute.spans(36_000, 40)?.len(), 240);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Segments {
    /// Number or length of the segments (default: automatic).
    pub length: SegmentLength,
    /// Fraction of a segment that overlaps with the next one, in [0, 1) (default 0).
    pub overlap: f64,
    /// Sampling frequency in hertz, used for lengths in seconds and automatic lengths.
    pub sfreq: Option<f64>,
    /// Spans of samples that are not used, in any order.
    pub bad_spans: Vec<Range<usize>>,
}

setters!(Segments { length: SegmentLength, overlap: f64, bad_spans: Vec<Range<usize>> } optional { sfreq: f64 });

/// Minimum length of automatic segments in seconds.
const MIN_AUTOMATIC_SECONDS: f64 = 0.25;
/// Minimum number of samples of an automatic segment per component if `sfreq` is given.
const MIN_SAMPLES_PER_COMPONENT: usize = 2;
/// Number of samples of an automatic segment per component if `sfreq` is not given.
const SAMPLES_PER_COMPONENT_WITHOUT_SFREQ: usize = 10;
/// Maximum total number of matrix entries with automatic segments, about 256 MB.
const MAX_AUTOMATIC_NUMBERS: usize = 1 << 25;

impl Segments {
    /// Length in samples of the segments of [`SegmentLength::Auto`]: a quarter of a second, or two
    /// samples per component if that is longer. If `sfreq` is not given, ten samples per component.
    /// In long recordings with many components the segments are longer, so that the matrices need
    /// at most 256 megabytes.
    ///
    /// ```
    /// use codiag::signals::Segments;
    /// let segments = Segments::default().sfreq(600.0);
    /// assert_eq!(segments.automatic_length(36_000, 40), 150); // 0.25 s
    /// assert_eq!(segments.automatic_length(36_000, 300), 600);
    /// assert_eq!(Segments::default().automatic_length(36_000, 40), 400);
    /// ```
    pub fn automatic_length(&self, samples: usize, components: usize) -> usize {
        let shortest = match self.sfreq {
            Some(sfreq) => ((MIN_AUTOMATIC_SECONDS * sfreq).ceil() as usize)
                .max(MIN_SAMPLES_PER_COMPONENT * components),
            None => SAMPLES_PER_COMPONENT_WITHOUT_SFREQ * components,
        };
        let numbers_per_matrix = (components * (components + 1) / 2).max(1);
        let max_segments = (MAX_AUTOMATIC_NUMBERS / numbers_per_matrix).max(100);
        shortest
            .max(samples.div_ceil(max_segments))
            .clamp(1, samples.max(1))
    }

    /// Returns the spans of samples of every segment. The number of components is used only for
    /// [`SegmentLength::Auto`].
    ///
    /// # Errors
    /// If a field is out of its range, or there are too few samples for one segment.
    pub fn spans(&self, samples: usize, components: usize) -> Result<Vec<Spans>, Error> {
        if !(0.0..1.0).contains(&self.overlap) {
            let expected = Expected::Below(0.0, 1.0);
            return Err(Error::setting(Setting::Overlap, expected, self.overlap));
        }
        let usable = usable_spans(samples, &self.bad_spans)?;
        let total: usize = usable.iter().map(Range::len).sum();
        let (length, starts) = match self.length {
            SegmentLength::Auto => {
                let length = self.automatic_length(total, components);
                // The segments are slightly longer, so that no samples remain.
                let step = (length as f64 * (1.0 - self.overlap)).max(1.0);
                self.evenly(1 + ((total - length) as f64 / step) as usize, total)?
            }
            SegmentLength::Count(count) => self.evenly(count, total)?,
            SegmentLength::Length(length) => self.consecutive(length, &length, total)?,
            SegmentLength::Seconds(seconds) => {
                let Some(sfreq) = self.sfreq.filter(|sfreq| sfreq.is_finite() && *sfreq > 0.0)
                else {
                    let expected = "a number of samples if sfreq is not given";
                    let value = format!("{seconds} s");
                    return Err(invalid(Setting::SegmentLength, expected, value));
                };
                let length = (seconds * sfreq).round();
                if length.is_nan() || length < 1.0 {
                    return Err(length_error(&format!("{seconds} s")));
                }
                self.consecutive(length as usize, &format!("{seconds} s, {length}"), total)?
            }
        };
        let pieces = starts.into_iter();
        let pieces = pieces.map(|start| locate(&usable, start..start + length));
        Ok(pieces.collect())
    }

    /// Returns the length of `count` segments of equal length, and their first samples.
    fn evenly(&self, count: usize, total: usize) -> Result<(usize, Vec<usize>), Error> {
        if count == 0 {
            let expected = Expected::AtLeast(1);
            return Err(Error::setting(Setting::NSegments, expected, count));
        }
        let lengths = 1.0 + (count - 1) as f64 * (1.0 - self.overlap);
        // The factor ensures that an integer quotient is not truncated to the number below it.
        let length = (total as f64 / lengths * (1.0 + 1e-12)) as usize;
        if length == 0 || count > total {
            let value = format!("{count} for {total} samples");
            return Err(invalid(Setting::NSegments, "at most one per sample", value));
        }
        let last = total - length;
        let starts = (0..count).map(|i| i * last / (count - 1).max(1)).collect();
        Ok((length, starts))
    }

    /// Returns the length of consecutive segments, and their first samples. Errors show the length
    /// as
    /// `shown`.
    fn consecutive(
        &self,
        length: usize,
        shown: &dyn Display,
        total: usize,
    ) -> Result<(usize, Vec<usize>), Error> {
        if length == 0 || length > total {
            let value = format!("{shown} for {total} samples");
            let expected = "at least 1 sample and at most the number of usable samples";
            return Err(invalid(Setting::SegmentLength, expected, value));
        }
        let starts = (0..=total - length).step_by(step(length, self.overlap));
        Ok((length, starts.collect()))
    }
}

/// Returns the number of samples from the start of a segment or window to the start of the next
/// one.
pub(super) fn step(length: usize, overlap: f64) -> usize {
    ((length as f64 * (1.0 - overlap)).round() as usize).max(1)
}

/// Returns the spans between the bad spans.
pub(super) fn usable_spans(
    samples: usize,
    bad_spans: &[Range<usize>],
) -> Result<Vec<Range<usize>>, Error> {
    let mut bad: Vec<&Range<usize>> = bad_spans.iter().collect();
    bad.sort_by_key(|span| span.start);
    let mut usable = Vec::new();
    let mut at = 0;
    for span in bad {
        if span.start > span.end || span.end > samples {
            let value = format!("{}..{}", span.start, span.end);
            return Err(invalid(
                Setting::BadSpans,
                "spans of samples within the recording",
                value,
            ));
        }
        if at < span.start {
            usable.push(at..span.start);
        }
        at = at.max(span.end);
    }
    if at < samples {
        usable.push(at..samples);
    }
    if usable.is_empty() {
        let value = format!("all {samples} samples");
        return Err(invalid(
            Setting::BadSpans,
            "spans that leave some samples",
            value,
        ));
    }
    Ok(usable)
}

/// Returns the samples of a range of indices that count usable samples only.
fn locate(usable: &[Range<usize>], range: Range<usize>) -> Spans {
    let mut piece = Vec::new();
    let mut before = 0;
    for span in usable {
        let from = range.start.max(before);
        let to = range.end.min(before + span.len());
        if from < to {
            piece.push(span.start + from - before..span.start + to - before);
        }
        before += span.len();
    }
    piece
}
