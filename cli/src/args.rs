//! Command-line arguments of all commands.

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
  codiag reproduce                            run the paper's experiments, write reproduction/
  codiag generate -o covs.npy                 write a synthetic set of matrices
  codiag check covs.npy                       describe a file, check that it can be diagonalized
  codiag diagonalize covs.npy -o result       write B, A and an HTML report
  codiag generate | codiag diagonalize - --json
  codiag separate recording.npy --sfreq 600 -o sources

Exit codes: 0 success, 1 not converged, 2 invalid input, 130 interrupted by Ctrl-C.";

/// Joint diagonalization: computes one matrix B that makes a whole set of symmetric or Hermitian
/// matrices C as diagonal as possible (B C B'), and separates the sources of multichannel
/// recordings.
#[derive(Debug, Parser)]
#[command(name = "codiag", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Print only results, warnings and errors, no progress.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the three experiments of the paper and check its claims.
    Reproduce(Reproduce),
    /// Diagonalize the matrices of a file; write B, A and a report.
    Diagonalize(Diagonalize),
    /// Separate the sources of a recording; write the sources, their patterns and a report.
    Separate(Box<Separate>),
    /// Describe the matrices of a file and check that they can be diagonalized.
    Check(Check),
    /// Write a set of synthetic matrices, MEG covariances or a simulated EEG recording.
    Generate(Generate),
    /// Measure the speed of solves on this computer, in seconds and as a percentage of its peak
    /// rate.
    Bench(Bench),
    /// Print completions for a shell.
    #[command(
        after_help = "Example:\n  codiag completions bash > ~/.local/share/bash-completion/completions/codiag"
    )]
    Completions {
        /// Name of the shell.
        shell: Shell,
    },
    /// Print the manual page, or write one page per command.
    #[command(after_help = "Example:\n  codiag man > codiag.1 && man -l codiag.1")]
    Man {
        /// Folder to which one manual page per command is written (default: print the main page).
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
  codiag reproduce --seeds 1 --output elsewhere
  codiag reproduce --recording my-covariances.npy

Fields of results.json:
  codiag (the version), machine, n_jobs
  goal         value of the gradient norm at which times are compared
  experiments  key, title, description, matrices (their number), size (rows of each),
               seeds (their number; channel orders in experiment c)
  table        one row per experiment and solver: status, and the median, low and high over seeds of
               n_iter, seconds, seconds_to_goal (reached: the number of seeds that reached it),
               loss, gradient_norm and speedup_over_pham
  claims       claim, measured and verdict
  runs         one row per run and seed; local_minimum is the loss of the minimum it approaches

history.csv has one row per iteration of each run, with its seed."
)]
pub struct Reproduce {
    /// Folder to which report.html, figure.svg, results.json and history.csv are written.
    #[arg(short, long, value_name = "DIR", default_value = "reproduction", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Number of random sets in experiments (a) and (b), and of channel orders in (c). Results are
    /// medians with ranges; the figure has bands between the quartiles.
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// File of matrices for experiment (c) (default: the built-in MEG covariances).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub recording: Option<PathBuf>,
    /// Number of threads of each solve; use 1 for a fair comparison of the methods.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    pub n_jobs: usize,
    /// Maximum number of iterations of each run (sweeps for Pham's method).
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_iter: usize,
    /// Number of matrices in experiments (a) and (b).
    #[arg(short, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub n: usize,
    /// Number of rows and columns of the matrices in experiments (a) and (b).
    #[arg(short, value_name = "P", default_value_t = 40, value_parser = at_least_one)]
    pub p: usize,
}

/// Input files of a set of matrices.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Set of matrices: a .npy array of shape (n, p, p), a .npz or .mat file (p x p x n or n x p x
    /// p, saved with -v7), a folder or a list of .csv or .npy files of one p x p matrix each, or -
    /// for standard input. Complex matrices must be Hermitian; text files write complex numbers
    /// like 1.5-2j.
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub input: Vec<PathBuf>,
    /// Name of the array to read from a .npz or .mat file (required if it has several arrays).
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
  codiag diagonalize big.npy -o result --init b.npy    # continue from the checkpoint
  codiag diagonalize huge.npy -o result --memory 2GB    # larger than memory
  cat covs.npy | codiag diagonalize - -o - > B.npy

