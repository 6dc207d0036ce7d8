//! The recording of `codiag separate` and its description.

use anyhow::{Context, Result, ensure};
use codiag::signals::{ArtifactKind, Recording};

use crate::args::Separate;
use crate::input::filter::FilteredRecording;
use crate::input::recording::{
    PickedChannels, RecordingInfo, ReferenceChannel, StoredRecording, split_reference_channels,
};
use crate::page::separate::is_sound;

/// Range of accepted sampling frequencies, in Hz. Beyond it, times and frequencies exceed the range
/// of the figures.
const MIN_SFREQ: f64 = 1e-9;
const MAX_SFREQ: f64 = 1e12;

/// A recording and its description.
pub struct Input {
    pub name: String,
    pub stored: StoredRecording,
    pub info: RecordingInfo,
    /// Indices of the channels that are separated.
    pub channels: Vec<usize>,
    /// Channels that record blinks or heartbeats, with their signals.
    pub references: Vec<(ReferenceChannel, Vec<f64>)>,
    /// Sampling frequency in Hz.
    pub sfreq: Option<f64>,
    /// The separated channels after filtering, if a filter was requested.
    filtered: Option<FilteredRecording>,
}

impl Input {
    /// Opens the recording that the arguments name.
    pub fn open(args: &Separate) -> Result<Self> {
        let stored = StoredRecording::open(&args.input)?;
        let file = args.input.display().to_string();
        let (count, samples) = (stored.channels(), stored.samples());
        let mut info = match &args.info {
            Some(path) => RecordingInfo::read(path)?,
            None => RecordingInfo::default(),
        };
        if let Some(path) = &args.names {
            info.names = RecordingInfo::read_names(path)?;
        }
        info.check(count, samples).with_context(|| file.clone())?;
        let mut references = info.reference_signals(samples)?;
        let mut channels: Vec<usize> = (0..count).collect();
        if args.names.is_some() {
            let (others, named) = split_reference_channels(&info.names, count);
            ensure!(
                !others.is_empty(),
                "{file}: all channels are named EOG or ECG, so there is nothing to separate"
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
        if let Some(sfreq) = args.sfreq {
            ensure!(
                sfreq.is_finite() && sfreq > 0.0,
                "--sfreq must be a positive frequency in Hz, got {sfreq}"
            );
            ensure!(
                (MIN_SFREQ..=MAX_SFREQ).contains(&sfreq),
                "--sfreq must be between {MIN_SFREQ:e} and {MAX_SFREQ:e} Hz, got {sfreq:e}"
            );
        }
        let picked = PickedChannels {
            recording: &stored,
            channels: channels.clone(),
        };
        let filtered = match args.sfreq {
            Some(sfreq) if args.highpass.is_some() || args.lowpass.is_some() => Some(
                FilteredRecording::new(&picked, sfreq, args.highpass, args.lowpass)?,
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
            sfreq: args.sfreq,
        })
    }

    /// Returns the recording of the channels that are separated.
    pub fn picked(&self) -> PickedChannels<'_> {
        if let Some(filtered) = &self.filtered {
            return PickedChannels {
                recording: filtered,
                channels: (0..filtered.channels()).collect(),
            };
        }
        self.unfiltered()
    }

    /// Returns the recording of the channels that are separated, before filtering.
    pub fn unfiltered(&self) -> PickedChannels<'_> {
        PickedChannels {
            recording: &self.stored,
            channels: self.channels.clone(),
        }
    }

    /// Whether the recording is sound.
    pub fn is_sound(&self) -> bool {
        is_sound(self.sfreq, &self.info.types, self.references.is_empty())
    }

    /// Returns the names of the separated channels, or their numbers if they have no names.
    pub fn channel_names(&self) -> Vec<String> {
        let name = |c: &usize| match self.info.names.get(*c) {
            Some(name) => name.clone(),
            None => c.to_string(),
        };
        self.channels.iter().map(name).collect()
    }

    /// Returns the MNE type of each separated channel; empty if unknown.
    pub fn types(&self) -> Vec<String> {
        let kind = |c: &usize| self.info.types.get(*c).cloned().unwrap_or_default();
        self.channels.iter().map(kind).collect()
    }

    /// Returns the position on the head of each separated channel, if known.
    pub fn positions(&self) -> Vec<Option<[f64; 2]>> {
        let position = |c: &usize| self.info.positions.get(*c).copied().flatten();
        self.channels.iter().map(position).collect()
    }
}

/// Reads one channel of a recording.
fn signal(stored: &StoredRecording, channel: usize) -> Result<Vec<f64>> {
    let mut signal = vec![0.0; stored.samples()];
    let picked = PickedChannels {
        recording: stored,
        channels: vec![channel],
    };
    picked.read(0..stored.samples(), &mut signal)?;
    Ok(signal)
}

/// Finds a channel by its name or its number.
fn find(option: &str, wanted: &str, names: &[String], channels: usize) -> Result<usize> {
    let wanted = wanted.trim();
    let named = names.iter().position(|name| name == wanted);
    let numbered = wanted.parse().ok().filter(|c| *c < channels);
    named.or(numbered).with_context(|| {
        let known = if names.is_empty() {
            format!(
                "channels are numbered from 0 to {} unless --names gives them names",
                channels - 1
            )
        } else {
            format!("the channels are {}", first_names(names))
        };
        format!("{option}: there is no channel {wanted:?}; {known}")
    })
}

/// Lists the first five names.
fn first_names(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    let rest = if names.len() > 5 { ", ..." } else { "" };
    format!("{}{rest}", first.join(", "))
}
