//! The command line.

mod separate;

pub use separate::{BandChoice, Separate};

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use codiag::{Criterion, Memory, Method, Rank, Settings, SortBy};

use crate::option_names::Flags;

const EXAMPLES: &str = "\
Examples:
  codiag reproduce                            the paper's experiments, into reproduction/
  codiag generate -o covs.npy                 a set to try things out
  codiag check covs.npy                       what is in a file, and can it be diagonalized?
  codiag diagonalize covs.npy -o result       B, A, a report to look at
  codiag generate | codiag diagonalize - --json
  codiag separate recording.npy --sfreq 600 -o sources

Exit codes: 0 done, 1 not converged, 2 bad input, 130 Ctrl-C.";

/// Finds the one basis in which many symmetric matrices are as diagonal as they can be.
#[derive(Debug, Parser)]
#[command(name = "codiag", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Print results, warnings and errors only.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the three experiments of the paper, and say which of its claims hold.
    Reproduce(Reproduce),
    /// Diagonalize the matrices of a file, and write B, A and a report.
    Diagonalize(Diagonalize),
    /// Find the sources of a recording, and write them, their patterns and a report.
    Separate(Box<Separate>),
    /// Say what is in a file, and whether it can be diagonalized.
    Check(Check),
    /// Make a synthetic set, as in the paper.
    Generate(Generate),
    /// Measure the speed of this computer: seconds, and share of the peak.
    Bench(Bench),
    /// Print the completions for a shell.
    #[command(
        after_help = "Example:\n  codiag completions bash > ~/.local/share/bash-completion/completions/codiag"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page.
    #[command(after_help = "Example:\n  codiag man > codiag.1 && man -l codiag.1")]
    Man {
        /// Write one page per command into this folder instead.
        #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  codiag reproduce
  codiag reproduce --seeds 5 --output elsewhere
  codiag reproduce --recording my-covariances.npy"
)]
pub struct Reproduce {
    /// The folder for report.html, figure.svg, results.json and history.csv.
    #[arg(short, long, value_name = "DIR", default_value = "reproduction", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Repeat (a) and (b) with this many seeds; the table gives median and range.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// A set of matrices to take for (c), instead of the MEG covariances in the program.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub recording: Option<PathBuf>,
    /// Threads for each solve. One compares the methods, not how they share their work.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    pub n_jobs: usize,
    /// Iterations, or sweeps of Pham's method, after which a run ends.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_iter: usize,
    /// The number of matrices in (a) and (b).
    #[arg(short, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub n: usize,
    /// The size of the matrices in (a) and (b).
    #[arg(short, value_name = "P", default_value_t = 40, value_parser = at_least_one)]
    pub p: usize,
}

/// Where matrices come from.
#[derive(Debug, Args)]
pub struct Source {
    /// One .npy of shape (n, p, p), one .npz, one .mat (p x p x n or n x p x p, saved with -v7), a
    /// folder or a list of p x p .csv or .npy files, or - for standard input. Complex ones are
    /// Hermitian; in text their numbers are like 1.5-2j.
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub input: Vec<PathBuf>,
    /// Which array of an .npz or .mat; not needed if there is only one.
    #[arg(long, value_name = "NAME")]
    pub key: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  codiag diagonalize covs.npy -o result
  codiag diagonalize subject1/ -o result --n-components auto --n-restarts 5
  codiag diagonalize lagged.npy -o result --criterion frobenius    # need not be positive definite
  codiag diagonalize big.npy -o result --checkpoint b.npy
  codiag diagonalize big.npy -o result --init b.npy    # and on from there
  codiag diagonalize huge.npy -o result --memory 2GB    # larger than memory
  cat covs.npy | codiag diagonalize - -o - > B.npy

The folder gets B.npy (filters, one per row), A.npy (patterns, one per column), diagonals.npy (the power
of each component in each matrix), report.json, history.csv and report.html.

Files are written completely or not at all. Symbolic links are followed, and the mode of an existing file is
kept; a device or a FIFO is written to. Text files may be FIFOs of at most 64 MiB, but no devices."
)]
pub struct Diagonalize {
    #[command(flatten)]
    pub source: Source,
    /// The folder for the results; - writes B as .npy to standard output.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// One weight per matrix: a .npy or a text file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sample_weight: Option<PathBuf>,
    #[command(flatten)]
    pub criterion: Minimized,
    #[command(flatten)]
    pub solver: Solver,
    /// Keep B orthogonal (for complex matrices, unitary): common principal components. Always so with
    /// --criterion frobenius.
    #[arg(long)]
    pub orthogonal: bool,
    /// Reduce to this many dimensions first, or to as many as the mean has: "auto".
    #[arg(long, value_name = "N|auto", value_parser = parse_rank)]
    pub n_components: Option<Rank>,
    /// Replace each C by (1 - s) C + s tr(C)/p I first.
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    pub shrinkage: f64,
    /// Replace each C by (C + C')/2 first (C' is conjugated if complex): for asymmetry that is rounding, as of single precision.
    #[arg(long)]
    pub symmetrize: bool,
    /// Keep the matrices of one .npy file on disk, and use no more memory than about this: 500MB, 2GB.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<Memory>,
    /// Save B here, as .npy, every few seconds.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub checkpoint: Option<PathBuf>,
    /// The seconds between checkpoints.
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = not_negative)]
    pub checkpoint_every: f64,
    /// Print report.json to standard output.
    #[arg(long)]
    pub json: bool,
}

