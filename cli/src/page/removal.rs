//! What the removal of sources changes: channels and spectra before and after.

use codiag::signals::{Recording, Spectrum, spectrum};
use codiag::{Error, Matrix};
use maud::{Markup, html};

use super::maps::unit;
use super::separate::Page;
use super::source::{draw_spectrum_curves, max_frequency};
use super::{drawing, legend};
use crate::figure::axis::Axis;
use crate::figure::chart::{Chart, Curve};
use crate::source_view::{GoodSamples, excerpt_length, spectrum_window};

/// Number of channels that are shown.
const MAX_CHANNELS: usize = 5;
/// Number of windows of the recording that the spectra are averaged over.
const MAX_WINDOWS: usize = 40;
/// Number of values that are read at a time.
const BLOCK_VALUES: usize = 1 << 18;

/// Styles of the curves before and after the removal.
const BEFORE: usize = 5;
const AFTER: usize = 4;

/// Recording before and after the removal of sources.
pub struct Removal {
    excluded: Vec<usize>,
    channels: Vec<ChangedChannel>,
    /// First sample of the excerpts.
    start: usize,
    spectra: Vec<MeanSpectra>,
}

/// A channel around the largest removed amplitude.
struct ChangedChannel {
    channel: usize,
    /// Variance of the removed signal relative to that of the channel.
    fraction: f64,
    before: Vec<f64>,
    after: Vec<f64>,
}

/// Spectra averaged over all channels of one type.
struct MeanSpectra {
    kind: String,
    before: Spectrum,
    after: Spectrum,
}

impl MeanSpectra {
    fn title(&self) -> String {
        let mean = "Spectrum, mean over channels";
        if self.kind.is_empty() {
            mean.to_owned()
        } else {
            let (name, ..) = unit(&self.kind);
            format!("{mean}: {}", name.split(" (").next().unwrap_or(name))
        }
    }
}

/// Statistics of the signal that is removed from a channel.
#[derive(Clone, Default)]
struct Removed {
    samples: f64,
    sums: [f64; 2],
    squares: [f64; 2],
    /// Minimum and maximum of the removed signal, with their samples.
    lowest: (f64, usize),
    highest: (f64, usize),
}

impl Removed {
    fn add(&mut self, sample: usize, before: f64, removed: f64) {
        if self.samples == 0.0 {
            (self.lowest, self.highest) = ((removed, sample), (removed, sample));
        }
        self.samples += 1.0;
        for (k, x) in [before, removed].into_iter().enumerate() {
            self.sums[k] += x;
            self.squares[k] += x * x;
        }
        if removed < self.lowest.0 {
            self.lowest = (removed, sample);
        }
        if removed > self.highest.0 {
            self.highest = (removed, sample);
        }
    }

    fn mean(&self, k: usize) -> f64 {
        self.sums[k] / self.samples
    }

    /// Variance of the removed signal relative to that of the channel.
    fn fraction(&self) -> f64 {
        let variance = |k| self.squares[k] / self.samples - self.mean(k).powi(2);
        let fraction = variance(1) / variance(0);
        if fraction.is_finite() { fraction } else { 0.0 }
    }

    /// Sample at which the removed signal is farthest from its mean.
    fn peak(&self) -> usize {
        let mean = self.mean(1);
        if self.highest.0 - mean >= mean - self.lowest.0 {
            self.highest.1
        } else {
            self.lowest.1
        }
    }
}

/// Reads a span and the signal that is removed from it: channels × samples each.
fn read(
    recording: &dyn Recording,
    (filters, patterns): (&Matrix, &Matrix),
    start: usize,
    length: usize,
) -> Result<(Matrix, Matrix), Error> {
    let mut x = Matrix::zeros(recording.channels(), length);
    recording.read(start..start + length, x.as_mut_slice())?;
    let removed = patterns * &(filters * &x);
    Ok((x, removed))
}

