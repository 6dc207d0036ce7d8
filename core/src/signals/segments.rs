//! Segments of a recording, from each of which a matrix is estimated.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use super::invalid;
use crate::Error;
use crate::error::{Expected, Setting};
use crate::setters::setters;

/// Samples with a common mean: spans in ascending order.
pub type Spans = Vec<Range<usize>>;

/// The number or the length of segments.
///
/// ```
/// use codiag::signals::{SegmentLength, Segments};
/// let third = |cut| Ok::<_, codiag::Error>(Segments::default().length(cut).pieces(100, 4)?[2].clone());
/// assert_eq!(third(SegmentLength::Count(4))?, [50..75]);
/// assert_eq!(third(SegmentLength::Length(30))?, [60..90]); // the last 10 samples are not used
/// assert_eq!("30".parse(), Ok(SegmentLength::Length(30)));
/// assert_eq!("250ms".parse(), Ok(SegmentLength::Seconds(0.25)));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SegmentLength {
    /// As short as the matrices allow, but at least a quarter of a second, since sources such as
    /// the heart are active for short times: [`Segments::automatic_length`]. A
    /// [`Separation`](super::Separation) uses longer ones if a source is silent in one of them.
    #[default]
    Auto,
    /// This many segments of equal length, evenly spread over the recording.
    Count(usize),
    /// Consecutive segments of this many samples; a rest at the end is not used.
    Length(usize),
    /// Consecutive segments of this many seconds, which needs a [rate](Segments#structfield.sfreq).
    Seconds(f64),
}

impl FromStr for SegmentLength {
    type Err = Error;

    /// A length: `"150"` in samples, `"0.25s"` or `"250ms"` in time.
    fn from_str(text: &str) -> Result<Self, Error> {
        let seconds = |number: &str, unit: f64| {
            Some(Self::Seconds(number.trim().parse::<f64>().ok()? * unit))
        };
        let read = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(number), _) => seconds(number, 1e-3),
            (None, Some(number)) => seconds(number, 1.0),
            (None, None) => text.trim().parse().map(Self::Length).ok(),
        };
        read.ok_or_else(|| length_refused(&format!("{text:?}")))
    }
}

fn length_refused(value: &str) -> Error {
    let expected = "a whole number of samples, or a time such as \"0.25s\" or \"250ms\"";
    invalid(Setting::SegmentLength, expected, value)
}

/// Segments of a recording.
///
/// ```
/// use codiag::signals::{SegmentLength, Segments};
///
/// let halves = Segments::default().length(SegmentLength::Count(2));
/// assert_eq!(halves.pieces(100, 4)?, [vec![0..50], vec![50..100]]);
///
/// // Excluded spans are removed first, and the rest is cut like one recording.
/// let clean = halves.bad_spans(vec![40..60]);
/// assert_eq!(clean.pieces(100, 4)?, [vec![0..40], vec![60..100]]);
///
/// // By default a quarter of a second each, if that is long enough for the matrices.
/// let minute = Segments::default().sfreq(600.0);
/// assert_eq!(minute.pieces(36_000, 40)?.len(), 240);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Segments {
    /// Their number or length.
    pub length: SegmentLength,
    /// The fraction of a segment that overlaps with the next one, from 0 to below 1.
    pub overlap: f64,
    /// Samples per second, for lengths in seconds and automatic ones.
    pub sfreq: Option<f64>,
    /// Spans of samples that are not used, in any order.
    pub bad_spans: Vec<Range<usize>>,
}

setters!(Segments { length: SegmentLength, overlap: f64, bad_spans: Vec<Range<usize>> } optional { sfreq: f64 });

/// The shortest automatic segments in seconds.
const MIN_AUTOMATIC_SECONDS: f64 = 0.25;
/// The fewest samples of an automatic segment for each component if the rate is known.
const MIN_SAMPLES_PER_COMPONENT: usize = 2;
/// Samples of an automatic segment for each component if the rate is not known.
const SAMPLES_PER_COMPONENT_WITHOUT_RATE: usize = 10;
/// Size of the set above which automatic segments are longer.
const MAX_AUTOMATIC_NUMBERS: usize = 1 << 25;

