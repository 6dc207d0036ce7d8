//! How a recording is cut: which samples make which matrix.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use crate::Error;
use crate::error::{Expected, Setting};
use crate::setters::setters;

/// Samples that have one mean: spans in ascending order.
///
/// ```
/// use codiag::signals::{Cut, Piece, Segments};
/// let first: &Piece = &Segments::default().cut(Cut::Count(100)).pieces(1000, 4)?[0];
/// assert_eq!(first, &vec![0..10]);
/// # Ok::<(), codiag::Error>(())
/// ```
pub type Piece = Vec<Range<usize>>;

/// How many segments, or how long each is.
///
/// ```
/// use codiag::signals::{Cut, Segments};
/// let third = |cut| Ok::<_, codiag::Error>(Segments::default().cut(cut).pieces(100, 4)?[2].clone());
/// assert_eq!(third(Cut::Count(4))?, [50..75]);
/// assert_eq!(third(Cut::Length(30))?, [60..90]); // the last 10 samples are not used
/// assert_eq!("30".parse(), Ok(Cut::Length(30)));
/// assert_eq!("250ms".parse(), Ok(Cut::Seconds(0.25)));
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Cut {
    /// As short as the matrices allow, but not shorter than a quarter of a second: sources such as the
    /// heart differ from others for a tenth of a second at a time. See [`Segments::automatic_length`]. A
    /// [`Separation`](super::Separation) takes longer ones if a source is silent in one of them.
    #[default]
    Auto,
    /// This many segments of equal length, spread evenly over the recording.
    Count(usize),
    /// Segments of this many samples, one after the other; what is left at the end is not used.
    Length(usize),
    /// Segments of this many seconds, in the same way. They need a [rate](Segments#structfield.rate).
    Seconds(f64),
}

impl FromStr for Cut {
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
    let expected =
        Expected::Words("a whole number of samples, or a time such as \"0.25s\" or \"250ms\"");
    Error::setting(Setting::SegmentLength, expected, value)
}

/// How a recording is cut into segments.
///
/// ```
/// use codiag::signals::{Cut, Segments};
///
/// let halves = Segments::default().cut(Cut::Count(2));
/// assert_eq!(halves.pieces(100, 4)?, [vec![0..50], vec![50..100]]);
///
/// // Bad spans are taken out first: what is left is cut as if it were one recording.
/// let clean = halves.exclude(vec![40..60]);
/// assert_eq!(clean.pieces(100, 4)?, [vec![0..40], vec![60..100]]);
///
/// // By default, as many as there are quarters of a second, if that is enough for the matrices.
/// let minute = Segments::default().rate(600.0);
/// assert_eq!(minute.pieces(36_000, 40)?.len(), 240);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Segments {
    /// How many, or how long.
    pub cut: Cut,
    /// The share of a segment that the next one has in common with it, from 0 to below 1.
    pub overlap: f64,
    /// Samples per second: for lengths in seconds, and for those that are found.
    pub rate: Option<f64>,
    /// Spans of samples that belong to no segment, in any order.
    pub exclude: Vec<Range<usize>>,
}

setters!(Segments {
    cut: Cut,
    overlap: f64,
    exclude: Vec<Range<usize>>,
});

/// The shortest segments that are chosen, in seconds.
const SECONDS: f64 = 0.25;
/// How many samples a segment has at least for each component, by default: with a rate, and without.
const SAMPLES_PER_COMPONENT: (usize, usize) = (2, 10);
/// How many numbers the set may hold by default, before segments get longer.
const NUMBERS: usize = 1 << 25;

impl Segments {
    /// The same with a [rate](Self#structfield.rate).
    #[must_use]
    pub fn rate(mut self, rate: impl Into<Option<f64>>) -> Self {
        self.rate = rate.into();
        self
    }

    /// The length that [`Cut::Auto`] chooses for matrices of so many components: a quarter of a second, or
    /// two samples per component if that is longer (ten, if the rate is not known). In long recordings of many
    /// components it grows, so that the matrices stay within 256 megabytes.
    ///
    /// ```
    /// use codiag::signals::Segments;
    /// let segments = Segments::default().rate(600.0);
    /// assert_eq!(segments.automatic_length(36_000, 40), 150); // 0.25 s
    /// assert_eq!(segments.automatic_length(36_000, 300), 600);
    /// assert_eq!(Segments::default().automatic_length(36_000, 40), 400);
    /// ```
    pub fn automatic_length(&self, samples: usize, components: usize) -> usize {
        let (known, unknown) = SAMPLES_PER_COMPONENT;
        let shortest = match self.rate {
            Some(rate) => ((SECONDS * rate).ceil() as usize).max(known * components),
            None => unknown * components,
        };
        let most = (NUMBERS / (components * (components + 1) / 2).max(1)).max(100);
        shortest
            .max(samples.div_ceil(most))
            .clamp(1, samples.max(1))
    }

