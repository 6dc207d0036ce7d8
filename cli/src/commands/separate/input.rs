//! The recording of `codiag separate`, and what is known of it.

use anyhow::{Context, Result, ensure};
use codiag::signals::Recording;

use crate::args::Separate;
use crate::input::recording::{Info, Picked, ReferenceChannel, Stored, by_name};

/// What is separated, and what is known of it.
pub struct Input {
    pub name: String,
    pub stored: Stored,
    pub info: Info,
    /// The channels that are separated.
    pub channels: Vec<usize>,
    /// Channels that show blinks or heartbeats, with their signals.
    pub references: Vec<(ReferenceChannel, Vec<f64>)>,
    pub rate: Option<f64>,
}

impl Input {
    /// Opens what the arguments name.
    pub fn open(args: &Separate) -> Result<Self> {
        let stored = Stored::open(&args.input)?;
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
                let mut signal = vec![0.0; samples];
                let picked = Picked {
                    recording: &stored,
                    channels: vec![c],
                };
                picked.read(0..samples, &mut signal)?;
                references.push((reference, signal));
            }
        }
        if let Some(rate) = args.rate {
            ensure!(
                rate.is_finite() && rate > 0.0,
                "--rate must be a positive number of samples per second, got {rate}"
            );
        }
        Ok(Self {
            name: info.name.clone().unwrap_or(file),
            stored,
            info,
            channels,
            references,
            rate: args.rate,
        })
    }

    /// The recording of the channels that are separated.
    pub fn picked(&self) -> Picked<'_> {
        Picked {
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

    /// Where they are on the head, if that is known.
    pub fn positions(&self) -> Vec<Option<[f64; 2]>> {
        let position = |c: &usize| self.info.positions.get(*c).copied().flatten();
        self.channels.iter().map(position).collect()
    }
}
