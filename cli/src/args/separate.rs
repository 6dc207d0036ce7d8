//! Command-line arguments of `codiag separate`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use codiag::signals::{Components, SegmentLength, Thresholds};

use super::SolverArgs;

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  codiag separate recording.npy --sfreq 600 -o sources
  codiag separate recording.npy --sfreq 600 --n-components 40 --highpass 1 -o sources
  codiag separate recording.npy --sfreq 600 --segment-length 0.5s -o sources
  codiag separate recording.npy --sfreq 600 --exclude 0,3 -o clean    # remove sources 0 and 3
  codiag separate recording.npy --sfreq 250 --bands 1-4,4-8,8-13,13-30,30-45 -o sources
  codiag separate recording.npy --sfreq 600 --n-components 40 --sobi --lags 1:100 -o sources
  codiag separate recording.npy --sfreq 600 --n-components 40 --jade -o sources
  codiag separate recording.npy --sfreq 600 --n-resamples 20 --sort-by stability -o sources
  codiag separate today.npy --sfreq 600 --init yesterday/filters.npy -o sources
  python -m codiag separate recording.fif --picks mag --n-components 40 --highpass 1 -o sources

File formats: this program reads .npy and .csv. With the Python package and MNE installed,
`python -m codiag separate` reads all formats of MNE, with their sampling frequency, channel names,
positions, bad channels and bad spans: .fif (Neuromag), .edf, .bdf, .gdf, .vhdr
(BrainVision), .set (EEGLAB), .cnt (Neuroscan), .mff (EGI), .ds (CTF), .sqd (KIT), .nxe (eXimia),
.lay (Persyst) and others.

Files written to DIR:
  sources.npy    sources, one per row, with unit variance
  filters.npy    filters (B), one per row
  patterns.npy   patterns (A), one per column (B A = I)
  diagonals.npy  power of each source (columns) in each segment or band (rows), or its
                 autocorrelation at each lag (rows)
  report.json    settings, results and history (see below)
  history.csv    one row per iteration
  report.html    the report for a web browser
  cleaned.npy    the recording without the sources of --exclude (in its own format if MNE read it)

Fields of report.json: those of `codiag diagonalize --help`, and
  input          name, files, channels and samples (their number), sfreq, names, types, bad_spans,
                 reference_channels
  settings       the options of the command, with underscores, and contrast: segments, bands, lags
                 or cumulants
  sources        for each source: explained_variance_ratio, nonstationarity, kurtosis, stability,
                 least_separable (the partner that is hardest to separate from it, and the margin;
                 0: not identifiable), artifacts (the suspected ones) and scores (all of them), each
                 with kind, score, evidence, reference, reason and threshold
  explained_variance_ratio_total, shrinkages, segments (spans of samples)
  methods, references   a paragraph for a methods section, and the papers that it cites