Files written to DIR:
  B.npy          filters, one per row
  A.npy          patterns, one per column (B A = I)
  diagonals.npy  power of each component (columns) in each matrix (rows)
  residuals.npy  residual of each matrix; written only if --memory keeps the matrices on disk
  report.json    settings, results and history (see below)
  history.csv    one row per iteration
  report.html    the report for a web browser

Fields of report.json:
  status, converged, n_iter, loss, gradient_norm, condition_number, criterion
                     outcome of the solve; status is converged, max_iter, stalled,
                     interrupted or collinear
  identifiability    the pair of components that is hardest to separate, and its margin
                     (0: not identifiable)
  start_losses       final loss of each start (the default one and those of --n-restarts)
  stability          reproducibility of each component from 0 to 1; null if it was not estimated
  stability_trials   number of resamples and further starts that the stability was estimated from
  B, A, n_components, residuals, history, seconds, warnings, codiag (the version)
  input              name, files, key, complex, matrices (their number), size (rows of each matrix)
  settings           the options of the command, with underscores: method, init, tol, ...
  sample_weight      weight of each matrix; null if the matrices stay on disk

Each output file is written completely or not at all. Symbolic links are followed, and the
permissions of an existing file are kept. Output may also go to a device or a FIFO. A text input
file may be a FIFO of at most 64 MiB, but not a device."
)]
pub struct Diagonalize {
    #[command(flatten)]
    pub source: InputArgs,
    /// Folder to which the results are written; - writes only B, as .npy, to standard output.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// File (.npy or text) with one nonnegative weight per matrix (default: equal weights).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sample_weight: Option<PathBuf>,
    #[command(flatten)]
    pub criterion: CriterionArgs,
    #[command(flatten)]
    pub solver: SolverArgs,
    /// Restrict B to orthogonal matrices (unitary if complex), as for common principal components.
    /// Implied by --criterion frobenius.
    #[arg(long)]
    pub orthogonal: bool,
    /// Number of components: reduce the matrices to the principal subspace of their mean of this
    /// dimension first; "auto" uses the numerical rank of the mean (default: no reduction).
    #[arg(long, value_name = "N|auto", value_parser = parse_rank)]
    pub n_components: Option<Rank>,
    /// Regularization: replace each matrix C by (1 - S) C + S tr(C)/p I first (0 <= S <= 1).
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    pub shrinkage: f64,
    /// Replace each matrix C by (C + C')/2 first, where C' is the conjugate transpose. Use it if
    /// asymmetry comes from rounding, for example to single precision.
    #[arg(long)]
    pub symmetrize: bool,
    /// Approximate memory limit, such as 500MB or 2GB: the matrices of one .npy file are read from
    /// disk in parts if they do not fit (default: keep all matrices in memory).
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<Memory>,
    /// File to which the best B so far is saved, as .npy, during the solve (default: no
    /// checkpoints).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub checkpoint: Option<PathBuf>,
    /// Minimum time between two checkpoints, in seconds.
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = not_negative)]
    pub checkpoint_every: f64,
    /// Print the content of report.json to standard output.
    #[arg(long)]
    pub json: bool,
}

/// The option that selects the criterion.
#[derive(Debug, Args)]
pub struct CriterionArgs {
    /// Function to minimize: likelihood, for positive definite matrices; frobenius, the
    /// off-diagonal energy of B C B' for orthogonal B; least-squares, the residual of the fit of A
    /// L A' with diagonal L to each C. The last two accept indefinite matrices.
    #[arg(long, default_value = "likelihood", value_parser = criteria())]
    pub criterion: Criterion,
}

