//! Recordings: channels × samples in a file, read a span at a time where the file allows it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use codiag::Error;
use codiag::npy::{ArrayFile, Header, tuple};
use codiag::signals::{ArtifactKind, Recording, RecordingView};
use serde::Deserialize;

use super::file::read_text;
use super::{extension, matrix_file};

/// A recording in a file.
pub enum StoredRecording {
    /// A .npy, of which only what is asked for is read.
    File(RecordingFile),
    /// Text, read whole.
    Text(codiag::Matrix),
}

impl StoredRecording {
    /// Opens a .npy or text file of channels × samples.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || match extension(path).as_str() {
            "npy" => Ok(Self::File(RecordingFile::open(path)?)),
            "csv" | "txt" | "tsv" => Ok(Self::Text(super::text::matrix(&read_text(path)?)?)),
            _ => bail!(
                "expected a recording as .npy or .csv; python -m codiag separate also reads what MNE reads (.fif, \
                 .edf, .set, ...)"
            ),
        };
        let opened = open().with_context(|| path.display().to_string())?;
        let (rows, columns) = (opened.channels(), opened.samples());
        ensure!(
            rows <= columns,
            "{}: expected channels x samples, got {rows} x {columns}, more channels than samples: is it \
             transposed?",
            path.display()
        );
        Ok(opened)
    }
}

impl Recording for StoredRecording {
    fn channels(&self) -> usize {
        match self {
            Self::File(file) => file.channels,
            Self::Text(matrix) => matrix.rows(),
        }
    }

    fn samples(&self) -> usize {
        match self {
            Self::File(file) => file.samples,
            Self::Text(matrix) => matrix.columns(),
        }
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::File(file) => file.read(&span, out),
            Self::Text(m) => {
                RecordingView::new(m.as_slice(), m.rows(), m.columns())?.read(span, out)
            }
        }
    }
}

/// A .npy of channels × samples.
pub struct RecordingFile {
    file: ArrayFile,
    header: Header,
    channels: usize,
    samples: usize,
}

impl RecordingFile {
    fn open(path: &Path) -> Result<Self> {
        let (file, header) = ArrayFile::open(path)?;
        let [channels, samples] = header.shape[..] else {
            bail!(
                "expected an array of shape (channels, samples), got {}",
                tuple(&header.shape)
            );
        };
        ensure!(
            channels > 0 && samples > 0,
            "expected an array of shape (channels, samples), neither of them 0, got {}",
            tuple(&header.shape)
        );
        let there = file.len()?;
        if there < header.count()? as u64 {
            return Err(header.truncated(there as usize).into());
        }
        Ok(Self {
            file,
            header,
            channels,
            samples,
        })
    }

    fn read(&self, span: &Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        let length = span.len();
        let mut bytes = Vec::new();
        if self.header.fortran_order {
            // One sample of all channels after the other.
            let mut numbers = vec![0.0; self.channels * length];
            self.fill(span.start * self.channels, &mut numbers, &mut bytes)?;
            let view =
                RecordingView::with_strides(&numbers, self.channels, length, (1, self.channels))?;
            return view.read(0..length, out);
        }
        for (c, row) in out.chunks_exact_mut(length.max(1)).enumerate() {
            self.fill(c * self.samples + span.start, row, &mut bytes)?;
        }
        Ok(())
    }

    /// Reads numbers from a place on; a file that has become shorter since it was opened is an
    /// error, as one that cannot be read is.
    fn fill(&self, first: usize, out: &mut [f64], bytes: &mut Vec<u8>) -> Result<(), Error> {
        let wanted = out.len();
        let filled = self.file.read(first as u64, out, bytes);
        let error = match filled {
            Ok(count) if count == wanted => return Ok(()),
            Ok(count) => self.header.truncated(first + count),
            Err(error) => error,
        };
        Err(Error::File {
            path: self.file.path().to_owned(),
            error: Box::new(error),
        })
    }
}

/// Some channels of a recording.
pub struct PickedChannels<'a> {
    pub recording: &'a dyn Recording,
    pub channels: Vec<usize>,
}

impl Recording for PickedChannels<'_> {
    fn channels(&self) -> usize {
        self.channels.len()
    }

    fn samples(&self) -> usize {
        self.recording.samples()
    }

    fn read(&self, span: Range<usize>, out: &mut [f64]) -> Result<(), Error> {
        let length = span.len();
        let mut all = vec![0.0; self.recording.channels() * length];
        self.recording.read(span, &mut all)?;
        for (out, c) in out.chunks_exact_mut(length.max(1)).zip(&self.channels) {
            out.copy_from_slice(&all[c * length..][..length]);
        }
        Ok(())
    }
}