--info FILE is a JSON object. All fields are optional:
  name                name of the recording
  names               names of the channels
  types               type of each channel, such as \"mag\" or \"eeg\"; each type has its own maps
  positions           position [x, y] of each channel seen from above, with x to the right ear and
                      y to the nose; null if unknown
  groups              group number of each channel; each group is divided by its root mean square
  bad_spans           spans of samples to leave out: [[first, one after the last], ...]
  reference_channels  channels that record blinks or heartbeats:
                      [{\"name\": \"EOG\", \"kind\": \"blink\"}, ...]; kind is blink or heartbeat
  reference_file      .npy file with their signals, one per row; relative to the folder of FILE
  command             command line to show in the report
  cleaned_file        name of the cleaned recording in the report, if another program writes it

A text input file, such as FILE, may be a FIFO of at most 64 MiB, but not a device."
)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line
pub struct Separate {
    /// Recording: a .npy or .csv file of channels x samples; with `python -m codiag` any file that
    /// MNE reads (.fif, .edf, .set, ...).
    #[arg(value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// Sampling frequency in Hz. Required for --bands, filters, spectra and the detection of
    /// artifacts.
    #[arg(long, value_name = "HZ")]
    pub sfreq: Option<f64>,
    /// Folder to which the results are written (default: only a summary is printed).
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// Number of principal components to separate, or the fraction of the variance that they must
    /// explain, such as 0.99 (default: all).
    #[arg(long, value_name = "N|FRACTION", value_parser = parse_components)]
    pub n_components: Option<Components>,
    /// Channels to separate: names, numbers from 0 or, for files that MNE reads, types such as mag,
    /// grad or eeg (default: all).
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub picks: Vec<String>,
    /// Channels to leave out: names or numbers from 0 (default: none).
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub bads: Vec<String>,
    /// Cutoff frequency of a high-pass filter, applied before the separation (default: none); 1 Hz
    /// removes drifts. The cleaned recording of --exclude is not filtered.
    #[arg(long, value_name = "HZ", requires = "sfreq")]
    pub highpass: Option<f64>,
    /// Cutoff frequency of a low-pass filter, applied before the separation (default: none). The
    /// cleaned recording of --exclude is not filtered.
    #[arg(long, value_name = "HZ", requires = "sfreq")]
    pub lowpass: Option<f64>,
    /// Number of segments of equal length (default: segments of 0.25 s, or 2 samples per component
    /// if that is longer; of 10 samples per component without --sfreq; a single segment for --sobi,
    /// --amuse and --bands). With --bands there is one matrix per segment and band.
    #[arg(long, value_name = "N", conflicts_with = "segment_length")]
    pub n_segments: Option<usize>,
    /// Length of a segment in samples, or as a time such as 0.25s or 250ms; alternative to
    /// --n-segments.
    #[arg(long, value_name = "SAMPLES|TIME", value_parser = parse_length)]
    pub segment_length: Option<SegmentLength>,
    /// Fraction by which consecutive segments overlap (default: 0) or, with --bands, consecutive
    /// windows (default: 0.5).
    #[arg(long, value_name = "X")]
    pub overlap: Option<f64>,
    /// Separate sources by their spectra in these frequency bands, such as 1-4,4-8,8-13 (in Hz), or
    /// in this number of bands of equal width from 1 Hz to half of --sfreq.
    #[arg(long, value_name = "BANDS", value_parser = parse_bands)]
    pub bands: Option<BandChoice>,
    /// Number of samples of each window from which spectra are estimated (default: about one
    /// second).
    #[arg(long, value_name = "SAMPLES", requires = "bands")]
    pub window_length: Option<usize>,
    /// Separate sources by their autocorrelations at several lags, after whitening (SOBI).
    #[arg(long, conflicts_with_all = ["amuse", "jade", "bands"])]
    pub sobi: bool,
    /// Separate sources by their autocorrelations at a single lag, after whitening (AMUSE).
    #[arg(long, conflicts_with_all = ["jade", "bands", "n_segments", "segment_length", "overlap"])]
    pub amuse: bool,
    /// Separate sources by their non-Gaussianity (fourth-order cumulants), after whitening (JADE).
    #[arg(long, conflicts_with_all = ["bands", "n_segments", "segment_length", "overlap", "lags"])]
    pub jade: bool,
    /// Lags in samples for --sobi and --amuse, such as 1:100 or 1,2,5,10 (default: 1:100 for
    /// --sobi, but at most a third of the samples; 1 for --amuse).
    #[arg(long, value_name = "LAGS", value_parser = parse_lags)]
    pub lags: Option<LagChoice>,
    /// Scaling of the channels: "none" keeps their units, "rms" divides each channel by its root
    /// mean square.
    #[arg(long, default_value = "none", value_parser = ["none", "rms"])]
    pub scale: String,
    /// Shrinkage of each covariance towards a multiple of the identity: a number from 0 to 1,
    /// "auto" (Ledoit-Wolf) or "oas" (oracle approximating shrinkage).
    #[arg(long, value_name = "S|auto", default_value = "0")]
    pub shrinkage: String,
    #[command(flatten)]
    pub solver: SolverArgs,
    /// Sources to remove, by number (0) or name (S00); the remaining recording is written to
    /// cleaned.npy (default: none).
    #[arg(long, value_name = "K,...", value_delimiter = ',', value_parser = parse_source)]
    pub exclude: Vec<usize>,
    /// Channels that record blinks, such as Fp1, in addition to those named EOG. Sources that
    /// correlate with them are reported as artifacts.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub eog: Vec<String>,
    /// Channels that record heartbeats, in addition to those named ECG. Sources that correlate with
    /// them are reported as artifacts.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub ecg: Vec<String>,
    /// Minimum scores at which a source is reported as an artifact (default: blink=0.7,
    /// heartbeat=0.3, line-noise=0.2 and muscle=0.6, judged by its waveform; correlation=0.4 and
    /// phase=0.2, judged by EOG and ECG channels).
    #[arg(long, value_name = "KIND=SCORE,...", value_parser = parse_thresholds)]
    pub thresholds: Option<Thresholds>,
    /// Text file with the names of the channels, one per line (default: channels are numbered).
    /// Channels named EOG or ECG are not separated; they are used to detect artifacts.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub names: Option<PathBuf>,
    /// JSON file that describes the recording: channel names, positions, bad spans, reference
    /// channels (see below).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "names")]
    pub info: Option<PathBuf>,
    /// Print the content of report.json to standard output.
    #[arg(long)]
    pub json: bool,
}

fn parse_length(text: &str) -> Result<SegmentLength, String> {
    let expected = "expected an integer number of samples, or a time such as 0.25s or 250ms";
    text.parse().map_err(|_| expected.to_owned())
}

/// Parses the number of a source: 0, or S00 as in the Python package.
fn parse_source(text: &str) -> Result<usize, String> {
    let number = text.strip_prefix('S').unwrap_or(text);
    let expected = "expected sources by number or name, such as 0,3 or S00,S03";
    number.parse().map_err(|_| expected.to_owned())
}

fn parse_thresholds(text: &str) -> Result<Thresholds, String> {
    let mut chosen = Thresholds::default();
    for part in text.split(',') {
        let read = part.split_once('=');
        let read = read.and_then(|(name, score)| Some((name.trim(), score.trim().parse().ok()?)));
        chosen = match read {
            Some(("blink", score)) => chosen.blink(score),
            Some(("heartbeat", score)) => chosen.heartbeat(score),
            Some(("line-noise", score)) => chosen.line_noise(score),
            Some(("muscle", score)) => chosen.muscle(score),
            Some(("correlation", score)) => chosen.correlation(score),
            Some(("phase", score)) => chosen.phase(score),
            _ => {
                return Err(
                    "expected scores such as blink=0.7,heartbeat=0.3; the kinds are blink, heartbeat, \
                            line-noise, muscle, correlation and phase"
                        .to_owned(),
                );
            }
        };
    }
    Ok(chosen)
}

/// Frequency bands, by their edges or by their number.
#[derive(Clone, Debug, PartialEq)]
pub enum BandChoice {
    Edges(Vec<(f64, f64)>),
    Count(usize),
}

/// Ranges of lags in samples. They are expanded only after they were checked against the length of
/// the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct LagChoice(pub Vec<RangeInclusive<usize>>);

/// Parses numbers and ranges, such as 1:10,20,50.
fn parse_lags(text: &str) -> Result<LagChoice, String> {
    let range = |text: &str| -> Option<RangeInclusive<usize>> {
        let (first, last) = text.split_once(':').unwrap_or((text, text));
        let range = first.trim().parse().ok()?..=last.trim().parse().ok()?;
        (!range.is_empty()).then_some(range)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    let lags = ranges.map(LagChoice);
    lags.ok_or_else(|| "expected lags in samples such as 1:100 or 1,2,5,10".to_owned())
}

fn parse_bands(text: &str) -> Result<BandChoice, String> {
    if let Ok(count) = text.parse() {
        return match count {
            0 => Err("expected at least one band".to_owned()),
            count => Ok(BandChoice::Count(count)),
        };
    }
    let band = |text: &str| -> Option<(f64, f64)> {
        let (low, high) = text.split_once('-')?;
        Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
    };
    let edges: Option<Vec<_>> = text.split(',').map(band).collect();
    edges
        .map(BandChoice::Edges)
        .ok_or_else(|| "expected bands such as 1-4,4-8,8-13, or a number of bands".to_owned())
}

fn parse_components(text: &str) -> Result<Components, String> {
    match (text, text.parse::<usize>(), text.parse::<f64>()) {
        ("all", _, _) => Ok(Components::All),
        (_, Ok(number), _) => Ok(Components::Count(number)),
        (_, _, Ok(fraction)) => Ok(Components::VarianceFraction(fraction)),
        _ => Err(
            "expected a number of components, or a fraction of the variance such as 0.99"
                .to_owned(),
        ),
    }
}