/// Options of the solver.
#[derive(Debug, Args)]
pub struct SolverArgs {
    /// Optimization method: newton for any criterion; quasi-newton for likelihood and frobenius;
    /// pham and row-wise for likelihood; jacobi for frobenius; acdc, uwedge and ffdiag for
    /// least-squares.
    #[arg(long, default_value = "newton", value_parser = methods())]
    pub method: Method,
    /// Starting point: "spectral", "whitener" (from the eigenvectors of the mean matrix),
    /// "identity", or a .npy or text file with a matrix B, such as a checkpoint.
    #[arg(long, value_name = "NAME|FILE", default_value = "spectral", value_hint = ValueHint::FilePath)]
    pub init: PathBuf,
    /// Tolerance: stop when the gradient norm is at most X.
    #[arg(long, value_name = "X", default_value = "1e-8")]
    pub tol: f64,
    /// Maximum number of iterations.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_iter: usize,
    /// Number of additional starting points; the solution with the lowest loss is kept.
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub n_restarts: usize,
    /// Number of bootstrap resamples used to estimate how reproducible each component is (0: not
    /// estimated; 20 is usually enough).
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub n_resamples: usize,
    /// Order of the components: contrast, how well the criterion separates a component from others
    /// (for covariances: how much its power varies), or stability, how reproducible it is (needs
    /// --n-resamples or --n-restarts).
    #[arg(long, default_value = "contrast", value_parser = orders())]
    pub sort_by: SortBy,
    /// Number of threads (default: chosen automatically). The result does not depend on it.
    #[arg(long, value_name = "N")]
    pub n_jobs: Option<usize>,
}

impl SolverArgs {
    /// Returns the settings of the solver. A starting point that is not a name is read from its
    /// file.
    pub fn settings(&self) -> anyhow::Result<Settings> {
        let named = self.init.to_str().and_then(|name| name.parse().ok());
        let init = if let Some(init) = named {
            init
        } else {
            anyhow::ensure!(
                self.init.exists(),
                "{}: no such file; --init must be spectral, whitener, identity, or a file with a matrix",
                self.init.display()
            );
            crate::input::init_file(&self.init)?
        };
        Ok(Settings::default()
            .method(self.method)
            .init(init)
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

Fields of the JSON output:
  input, complex, criterion, matrices (their number), size (rows of each)
  suitable       whether the matrices can be diagonalized without changes
  not_finite, asymmetric, not_positive_definite
                 indices of matrices with these problems
  largest_asymmetry, smallest_eigenvalue, smallest_rank, mean_rank, median_condition_number,
  largest_condition_number, worst_conditioned (its index), scale_ratio, duplicates
  advice         sentences about each problem

Exit codes: 0 if the matrices can be diagonalized without changes, 2 otherwise."
)]
pub struct Check {
    #[command(flatten)]
    pub source: InputArgs,
    #[command(flatten)]
    pub criterion: CriterionArgs,
    /// Print the result of the check as JSON.
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
    /// Number of matrices.
    #[arg(short, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub n: usize,
    /// Number of rows and columns of each matrix.
    #[arg(short, value_name = "P", default_value_t = 40, value_parser = at_least_one)]
    pub p: usize,
    /// Standard deviation of the noise; 0 gives matrices that can be diagonalized exactly.
    #[arg(long, value_name = "X", default_value_t = 0.1, value_parser = not_negative)]
    pub sigma: f64,
    /// Seed of the random number generator; equal seeds give equal output.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write complex Hermitian matrices, similar to cross-spectra, instead of real ones.
    #[arg(long)]
    pub complex: bool,
    /// Write 100 built-in MEG covariance matrices of these sensors instead of synthetic ones.
    #[arg(long, value_name = "SENSORS", value_parser = ["magnetometers", "gradiometers"],
          conflicts_with_all = ["n", "p", "sigma", "seed", "mixing", "complex"])]
    pub meg: Option<String>,
    /// Write a simulated EEG recording with blinks instead of matrices: 32 channels, 60 s at 250
    /// Hz. Use it with `codiag separate`.
    #[arg(long, conflicts_with_all = ["n", "p", "sigma", "meg", "mixing", "complex"])]
    pub eeg: bool,
    /// Output file (.npy); - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// File to which the true mixing matrix A is written, as .npy (default: not written).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub mixing: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  codiag bench\n  codiag bench --n-jobs 1 --json"
)]
pub struct Bench {
    /// Number of threads (default: chosen automatically).
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub n_jobs: Option<usize>,
    /// Approximate time spent on each size, in seconds.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = not_negative)]
    pub seconds: f64,
    /// Print the results as JSON.
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
        _ => Err("expected \"auto\" or an integer".to_owned()),
    }
}

fn parse_memory(text: &str) -> Result<Memory, String> {
    text.parse()
        .map_err(|error: codiag::Error| error.render(&Flags))
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("expected an integer, at least 1".to_owned()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("expected a number, at least 0".to_owned()),
    }
}