/// What is known of a recording beside its numbers. The file of `--info` holds it as JSON; all is
/// optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Info {
    /// What the recording is called.
    pub name: Option<String>,
    /// One name per channel.
    pub names: Vec<String>,
    /// Where each channel is on the head, seen from above: x to the right ear, y to the nose; null
    /// where that is not known.
    pub positions: Vec<Option<[f64; 2]>>,
    /// One number per channel, equal for channels of one kind: each kind is divided by its root mean
    /// square.
    pub groups: Vec<usize>,
    /// One type per channel, such as "mag" or "eeg": each has its own map, and its own unit.
    pub types: Vec<String>,
    /// The command that was typed, if it was not this one.
    pub command: Option<String>,
    /// The file of the cleaned recording, if somebody else writes it.
    pub cleaned_file: Option<String>,
    /// Spans of samples to be left out, each with its first sample and the one after its last.
    pub bad_spans: Vec<[usize; 2]>,
    /// Channels that show blinks or heartbeats: rows of `reference_file`, a .npy of as many samples as
    /// the recording.
    pub reference_channels: Vec<ReferenceChannel>,
    /// That file; a relative path is from the folder of this one.
    pub reference_file: Option<PathBuf>,
}

/// A channel that shows an artifact.
#[derive(Clone, Debug, Deserialize)]
pub struct ReferenceChannel {
    pub name: String,
    /// "blink" or "heartbeat".
    pub kind: String,
}

impl ReferenceChannel {
    /// A channel that shows what it is said to.
    pub fn new(name: &str, kind: ArtifactKind) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.name().to_owned(),
        }
    }

    /// By its name, if that says what it shows.
    fn by_name(name: &str) -> Option<Self> {
        let capitals = name.to_uppercase();
        let kind = if capitals.contains("EOG") {
            ArtifactKind::Blink
        } else if capitals.contains("ECG") || capitals.contains("EKG") {
            ArtifactKind::Heartbeat
        } else {
            return None;
        };
        Some(Self::new(name, kind))
    }

    pub fn artifact(&self) -> Option<ArtifactKind> {
        [ArtifactKind::Blink, ArtifactKind::Heartbeat]
            .into_iter()
            .find(|kind| kind.name() == self.kind)
    }
}

impl Info {
    /// Reads the file of `--info`.
    pub fn read(path: &Path) -> Result<Self> {
        let read = || -> Result<Self> {
            let mut info: Self = serde_json::from_str(&read_text(path)?)?;
            if let (Some(file), Some(folder)) = (&mut info.reference_file, path.parent()) {
                *file = folder.join(&*file);
            }
            Ok(info)
        };
        read().with_context(|| path.display().to_string())
    }

    /// Reads the names of `--names`, one per line.
    pub fn read_names(path: &Path) -> Result<Vec<String>> {
        let text = read_text(path).with_context(|| path.display().to_string())?;
        let names = text.lines().map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        ensure!(
            !names.is_empty(),
            "{}: there are no names in it",
            path.display()
        );
        Ok(names)
    }

    /// Checks that there is one of everything for each channel.
    pub fn check(&self, channels: usize, samples: usize) -> Result<()> {
        for (what, count) in [
            ("names", self.names.len()),
            ("positions", self.positions.len()),
            ("groups", self.groups.len()),
            ("types", self.types.len()),
        ] {
            ensure!(
                count == 0 || count == channels,
                "expected {channels} {what}, one per channel, got {count}"
            );
        }
        ensure!(
            self.bad_spans
                .iter()
                .all(|[start, end]| start <= end && *end <= samples),
            "expected bad spans within the {samples} samples of the recording"
        );
        ensure!(
            self.reference_channels
                .iter()
                .all(|r| r.artifact().is_some()),
            "a reference channel is of kind \"blink\" or \"heartbeat\""
        );
        Ok(())
    }

    /// The signals of the reference channels of `reference_file`.
    pub fn reference_signals(&self, samples: usize) -> Result<Vec<(ReferenceChannel, Vec<f64>)>> {
        let Some(path) = &self.reference_file else {
            return Ok(Vec::new());
        };
        let signals = matrix_file(path)?;
        ensure!(
            (signals.rows(), signals.columns()) == (self.reference_channels.len(), samples),
            "{}: expected {} x {samples} numbers, one row per reference channel, got {} x {}",
            path.display(),
            self.reference_channels.len(),
            signals.rows(),
            signals.columns()
        );
        let rows = (0..signals.rows()).map(|k| signals.row(k).to_vec());
        Ok(self.reference_channels.iter().cloned().zip(rows).collect())
    }
}

/// Which channels are separated, and which only show what the eyes and the heart do.
pub fn by_name(names: &[String], channels: usize) -> (Vec<usize>, Vec<(usize, ReferenceChannel)>) {
    let reference = |c: usize| {
        names
            .get(c)
            .and_then(|name| ReferenceChannel::by_name(name))
    };
    let references = (0..channels)
        .filter_map(|c| Some((c, reference(c)?)))
        .collect();
    let others = (0..channels).filter(|&c| reference(c).is_none()).collect();
    (others, references)
}
