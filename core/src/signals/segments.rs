//! How a recording is cut: which samples make which matrix.

use std::ops::Range;

use crate::Error;
use crate::error::{Expected, Setting};
use crate::setters::setters;

/// Samples that have one mean: spans in ascending order.
///
/// ```
/// use codiag::signals::{Piece, Segments};
/// let first: &Piece = &Segments::default().pieces(1000)?[0]; // of 100 segments
/// assert_eq!(first, &vec![0..10]);
/// # Ok::<(), codiag::Error>(())
/// ```
pub type Piece = Vec<Range<usize>>;

/// How many segments, or how long each is.
///
/// ```
/// use codiag::signals::{Cut, Segments};
/// let third = |cut| Ok::<_, codiag::Error>(Segments::default().cut(cut).pieces(100)?[2].clone());
/// assert_eq!(third(Cut::Count(4))?, [50..75]);
/// assert_eq!(third(Cut::Length(30))?, [60..90]); // the last 10 samples are not used
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// This many segments of equal length, spread evenly over the recording.
    Count(usize),
    /// Segments of this many samples, one after the other; what is left at the end is not used.
    Length(usize),
}

/// How a recording is cut into segments: 100 of equal length, unless said otherwise.
///
/// ```
/// use codiag::signals::{Cut, Segments};
///
/// let halves = Segments::default().cut(Cut::Count(2));
/// assert_eq!(halves.pieces(100)?, [vec![0..50], vec![50..100]]);
///
/// // Bad spans are taken out first: what is left is cut as if it were one recording.
/// let clean = halves.exclude(vec![40..60]);
/// assert_eq!(clean.pieces(100)?, [vec![0..40], vec![60..100]]);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Segments {
    /// How many, or how long.
    pub cut: Cut,
    /// The share of a segment that the next one has in common with it, from 0 to below 1.
    pub overlap: f64,
    /// Spans of samples that belong to no segment, in any order.
    pub exclude: Vec<Range<usize>>,
}

impl Default for Segments {
    fn default() -> Self {
        Self {
            cut: Cut::Count(100),
            overlap: 0.0,
            exclude: Vec::new(),
        }
    }
}

setters!(Segments {
    cut: Cut,
    overlap: f64,
    exclude: Vec<Range<usize>>,
});

impl Segments {
    /// The samples of every segment, for a recording of so many samples.
    ///
    /// # Errors
    /// If the numbers are out of their ranges, or there are too few samples for one segment.
    pub fn pieces(&self, samples: usize) -> Result<Vec<Piece>, Error> {
        if !(0.0..1.0).contains(&self.overlap) {
            let expected = Expected::Below(0.0, 1.0);
            return Err(Error::setting(Setting::Overlap, expected, self.overlap));
        }
        let usable = usable_spans(samples, &self.exclude)?;
        let total: usize = usable.iter().map(Range::len).sum();
        let starts: Vec<usize>;
        let length;
        match self.cut {
            Cut::Count(count) => {
                if count == 0 {
                    return Err(Error::setting(
                        Setting::Segments,
                        Expected::AtLeast(1),
                        count,
                    ));
                }
                let shares = 1.0 + (count - 1) as f64 * (1.0 - self.overlap);
                // Slightly more than the quotient, which rounding may have taken below a whole number.
                length = (total as f64 / shares * (1.0 + 1e-12)) as usize;
                if length == 0 {
                    let value = format!("{count} for {total} samples");
                    let expected = Expected::Words("at most one per sample");
                    return Err(Error::setting(Setting::Segments, expected, value));
                }
                let last = total - length;
                starts = (0..count).map(|i| i * last / (count - 1).max(1)).collect();
            }
            Cut::Length(samples) => {
                if samples == 0 || samples > total {
                    let value = format!("{samples} for {total} samples");
                    let expected =
                        Expected::Words("at least 1 sample and at most as many as there are");
                    return Err(Error::setting(Setting::SegmentLength, expected, value));
                }
                length = samples;
                let step = ((length as f64 * (1.0 - self.overlap)).round() as usize).max(1);
                starts = (0..=total - length).step_by(step).collect();
            }
        }
        Ok(starts
            .into_iter()
            .map(|start| locate(&usable, start..start + length))
            .collect())
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
            let pieces = segments.overlap(overlap).pieces(samples).unwrap();
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
            .pieces(100)
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
        let pieces = segments.pieces(110).unwrap();
        let all: Vec<usize> = pieces.iter().flatten().cloned().flatten().collect();
        let expected: Vec<usize> = (10..70).chain(90..110).collect();
        assert_eq!(all, expected);
        assert_eq!(pieces[3], [90..110]);
        let everything = segments.clone().exclude(vec![0..110]);
        assert!(everything.pieces(110).is_err());
        let beyond = segments.exclude(vec![100..111]);
        assert!(beyond.pieces(110).is_err());
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
            assert!(segments.pieces(100).is_err(), "{cut:?} {overlap}");
        }
    }
}