impl Removal {
    /// Compares a recording before and after the removal of the excluded sources. `types` has the
    /// type of each channel, or is empty.
    pub fn of(
        recording: &dyn Recording,
        (filters, patterns): (&Matrix, &Matrix),
        excluded: &[usize],
        types: &[String],
        good: &GoodSamples,
        sfreq: Option<f64>,
    ) -> Result<Self, Error> {
        let (p, samples, k) = (recording.channels(), recording.samples(), excluded.len());
        let filters = Matrix::from_fn(k, p, |e, c| filters[(excluded[e], c)]);
        let patterns = Matrix::from_fn(p, k, |c, e| patterns[(c, excluded[e])]);
        let matrices = (&filters, &patterns);
        let mut statistics = vec![Removed::default(); p];
        let step = (BLOCK_VALUES / p).max(1);
        for start in (0..samples).step_by(step) {
            let length = step.min(samples - start);
            let (x, removed) = read(recording, matrices, start, length)?;
            for (c, own) in statistics.iter_mut().enumerate() {
                for t in (0..length).filter(|t| good.is_good(start + t)) {
                    own.add(start + t, x[(c, t)], removed[(c, t)]);
                }
            }
        }
        let mut order: Vec<usize> = (0..p).collect();
        let fraction = |c: usize| statistics[c].fraction();
        order.sort_by(|x, y| fraction(*y).total_cmp(&fraction(*x)));
        order.truncate(MAX_CHANNELS);
        let peak = order.first().map_or(0, |c| statistics[*c].peak());
        let length = excerpt_length(sfreq, samples);
        let start = peak.saturating_sub(length / 2).min(samples - length);
        let (x, removed) = read(recording, matrices, start, length)?;
        let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
        let shown = |c: &usize| ChangedChannel {
            channel: *c,
            fraction: fraction(*c),
            before: (0..length).map(|t| finite(x[(*c, t)])).collect(),
            after: (0..length)
                .map(|t| finite(x[(*c, t)] - removed[(*c, t)]))
                .collect(),
        };
        let spectra = match sfreq {
            Some(sfreq) => mean_spectra(recording, matrices, types, good, sfreq)?,
            None => Vec::new(),
        };
        Ok(Self {
            excluded: excluded.to_vec(),
            channels: order.iter().map(shown).collect(),
            start,
            spectra,
        })
    }

    /// Figures and their explanation.
    pub(super) fn markup(&self, page: &Page<'_>) -> Markup {
        let names: Vec<String> = self
            .excluded
            .iter()
            .map(|k| page.found.solve.name(*k))
            .collect();
        html! {
            @if let Some(file) = page.cleaned_file {
                p { code { (file) } " is the recording without " (names.join(", ")) "." }
            }
            p {
                "The channels that change most when " (names.join(", ")) (if names.len() == 1 { " is" } else { " are" })
                " removed, around the largest removed amplitude, and the spectra before and after."
            }
            (legend([("before", BEFORE), ("after", AFTER)].into_iter()))
            @for channel in &self.channels {
                div.wide.scroll { div style="min-width:34rem" { (self.overlay(page, channel)) } }
            }
            @if !self.spectra.is_empty() {
                div.panels.two {
                    @for spectra in &self.spectra {
                        (draw_spectrum_curves(
                            &spectra.title(),
                            &[("before", BEFORE, &spectra.before), ("after", AFTER, &spectra.after)],
                            max_frequency(page),
                            (540.0, 260.0),
                        ))
                    }
                }
            }
        }
    }

    /// A channel before and after.
    fn overlay(&self, page: &Page<'_>, channel: &ChangedChannel) -> Markup {
        let kind = page.types.get(channel.channel).map_or("", String::as_str);
        let (_, unit, factor) = unit(kind);
        let seconds = |t: usize| (self.start + t) as f64 / page.sfreq.unwrap_or(1.0);
        let curve = |name: &str, style, values: &[f64]| Curve {
            name: name.to_owned(),
            style,
            points: values
                .iter()
                .enumerate()
                .map(|(t, x)| (seconds(t), factor * x))
                .collect(),
        };
        let all = || {
            channel
                .before
                .iter()
                .chain(&channel.after)
                .map(|x| factor * x)
        };
        let (low, high) = (
            all().fold(f64::INFINITY, f64::min),
            all().fold(f64::NEG_INFINITY, f64::max),
        );
        let margin = 0.06 * (high - low).max(f64::MIN_POSITIVE);
        let title = format!(
            "Channel {}: the removed signal has {:.0} % of the variance",
            page.names[channel.channel],
            100.0 * channel.fraction
        );
        let chart = Chart {
            title,
            x_label: if page.sfreq.is_some() {
                "time (s)"
            } else {
                "samples"
            }
            .to_owned(),
            y_label: unit.to_owned(),
            x: Axis::linear(seconds(0), seconds(channel.before.len()), 8),
            y: Axis::linear(low - margin, high + margin, 4),
            curves: vec![
                curve("before", BEFORE, &channel.before),
                curve("after", AFTER, &channel.after),
            ],
            goal: None,
            bars: false,
            width: 1080.0,
            height: 190.0,
        };
        drawing(&chart.title, &chart)
    }
}

