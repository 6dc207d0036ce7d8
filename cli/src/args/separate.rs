//! The arguments of `codiag separate`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use codiag::signals::{Components, SegmentLength, Thresholds};

use super::Solver;

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  codiag separate recording.npy --sfreq 600 -o sources
  codiag separate recording.npy --sfreq 600 --n-components 40 --highpass 1 -o sources
  codiag separate recording.npy --sfreq 600 --segment-length 0.5s -o sources
  codiag separate recording.npy --sfreq 600 --exclude 0,3 -o clean    # without these two
  codiag separate recording.npy --sfreq 250 --bands 1-4,4-8,8-13,13-30,30-45 -o sources
  codiag separate recording.npy --sfreq 600 --n-components 40 --sobi --lags 1:100 -o sources
  codiag separate recording.npy --sfreq 600 --n-components 40 --jade -o sources
  codiag separate recording.npy --sfreq 600 --n-components 40 --n-resamples 20 --sort-by stability -o sources
  codiag separate today.npy --sfreq 600 --init yesterday/filters.npy -o sources
  python -m codiag separate recording.fif --picks mag --n-components 40 --highpass 1 -o sources

By way of Python (python -m codiag, with MNE installed: pip install 'codiag[mne]') all formats that MNE reads are
read, with their rate, names, places, bad channels and bad spans: .fif (Neuromag), .edf, .bdf, .gdf, .vhdr
(BrainVision), .set (EEGLAB), .cnt (Neuroscan), .mff (EGI), .ds (CTF), .sqd (KIT), .nxe (eXimia), .lay (Persyst)
and others.

The folder gets sources.npy (one per row), filters.npy (B, one per row), patterns.npy (A, one per column),
diagonals.npy (the power of each source in each segment or band, or its autocorrelation at each lag),
report.json, history.csv, report.html, and, if sources are excluded, cleaned.npy or, for a recording that MNE
reads, a file of the format that came in.