    /// The samples of every segment, for a recording of so many samples that is separated into so many
    /// components: they matter to [`Cut::Auto`] alone.
    ///
    /// # Errors
    /// If the numbers are out of their ranges, or there are too few samples for one segment.
    pub fn pieces(&self, samples: usize, components: usize) -> Result<Vec<Piece>, Error> {
        if !(0.0..1.0).contains(&self.overlap) {
            let expected = Expected::Below(0.0, 1.0);
            return Err(Error::setting(Setting::Overlap, expected, self.overlap));
        }
        let usable = usable_spans(samples, &self.exclude)?;
        let total: usize = usable.iter().map(Range::len).sum();
        let (length, starts) = match self.cut {
            Cut::Auto => {
                let length = self.automatic_length(total, components);
                // As many as would fit, a little longer, so that nothing is left.
                let step = (length as f64 * (1.0 - self.overlap)).max(1.0);
                self.evenly(1 + ((total - length) as f64 / step) as usize, total)?
            }
            Cut::Count(count) => self.evenly(count, total)?,
            Cut::Length(length) => self.one_after_the_other(length, &length, total)?,
            Cut::Seconds(seconds) => {
                let rate = self.rate.filter(|rate| rate.is_finite() && *rate > 0.0);
                let Some(rate) = rate else {
                    let expected = Expected::Words(
                        "a number of samples where the rate, the samples per second, is not known",
                    );
                    let value = format!("{seconds} s");
                    return Err(Error::setting(Setting::SegmentLength, expected, value));
                };
                let length = (seconds * rate).round();
                if length.is_nan() || length < 1.0 {
                    return Err(length_refused(&format!("{seconds} s")));
                }
                self.one_after_the_other(length as usize, &format!("{seconds} s, {length}"), total)?
            }
        };
        Ok(starts
            .into_iter()
            .map(|start| locate(&usable, start..start + length))
            .collect())
    }

    /// The length of so many segments of equal length, and where they start.
    fn evenly(&self, count: usize, total: usize) -> Result<(usize, Vec<usize>), Error> {
        if count == 0 {
            let expected = Expected::AtLeast(1);
            return Err(Error::setting(Setting::Segments, expected, count));
        }
        let shares = 1.0 + (count - 1) as f64 * (1.0 - self.overlap);
        // Slightly more than the quotient, which rounding may have taken below a whole number.
        let length = (total as f64 / shares * (1.0 + 1e-12)) as usize;
        if length == 0 || count > total {
            let value = format!("{count} for {total} samples");
            let expected = Expected::Words("at most one per sample");
            return Err(Error::setting(Setting::Segments, expected, value));
        }
        let last = total - length;
        let starts = (0..count).map(|i| i * last / (count - 1).max(1)).collect();
        Ok((length, starts))
    }

    /// The same for segments of a length, which was said in some words.
    fn one_after_the_other(
        &self,
        length: usize,
        said: &dyn Display,
        total: usize,
    ) -> Result<(usize, Vec<usize>), Error> {
        if length == 0 || length > total {
            let value = format!("{said} for {total} samples");
            let expected = Expected::Words("at least 1 sample and at most as many as there are");
            return Err(Error::setting(Setting::SegmentLength, expected, value));
        }
        let step = ((length as f64 * (1.0 - self.overlap)).round() as usize).max(1);
        Ok((length, (0..=total - length).step_by(step).collect()))
    }
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
            let expected = Expected::Words("spans of samples within the recording");
            return Err(Error::setting(Setting::Exclude, expected, value));
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
        let expected = Expected::Words("spans that leave some samples");
        return Err(Error::setting(Setting::Exclude, expected, value));
    }
    Ok(usable)
}

