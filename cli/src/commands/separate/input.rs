//! The recording of `codiag separate`, and what is known of it.

use anyhow::{Context, Result, ensure};
use codiag::signals::{ArtifactKind, Recording};

use crate::args::Separate;
use crate::input::filter::FilteredRecording;
use crate::input::recording::{Info, PickedChannels, ReferenceChannel, StoredRecording, by_name};

/// The lowest and the highest rate that are taken as one, in samples per second.
const LOWEST_RATE: f64 = 1e-9;
const HIGHEST_RATE: f64 = 1e12;

/// What is separated, and what is known of it.
pub struct Input {
    pub name: String,
    pub stored: StoredRecording,
    pub info: Info,
    /// The channels that are separated.
    pub channels: Vec<usize>,
    /// Channels that show blinks or heartbeats, with their signals.
    pub references: Vec<(ReferenceChannel, Vec<f64>)>,
    pub rate: Option<f64>,
    /// The channels that are separated, filtered, if that was asked for.
    filtered: Option<FilteredRecording>,
}

impl Input {
    /// Opens what the arguments name.
    pub fn open(args: &Separate) -> Result<Self> {
        let stored = StoredRecording::open(&args.input)?;
        let file = args.input.display().to_string();
        let (count, samples) = (stored.channels(), stored.samples());
        let mut info = match &args.info {
            Some(path) => Info::read(path)?,
            None => Info::default(),
        };
        if let Some(path) = &args.names {
            info.names = Info::read_names(path)?;
        }
        info.check(count, samples).with_context(|| file.clone())?;
        let mut references = info.reference_signals(samples)?;
        let mut channels: Vec<usize> = (0..count).collect();
        if args.names.is_some() {
            let (others, named) = by_name(&info.names, count);
            ensure!(
                !others.is_empty(),
                "{file}: all channels are named EOG or ECG"
            );
            channels = others;
            for (c, reference) in named {
                references.push((reference, signal(&stored, c)?));
            }
        }
        for (option, names, kind) in [
            ("--eog", &args.eog, ArtifactKind::Blink),
            ("--ecg", &args.ecg, ArtifactKind::Heartbeat),
        ] {
            for name in names {
                let c = find(option, name, &info.names, count)?;
                references.push((ReferenceChannel::new(name, kind), signal(&stored, c)?));
            }
        }
        if !args.picks.is_empty() {
            let found = args.picks.iter();
            let found = found.map(|name| find("--picks", name, &info.names, count));
            channels = found.collect::<Result<_>>()?;
        }
        for name in &args.bads {
            let bad = find("--bads", name, &info.names, count)?;
            channels.retain(|c| *c != bad);
        }
        ensure!(
            !channels.is_empty(),
            "{file}: no channels are left to separate"
        );
        if let Some(rate) = args.sfreq {
            ensure!(
                rate.is_finite() && rate > 0.0,
                "--rate must be a positive number of samples per second, got {rate}"
            );
            // Beyond these, times and frequencies leave the range of the figures.
            ensure!(
                (LOWEST_RATE..=HIGHEST_RATE).contains(&rate),
                "--rate must be from {LOWEST_RATE:e} to {HIGHEST_RATE:e} samples per second, got {rate:e}"
            );
        }
        let picked = PickedChannels {
            recording: &stored,
            channels: channels.clone(),
        };
        let filtered = match args.sfreq {
            Some(rate) if args.highpass.is_some() || args.lowpass.is_some() => Some(
                FilteredRecording::new(&picked, rate, args.highpass, args.lowpass)?,
            ),
            _ => None,
        };
        Ok(Self {
            filtered,
            name: info.name.clone().unwrap_or(file),
            stored,
            info,
            channels,
            references,
            rate: args.sfreq,
        })
    }

    /// The recording of the channels that are separated.
    pub fn picked(&self) -> PickedChannels<'_> {
        if let Some(filtered) = &self.filtered {
            return PickedChannels {
                recording: filtered,
                channels: (0..filtered.channels()).collect(),
            };
        }
        PickedChannels {
            recording: &self.stored,
            channels: self.channels.clone(),
        }
    }

    /// The names of the channels that are separated, or their numbers.
    pub fn channel_names(&self) -> Vec<String> {
        let name = |c: &usize| match self.info.names.get(*c) {
            Some(name) => name.clone(),
            None => c.to_string(),
        };
        self.channels.iter().map(name).collect()
    }

    /// Their types, as MNE calls them, or none.
    pub fn types(&self) -> Vec<String> {
        let kind = |c: &usize| self.info.types.get(*c).cloned().unwrap_or_default();
        self.channels.iter().map(kind).collect()
    }

    /// Where they are on the head, if that is known.
    pub fn positions(&self) -> Vec<Option<[f64; 2]>> {
        let position = |c: &usize| self.info.positions.get(*c).copied().flatten();
        self.channels.iter().map(position).collect()
    }
}

/// One channel of a recording.
fn signal(stored: &StoredRecording, channel: usize) -> Result<Vec<f64>> {
    let mut signal = vec![0.0; stored.samples()];
    let picked = PickedChannels {
        recording: stored,
        channels: vec![channel],
    };
    picked.read(0..stored.samples(), &mut signal)?;
    Ok(signal)
}

/// A channel by its name, or by its number.
fn find(option: &str, wanted: &str, names: &[String], channels: usize) -> Result<usize> {
    let wanted = wanted.trim();
    let named = names.iter().position(|name| name == wanted);
    let numbered = wanted.parse().ok().filter(|c| *c < channels);
    named.or(numbered).with_context(|| {
        let known = if names.is_empty() {
            format!(
                "they have no names (--names), but numbers from 0 to {}",
                channels - 1
            )
        } else {
            format!("there are {}", some_of(names))
        };
        format!("{option} names the channel {wanted:?}, which is not there: {known}")
    })
}

/// The first few of some names.
fn some_of(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    let rest = if names.len() > 5 { ", ..." } else { "" };
    format!("{}{rest}", first.join(", "))
}
