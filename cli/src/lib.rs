//! The program `codiag` as a library. [`run`] takes the arguments and the streams and returns the
//! exit code. It does not end the process or install signal handlers, so that both the binary and
//! the Python package can call it.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use codiag_cli::{Session, run};
//!
//! let interrupted = AtomicBool::new(false);
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let mut session = Session::new(&b""[..], &mut out, &mut err, &interrupted);
//! assert_eq!(run(["codiag", "generate", "-n", "5", "-p", "3"], &mut session), 0);
//! drop(session);
//! assert!(out.starts_with(b"\x93NUMPY"));
//! ```

// Pages and figures are built a few times per run, so allocations do not matter.
#![allow(clippy::format_push_string, clippy::format_collect)]

mod args;
mod commands;
mod cpu;
mod error_messages;
mod export;
mod figure;
mod format;
mod input;
mod number;
mod option_names;
mod page;
mod progress;
pub mod report;
mod reproduction;
mod session;
mod source_view;

use std::ffi::OsString;
use std::io;
use std::iter;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Parser;

pub use export::atomic_write::{check_writable, copy_atomically, write_atomically};
use page::provenance::command_line;
pub use session::Session;

/// Exit code of a solve that did not converge.
pub const NOT_CONVERGED: i32 = 1;
/// Exit code for invalid input.
pub const BAD_INPUT: i32 = 2;
/// Exit code after an interruption by Ctrl-C.
pub const INTERRUPTED: i32 = 130;

/// Outcome of a command that did not return an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExitStatus {
    Done,
    NotConverged,
    BadInput,
    Interrupted,
}

impl ExitStatus {
    fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::NotConverged => NOT_CONVERGED,
            Self::BadInput => BAD_INPUT,
            Self::Interrupted => INTERRUPTED,
        }
    }
}

/// Runs the program on the streams of this process. Set `interrupted` from a signal handler to stop
/// a solve. `closed_output` is true if the process was started without a standard output, for which
/// Rust's library substitutes a stream that discards everything without an error.
pub fn run_in_process<T: Into<OsString> + Clone>(
    args: impl IntoIterator<Item = T>,
    closed_output: bool,
    interrupted: &AtomicBool,
) -> i32 {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr());
    let mut closed = session::ClosedOutput;
    let out: &mut dyn io::Write = if closed_output { &mut closed } else { &mut out };
    let mut session = Session::for_process(out, &mut err, interrupted);
    if closed_output {
        session.out_kind = session::OutputKind::Closed;
    }
    run(args, &mut session)
}

/// Runs the program. The first of `args` is the name of the program. Returns the exit code: 0 for
/// success, 1 for a solve that did not converge, 2 for invalid input, 130 after Ctrl-C.
pub fn run<T: Into<OsString> + Clone>(
    args: impl IntoIterator<Item = T>,
    session: &mut Session<'_>,
) -> i32 {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let arguments = args.iter().skip(1);
    let arguments = arguments.map(|text| text.to_string_lossy().into_owned());
    session.command = command_line(iter::once("codiag".to_owned()).chain(arguments));
    let outcome = match args::Cli::try_parse_from(args) {
        Ok(cli) => {
            session.quiet = cli.quiet;
            commands::dispatch(cli.command, session)
        }
        Err(error) => help_or_usage_error(&error, session),
    };
    // A full disk may be reported only when the stream is flushed.
    let flushed = session.out.flush();
    let outcome = match flushed {
        Err(error) if outcome.is_ok() && error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written")
        }
        _ => outcome,
    };
    match outcome {
        Ok(status) => status.code(),
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) if error.is::<session::Interrupted>() => {
            let _ = session.warn(&session::Interrupted.to_string());
            INTERRUPTED
        }
        Err(error) => {
            let message = session.colors.red("error:");
            let _ = writeln!(
                session.err,
                "{message} {}",
                error_messages::one_line(&error)
            );
            BAD_INPUT
        }
    }
}

/// Prints the text of `--help` and `--version`; returns a usage error as one line.
fn help_or_usage_error(
    error: &clap::Error,
    session: &mut Session<'_>,
) -> anyhow::Result<ExitStatus> {
    let rendered = error.render();
    if !error.use_stderr() {
        let written = if session.colors.enabled {
            write!(session.out, "{}", rendered.ansi())
        } else {
            write!(session.out, "{rendered}")
        };
        written.context("standard output cannot be written")?;
        return Ok(ExitStatus::Done);
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        write!(session.err, "{rendered}")?;
        return Ok(ExitStatus::BadInput);
    }
    let text = rendered.to_string();
    let sentence: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:"))
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .map(|line| line.trim_start_matches("error: "))
        .collect();
    anyhow::bail!("{}; see codiag --help", sentence.join(" "))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