/// What is minimized.
#[derive(Debug, Args)]
pub struct Minimized {
    /// What is minimized: the likelihood, for positive definite matrices; for any symmetric ones, the
    /// energy off the diagonals over rotations (frobenius), or what a fit A L A' leaves (least-squares).
    #[arg(long, default_value = "likelihood", value_parser = criteria())]
    pub criterion: Criterion,
}

/// How matrices are diagonalized.
#[derive(Debug, Args)]
pub struct Solver {
    /// The method: newton for any criterion; quasi-newton for likelihood and frobenius; pham and
    /// row-wise for likelihood; jacobi for frobenius; acdc, uwedge and ffdiag for least-squares.
    #[arg(long, default_value = "newton", value_parser = methods())]
    pub method: Method,
    /// "spectral", "whitener", "identity", or a file with a matrix B, such as a checkpoint.
    #[arg(long, value_name = "NAME|FILE", default_value = "spectral", value_hint = ValueHint::FilePath)]
    pub init: PathBuf,
    /// Stop once the gradient norm is at most this.
    #[arg(long, value_name = "X", default_value = "1e-8")]
    pub tol: f64,
    /// Stop after this many iterations.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_iter: usize,
    /// Try this many further starts, and keep the best answer.
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub n_restarts: usize,
    /// Solve this many resamples of the matrices, 20 say, to learn how surely each component comes again.
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub n_resamples: usize,
    /// The order of components: by what tells them apart, or by how surely they come again.
    #[arg(long, default_value = "contrast", value_parser = orders())]
    pub sort_by: SortBy,
    /// Threads; as many as pay by default. The answer does not depend on them.
    #[arg(long, value_name = "N")]
    pub n_jobs: Option<usize>,
}

impl Solver {
    /// The settings chosen; a start that is no name is read from its file.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        let named = self.init.to_str().and_then(|name| name.parse().ok());
        let start = if let Some(start) = named {
            start
        } else {
            anyhow::ensure!(
                self.init.exists(),
                "{}: no such file. --init expects spectral, whitener, identity, or a file with a matrix",
                self.init.display()
            );
            crate::input::start_file(&self.init)?
        };
        Ok(Settings::default()
            .method(self.method)
            .init(start)
            .tol(self.tol)
            .max_iter(self.max_iter)
            .n_restarts(self.n_restarts)
            .n_resamples(self.n_resamples)
            .sort_by(self.sort_by))
    }
}

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  codiag check covs.npy
  codiag check subject1/ --json
  codiag check lagged.npy --criterion frobenius

Exit codes: 0 if the set can be diagonalized as it is, 2 if not."
)]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub criterion: Minimized,
    /// Print the findings as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  codiag generate -o covs.npy
  codiag generate -n 500 -p 20 --sigma 0.3 --seed 7 --mixing A.npy -o covs.npy
  codiag generate --sigma 0 | codiag check -
  codiag generate --complex -o spectra.npy
  codiag generate --meg magnetometers -o meg.npy
  codiag generate --eeg -o eeg.npy && codiag separate eeg.npy --sfreq 250 -o sources"
)]
pub struct Generate {
    /// How many matrices.
    #[arg(short, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub n: usize,
    /// Their size.
    #[arg(short, value_name = "P", default_value_t = 40, value_parser = at_least_one)]
    pub p: usize,
    /// The standard deviation of the noise: 0 makes a set that can be diagonalized exactly.
    #[arg(long, value_name = "X", default_value_t = 0.1, value_parser = not_negative)]
    pub sigma: f64,
    /// The seed: the same seed makes the same set.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Complex Hermitian matrices, as cross-spectra are.
    #[arg(long)]
    pub complex: bool,
    /// The MEG covariances carried in the program, instead of synthetic ones.
    #[arg(long, value_name = "SENSORS", value_parser = ["magnetometers", "gradiometers"],
          conflicts_with_all = ["n", "p", "sigma", "seed", "mixing", "complex"])]
    pub meg: Option<String>,
    /// A recording instead, to be separated: a simulated electroencephalogram with blinks, 32
    /// channels, 60 seconds of 250 samples.
    #[arg(long, conflicts_with_all = ["n", "p", "sigma", "meg", "mixing", "complex"])]
    pub eeg: bool,
    /// The .npy file to write, - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Write the mixing matrix here, as .npy: what B should invert.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub mixing: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  codiag bench\n  codiag bench --n-jobs 1 --json"
)]
pub struct Bench {
    /// Threads; as many as pay by default.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub n_jobs: Option<usize>,
    /// Measure each size for about this many seconds.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = not_negative)]
    pub seconds: f64,
    /// Print the measurements as JSON.
    #[arg(long)]
    pub json: bool,
}

fn criteria() -> impl TypedValueParser<Value = Criterion> {
    let names = Criterion::ALL.map(Criterion::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Criterion>())
}

fn methods() -> impl TypedValueParser<Value = Method> {
    let names = Method::ALL.map(Method::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Method>())
}

fn orders() -> impl TypedValueParser<Value = SortBy> {
    let names = SortBy::ALL.map(SortBy::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<SortBy>())
}

fn parse_rank(text: &str) -> Result<Rank, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Rank::Auto),
        (_, Ok(rank)) => Ok(Rank::Exactly(rank)),
        _ => Err("expected \"auto\" or a number".to_owned()),
    }
}

fn parse_memory(text: &str) -> Result<Memory, String> {
    text.parse()
        .map_err(|error: codiag::Error| error.render(&Flags))
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected a whole number, at least 1".to_owned()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("expected a number, at least 0".to_owned()),
    }
}