/// Where a range of samples, counted without those excluded, lies in the recording.
fn locate(usable: &[Range<usize>], wanted: Range<usize>) -> Piece {
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

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // a list of one span
mod tests {
    use super::*;

    #[test]
    fn counts_give_equal_lengths_to_the_very_end() {
        for (count, samples, overlap) in [(7, 100, 0.0), (100, 14_400, 0.0), (9, 1000, 0.5)] {
            let segments = Segments::default().cut(Cut::Count(count));
            let pieces = segments.overlap(overlap).pieces(samples, 4).unwrap();
            assert_eq!(pieces.len(), count);
            let length = pieces[0][0].len();
            assert!(pieces.iter().all(|p| p.len() == 1 && p[0].len() == length));
            assert_eq!(pieces[0][0].start, 0);
            assert_eq!(pieces[count - 1][0].end, samples);
            if overlap == 0.0 {
                assert!(pieces.windows(2).all(|p| p[0][0].end <= p[1][0].start));
                assert_eq!(length, samples / count);
            } else {
                assert_eq!(length, 200);
                assert!(
                    pieces
                        .windows(2)
                        .all(|p| p[1][0].start - p[0][0].start == 100)
                );
            }
        }
    }

    #[test]
    fn lengths_leave_the_rest() {
        let segments = Segments::default().cut(Cut::Length(30)).overlap(0.5);
        let starts: Vec<usize> = segments
            .pieces(100, 4)
            .unwrap()
            .iter()
            .map(|p| p[0].start)
            .collect();
        assert_eq!(starts, [0, 15, 30, 45, 60]);
    }

    #[test]
    fn excluded_spans_are_in_no_segment() {
        let four = Segments::default().cut(Cut::Count(4));
        let segments = four.exclude(vec![70..80, 0..10, 75..90]);
        let pieces = segments.pieces(110, 4).unwrap();
        let all: Vec<usize> = pieces.iter().flatten().cloned().flatten().collect();
        let expected: Vec<usize> = (10..70).chain(90..110).collect();
        assert_eq!(all, expected);
        assert_eq!(pieces[3], [90..110]);
        let everything = segments.clone().exclude(vec![0..110]);
        assert!(everything.pieces(110, 4).is_err());
        let beyond = segments.exclude(vec![100..111]);
        assert!(beyond.pieces(110, 4).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for (cut, overlap) in [
            (Cut::Count(0), 0.0),
            (Cut::Count(101), 0.0),
            (Cut::Length(0), 0.0),
            (Cut::Length(101), 0.0),
            (Cut::Count(10), 1.0),
            (Cut::Count(10), f64::NAN),
        ] {
            let segments = Segments::default().cut(cut).overlap(overlap);
            assert!(segments.pieces(100, 4).is_err(), "{cut:?} {overlap}");
        }
    }

    #[test]
    fn lengths_in_time_need_a_rate() {
        let quarter = Segments::default().cut("0.25s".parse().unwrap());
        let error = quarter.pieces(1000, 4).unwrap_err().to_string();
        assert!(
            error.contains("rate") && error.contains("0.25 s"),
            "{error}"
        );
        let pieces = quarter.rate(200.0).pieces(1000, 4).unwrap();
        assert_eq!((pieces.len(), pieces[1][0].clone()), (20, 50..100));
        for text in ["", "s", "1.5", "-3", "quickly", "1 s s"] {
            let error = text.parse::<Cut>().unwrap_err().to_string();
            assert!(error.contains("0.25s"), "{error}");
        }
        for text in ["0s", "-1s", "NaNs", "1h"] {
            let cut = text
                .parse::<Cut>()
                .map(|cut| Segments::default().cut(cut).rate(200.0));
            assert!(cut.and_then(|s| s.pieces(1000, 4)).is_err(), "{text}");
        }
        assert_eq!(" 1.5 s".parse(), Ok(Cut::Seconds(1.5)));
    }

    #[test]
    fn lengths_that_are_found_fill_the_recording() {
        for (rate, components, samples, overlap, length) in [
            (Some(600.0), 40, 14_400, 0.0, 150),
            (Some(600.0), 306, 14_400, 0.0, 612),
            (Some(600.0), 40, 14_321, 0.5, 150),
            (None, 4, 20_000, 0.0, 40),
            (Some(600.0), 40, 60, 0.0, 60),
            (Some(1000.0), 300, 36_000_000, 0.0, 48_453),
        ] {
            let segments = Segments::default().rate(rate).overlap(overlap);
            assert_eq!(segments.automatic_length(samples, components), length);
            let pieces = segments.pieces(samples, components).unwrap();
            assert!(pieces[0][0].len() >= length && pieces[0][0].len() < 2 * length);
            assert_eq!(
                (pieces[0][0].start, pieces[pieces.len() - 1][0].end),
                (0, samples)
            );
        }
    }
}
