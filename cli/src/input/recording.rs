//! Recordings: files of channels × samples, and their descriptions.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use codiag::Error;
use codiag::npy::{ArrayFile, Header, tuple};
use codiag::signals::{ArtifactKind, Recording, RecordingView};
use serde::Deserialize;

use super::file::read_text;
use super::{extension, matrix_file};

/// A recording in a .npy or text file.
pub enum StoredRecording {
    /// A .npy file, read in spans.
    File(RecordingFile),
    /// A text file, read completely.
    Text(codiag::Matrix),
}

impl StoredRecording {
    /// Opens a .npy or text file of channels × samples.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || match extension(path).as_str() {
            "npy" => Ok(Self::File(RecordingFile::open(path)?)),
            "csv" | "txt" | "tsv" => Ok(Self::Text(super::text::matrix(&read_text(path)?)?)),
            _ => bail!(
                "expected a recording as .npy or .csv; use python -m codiag separate for formats that MNE reads (.fif, \
                 .edf, .set, ...)"
            ),
        };
        let opened = open().with_context(|| path.display().to_string())?;
        let (rows, columns) = (opened.channels(), opened.samples());
        ensure!(
            rows <= columns,
            "{}: expected channels x samples, got {rows} x {columns}, more channels than samples; if the array is \
             samples x channels, transpose it",
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

/// A .npy file of channels × samples.
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
        let available = file.len()?;
        if available < header.count()? as u64 {
            return Err(header.truncated(available as usize).into());
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
            // In Fortran order, the channels of one sample are contiguous.
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

    /// Reads numbers beginning at index `first`. It is an error if the file has become shorter
    /// since it was opened.
    fn fill(&self, first: usize, out: &mut [f64], bytes: &mut Vec<u8>) -> Result<(), Error> {
        let requested = out.len();
        let filled = self.file.read(first as u64, out, bytes);
        let error = match filled {
            Ok(count) if count == requested => return Ok(()),
            Ok(count) => self.header.truncated(first + count),
            Err(error) => error,
        };
        Err(Error::File {
            path: self.file.path().to_owned(),
            error: Box::new(error),
        })
    }
}

/// A subset of the channels of a recording.
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

/// Description of a recording: the JSON file of `--info`. All fields are optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordingInfo {
    /// Name of the recording.
    pub name: Option<String>,
    /// Name of each channel.
    pub names: Vec<String>,
    /// Position of each channel on the head seen from above: x to the right ear, y to the nose;
    /// null if unknown.
    pub positions: Vec<Option<[f64; 2]>>,
    /// Group of each channel; each group is divided by its root mean square.
    pub groups: Vec<usize>,
    /// Type of each channel, such as "mag" or "eeg"; each type has its own map and unit.
    pub types: Vec<String>,
    /// Command line to show in the report, if another program calls this one.
    pub command: Option<String>,
    /// Name of the cleaned recording, if another program writes it.
    pub cleaned_file: Option<String>,
    /// Spans of samples to leave out, each given by its first sample and the one after its last.
    pub bad_spans: Vec<[usize; 2]>,
    /// Channels that record blinks or heartbeats; their signals are the rows of `reference_file`.
    pub reference_channels: Vec<ReferenceChannel>,
    /// .npy file with the signals of the reference channels. Relative paths start at the folder of
    /// the `--info` file.
    pub reference_file: Option<PathBuf>,
}

/// A channel that records an artifact.
#[derive(Clone, Debug, Deserialize)]
pub struct ReferenceChannel {
    pub name: String,
    /// Kind of artifact: "blink" or "heartbeat".
    pub kind: String,
}

impl ReferenceChannel {
    /// Returns a reference channel.
    pub fn new(name: &str, kind: ArtifactKind) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.name().to_owned(),
        }
    }

    /// Recognizes a reference channel by its name.
    fn by_name(name: &str) -> Option<Self> {
        let upper = name.to_uppercase();
        let kind = if upper.contains("EOG") {
            ArtifactKind::Blink
        } else if upper.contains("ECG") || upper.contains("EKG") {
            ArtifactKind::Heartbeat
        } else {
            return None;
        };
        Some(Self::new(name, kind))
    }

    /// Returns the kind of artifact, or None if `kind` is invalid.
    pub fn artifact(&self) -> Option<ArtifactKind> {
        [ArtifactKind::Blink, ArtifactKind::Heartbeat]
            .into_iter()
            .find(|kind| kind.name() == self.kind)
    }
}

impl RecordingInfo {
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
            "{}: the file has no names; write one channel name per line",
            path.display()
        );
        Ok(names)
    }

    /// Checks that the fields fit the recording.
    pub fn check(&self, channels: usize, samples: usize) -> Result<()> {
        for (field, count) in [
            ("names", self.names.len()),
            ("positions", self.positions.len()),
            ("groups", self.groups.len()),
            ("types", self.types.len()),
        ] {
            ensure!(
                count == 0 || count == channels,
                "expected {channels} {field}, one per channel, got {count}"
            );
        }
        ensure!(
            self.bad_spans
                .iter()
                .all(|[start, end]| start <= end && *end <= samples),
            "bad_spans must lie within the {samples} samples of the recording"
        );
        ensure!(
            self.reference_channels
                .iter()
                .all(|r| r.artifact().is_some()),
            "the kind of a reference channel must be \"blink\" or \"heartbeat\""
        );
        Ok(())
    }

    /// Reads the signals of the reference channels from `reference_file`.
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

/// Splits the channels by their names into those to separate and the reference channels (EOG, ECG).
pub fn split_reference_channels(
    names: &[String],
    channels: usize,
) -> (Vec<usize>, Vec<(usize, ReferenceChannel)>) {
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