impl Segments {
    /// The length of the segments of [`SegmentLength::Auto`]: a quarter of a second, or two samples per
    /// component if that is longer (ten if the rate is not known). In long recordings with many
    /// components they are longer, so that the matrices need at most 256 megabytes.
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
            Some(rate) => ((MIN_AUTOMATIC_SECONDS * rate).ceil() as usize)
                .max(MIN_SAMPLES_PER_COMPONENT * components),
            None => SAMPLES_PER_COMPONENT_WITHOUT_RATE * components,
        };
        let each = (components * (components + 1) / 2).max(1);
        let most = (MAX_AUTOMATIC_NUMBERS / each).max(100);
        shortest
            .max(samples.div_ceil(most))
            .clamp(1, samples.max(1))
    }

    /// The samples of every segment. The number of components is used by [`SegmentLength::Auto`] only.
    ///
    /// # Errors
    /// If a field is out of its range, or there are too few samples for one segment.
    pub fn pieces(&self, samples: usize, components: usize) -> Result<Vec<Spans>, Error> {
        if !(0.0..1.0).contains(&self.overlap) {
            let expected = Expected::Below(0.0, 1.0);
            return Err(Error::setting(Setting::Overlap, expected, self.overlap));
        }
        let usable = usable_spans(samples, &self.bad_spans)?;
        let total: usize = usable.iter().map(Range::len).sum();
        let (length, starts) = match self.length {
            SegmentLength::Auto => {
                let length = self.automatic_length(total, components);
                // As many as fit, slightly longer, so that there is no rest.
                let step = (length as f64 * (1.0 - self.overlap)).max(1.0);
                self.evenly(1 + ((total - length) as f64 / step) as usize, total)?
            }
            SegmentLength::Count(count) => self.evenly(count, total)?,
            SegmentLength::Length(length) => self.consecutive(length, &length, total)?,
            SegmentLength::Seconds(seconds) => {
                let Some(rate) = self.sfreq.filter(|rate| rate.is_finite() && *rate > 0.0) else {
                    let expected =
                        "a number of samples where the rate, the samples per second, is not known";
                    let value = format!("{seconds} s");
                    return Err(invalid(Setting::SegmentLength, expected, value));
                };
                let length = (seconds * rate).round();
                if length.is_nan() || length < 1.0 {
                    return Err(length_refused(&format!("{seconds} s")));
                }
                self.consecutive(length as usize, &format!("{seconds} s, {length}"), total)?
            }
        };
        let pieces = starts.into_iter();
        let pieces = pieces.map(|start| locate(&usable, start..start + length));
        Ok(pieces.collect())
    }

    /// The length of `count` segments of equal length, and their first samples.
    fn evenly(&self, count: usize, total: usize) -> Result<(usize, Vec<usize>), Error> {
        if count == 0 {
            let expected = Expected::AtLeast(1);
            return Err(Error::setting(Setting::NSegments, expected, count));
        }
        let shares = 1.0 + (count - 1) as f64 * (1.0 - self.overlap);
        // Slightly more than the quotient, which may be a whole number before rounding.
        let length = (total as f64 / shares * (1.0 + 1e-12)) as usize;
        if length == 0 || count > total {
            let value = format!("{count} for {total} samples");
            return Err(invalid(Setting::NSegments, "at most one per sample", value));
        }
        let last = total - length;
        let starts = (0..count).map(|i| i * last / (count - 1).max(1)).collect();
        Ok((length, starts))
    }

    /// The length of consecutive segments, given as `said`, and their first samples.
    fn consecutive(
        &self,
        length: usize,
        said: &dyn Display,
        total: usize,
    ) -> Result<(usize, Vec<usize>), Error> {
        if length == 0 || length > total {
            let value = format!("{said} for {total} samples");
            let expected = "at least 1 sample and at most as many as there are";
            return Err(invalid(Setting::SegmentLength, expected, value));
        }
        let starts = (0..=total - length).step_by(step(length, self.overlap));
        Ok((length, starts.collect()))
    }
}

/// Samples from the start of a segment or window to that of the next.
pub(super) fn step(length: usize, overlap: f64) -> usize {
    ((length as f64 * (1.0 - overlap)).round() as usize).max(1)
}

/// The spans between those excluded.
pub(super) fn usable_spans(
    samples: usize,
    exclude: &[Range<usize>],
) -> Result<Vec<Range<usize>>, Error> {
    let mut excluded: Vec<&Range<usize>> = exclude.iter().collect();
    excluded.sort_by_key(|span| span.start);
    let mut usable = Vec::new();
    let mut at = 0;
    for span in excluded {
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

/// The samples of a range that is counted without the excluded ones.
fn locate(usable: &[Range<usize>], wanted: Range<usize>) -> Spans {
    let mut piece = Vec::new();
    let mut before = 0;
    for span in usable {
        let from = wanted.start.max(before);
        let to = wanted.end.min(before + span.len());
        if from < to {
            piece.push(span.start + from - before..span.start + to - before);
        }
        before += span.len();
    }
    piece
}