/// Spectra before and after, averaged over windows and over the channels of a type.
fn mean_spectra(
    recording: &dyn Recording,
    matrices: (&Matrix, &Matrix),
    types: &[String],
    good: &GoodSamples,
    sfreq: f64,
) -> Result<Vec<MeanSpectra>, Error> {
    let samples = recording.samples();
    let length = spectrum_window(sfreq).min(samples);
    let count = (samples / length).clamp(1, MAX_WINDOWS);
    let mut kinds: Vec<&str> = types.iter().map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.is_empty() {
        kinds.push("");
    }
    let mut sums: Vec<Option<[Spectrum; 2]>> = vec![None; kinds.len()];
    for window in 0..count {
        let start = window * (samples - length) / count.saturating_sub(1).max(1);
        if !(start..start + length).all(|t| good.is_good(t)) {
            continue;
        }
        let (x, removed) = read(recording, matrices, start, length)?;
        for c in 0..recording.channels() {
            let own = types.get(c).map_or("", String::as_str);
            let Some(kind) = kinds.iter().position(|kind| *kind == own) else {
                continue;
            };
            let before = x.row(c);
            let after: Vec<f64> = before
                .iter()
                .zip(removed.row(c))
                .map(|(x, r)| x - r)
                .collect();
            let found = [
                spectrum(before, sfreq, length),
                spectrum(&after, sfreq, length),
            ];
            if let Some(sum) = &mut sums[kind] {
                for (sum, own) in sum.iter_mut().zip(&found) {
                    let densities = sum.density.iter_mut().zip(&own.density);
                    densities.for_each(|(sum, x)| *sum += x);
                }
            } else {
                sums[kind] = Some(found);
            }
        }
    }
    let spectra = kinds.iter().zip(sums).filter_map(|(kind, sum)| {
        let [mut before, mut after] = sum?;
        let own = |name: &&String| name.as_str() == *kind;
        let channels = types.iter().filter(own).count();
        let channels = if types.is_empty() {
            recording.channels()
        } else {
            channels
        };
        let factor = unit(kind).2.powi(2) / (count * channels).max(1) as f64;
        for spectrum in [&mut before, &mut after] {
            spectrum.density.iter_mut().for_each(|x| *x *= factor);
        }
        Some(MeanSpectra {
            kind: (*kind).to_owned(),
            before,
            after,
        })
    });
    Ok(spectra.collect())
}

#[cfg(test)]
mod tests {
    use codiag::signals::{RecordingView, Separation, simulate};

    use super::*;

    #[test]
    fn blinks_change_the_channels_around_a_blink() {
        let made = simulate::eeg_with_blinks(8, 4, 40.0, 1);
        let recording = RecordingView::new(&made.data, 8, made.samples).unwrap();
        let found = Separation::default().fit(&recording).unwrap();
        let good = GoodSamples::new(&[], made.samples);
        let removal = |excluded: &[usize]| {
            let matrices = (found.filters(), found.patterns());
            Removal::of(&recording, matrices, excluded, &[], &good, Some(250.0)).unwrap()
        };
        let one = removal(&[0]);
        assert_eq!(one.channels.len(), MAX_CHANNELS);
        let fractions: Vec<f64> = one
            .channels
            .iter()
            .map(|channel| channel.fraction)
            .collect();
        assert!(
            fractions.is_sorted_by(|a, b| a >= b) && fractions[0] > 0.0,
            "{fractions:?}"
        );
        assert!(one.channels[0].before != one.channels[0].after);
        assert_eq!(one.spectra.len(), 1);
        // Without all sources nothing is left.
        let all: Vec<usize> = (0..8).collect();
        let none = removal(&all);
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let first = &none.channels[0];
        assert!(largest(&first.after) < 1e-6 * largest(&first.before));
        assert!((first.fraction - 1.0).abs() < 1e-6);
    }
}