--info FILE is a JSON object; all of its fields are optional:
  name            what the recording is called
  names           one name per channel
  positions       one [x, y] per channel, seen from above: x to the right ear, y to the nose; or null
  groups          one number per channel, equal for channels of one kind: each kind has its own unit
  bad             spans of samples to be left out: [[first, one after the last], ...]
  references      channels that show blinks or heartbeats: [{\"name\": \"EOG\", \"kind\": \"blink\"}, ...]
  reference_file  a .npy of their signals, one row each; beside FILE, unless its path is absolute
With the Python package, `python -m codiag separate` finds all this in any file that MNE reads.

Text files, such as FILE, may be FIFOs of at most 64 MiB, but no devices."
)]
#[allow(clippy::struct_excessive_bools)] // switches of a command line
pub struct Separate {
    /// Channels x samples: a .npy or .csv file; by way of Python anything that MNE reads (.fif, .edf, .set, ...).
    #[arg(value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// Samples per second: needed for bands, spectra, and to know blinks from heartbeats.
    #[arg(long, value_name = "HZ")]
    pub sfreq: Option<f64>,
    /// The folder for the results.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// How many principal components are separated, or the share of the variance they must have
    /// (0.99); as many as there are by default.
    #[arg(long, value_name = "N|SHARE", value_parser = parse_components)]
    pub n_components: Option<Components>,
    /// Which channels are separated: names of --names or numbers from 0; of a file that MNE reads also types, such
    /// as mag, grad or eeg.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub picks: Vec<String>,
    /// Channels that are not, in the same words.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub bads: Vec<String>,
    /// Separate what is above this frequency: 1 keeps drifts out. The sources are those of the filtered
    /// recording; what --exclude writes is not filtered.
    #[arg(long, value_name = "HZ", requires = "sfreq")]
    pub highpass: Option<f64>,
    /// Separate what is below this frequency.
    #[arg(long, value_name = "HZ", requires = "sfreq")]
    pub lowpass: Option<f64>,
    /// How many segments the recording is cut in. By default they are as short as serves: a quarter of a second,
    /// or two samples per component if that is longer; one for --sobi. With --bands, one matrix per segment and
    /// band.
    #[arg(long, value_name = "N", conflicts_with = "segment_length")]
    pub n_segments: Option<usize>,
    /// How long a segment is: samples, or a time such as 0.25s or 250ms.
    #[arg(long, value_name = "SAMPLES|TIME", value_parser = parse_length)]
    pub segment_length: Option<SegmentLength>,
    /// The share of a segment, or of a window of spectra, that the next one repeats.
    #[arg(long, value_name = "X")]
    pub overlap: Option<f64>,
    /// Tell sources apart by their spectra: bands such as 1-4,4-8,8-13 in hertz, or how many bands of
    /// equal width from 1 Hz up.
    #[arg(long, value_name = "BANDS", value_parser = parse_bands)]
    pub bands: Option<BandChoice>,
    /// How many samples a window of spectra has; about a second by default.
    #[arg(long, value_name = "SAMPLES", requires = "bands")]
    pub window_length: Option<usize>,
    /// Tell sources apart by their autocorrelations at many lags, after whitening (SOBI).
    #[arg(long, conflicts_with_all = ["amuse", "jade", "bands"])]
    pub sobi: bool,
    /// Tell sources apart by their autocorrelations at one lag, after whitening (AMUSE).
    #[arg(long, conflicts_with_all = ["jade", "bands", "n_segments", "segment_length", "overlap"])]
    pub amuse: bool,
    /// Tell sources apart by not being Gaussian, after whitening (JADE).
    #[arg(long, conflicts_with_all = ["bands", "n_segments", "segment_length", "overlap", "lags"])]
    pub jade: bool,
    /// Lags in samples, such as 1:100 or 1,2,5,10. By default 1:100, or up to a third of the samples, for
    /// --sobi, and 1 for --amuse.
    #[arg(long, value_name = "LAGS", value_parser = parse_lags)]
    pub lags: Option<LagChoice>,
    /// The unit in which channels count: "none", as recorded, or "rms", each divided by its own.
    #[arg(long, default_value = "none", value_parser = ["none", "rms"])]
    pub scale: String,
    /// Draw each matrix towards a multiple of the identity by this share, or as much as is best:
    /// "auto" (Ledoit-Wolf) or "oas".
    #[arg(long, value_name = "S|auto", default_value = "0")]
    pub shrinkage: String,
    #[command(flatten)]
    pub solver: Solver,
    /// Also write cleaned.npy: the recording without these sources, by number (0) or name (S00).
    #[arg(long, value_name = "K,...", value_delimiter = ',', value_parser = parse_source)]
    pub exclude: Vec<usize>,
    /// Channels that show the eyes beside those named EOG: Fp1, for instance. Sources are compared with them.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub eog: Vec<String>,
    /// Channels that show the heart beside those named ECG.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub ecg: Vec<String>,
    /// From which score on a source looks like an artifact: by form blink=0.7, heartbeat=0.3, line-noise=0.2,
    /// muscle=0.6; by --eog and --ecg correlation=0.4, phase=0.2.
    #[arg(long, value_name = "KIND=SCORE,...", value_parser = parse_thresholds)]
    pub thresholds: Option<Thresholds>,
    /// The channels' names, one per line. Those named EOG or ECG are not separated: sources are
    /// compared with them.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub names: Option<PathBuf>,
    /// What else is known of the recording, as JSON: names, positions, bad spans, reference channels (see
    /// below).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "names")]
    pub info: Option<PathBuf>,
    /// Print report.json to standard output.
    #[arg(long)]
    pub json: bool,
}

fn parse_length(text: &str) -> Result<SegmentLength, String> {
    let expected = "expected a whole number of samples, or a time such as 0.25s or 250ms";
    text.parse().map_err(|_| expected.to_owned())
}

/// The number of a source: 0, or S00 as Python names it.
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
                    "expected scores such as blink=0.7,heartbeat=0.3; there are blink, heartbeat, \
                            line-noise, muscle, correlation and phase"
                        .to_owned(),
                );
            }
        };
    }
    Ok(chosen)
}

/// Bands by their edges, or how many.
#[derive(Clone, Debug, PartialEq)]
pub enum BandChoice {
    Edges(Vec<(f64, f64)>),
    Count(usize),
}

/// Ranges of lags in samples, which are listed once the recording has shown them to be short enough.
#[derive(Clone, Debug, PartialEq)]
pub struct LagChoice(pub Vec<RangeInclusive<usize>>);

/// Numbers and ranges, such as 1:10,20,50.
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
        .ok_or_else(|| "expected bands such as 1-4,4-8,8-13, or a number of them".to_owned())
}

fn parse_components(text: &str) -> Result<Components, String> {
    match (text, text.parse::<usize>(), text.parse::<f64>()) {
        ("all", _, _) => Ok(Components::All),
        (_, Ok(number), _) => Ok(Components::Count(number)),
        (_, _, Ok(share)) => Ok(Components::VarianceFraction(share)),
        _ => Err("expected a number of components, or a share such as 0.99".to_owned()),
    }
}
