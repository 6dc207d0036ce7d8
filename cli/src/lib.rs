//! The program `codiag`, as a library: [`run`] takes the arguments and the streams, and returns the
//! exit code. It neither ends the process nor installs signal handlers, so that the binary and the
//! Python package can both call it.
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

// Pages and figures are built as text, a few times in each run: clarity before an allocation saved.
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
mod reproduction;
mod session;
mod source_view;

use std::ffi::OsString;
use std::io;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Parser;

pub use export::atomic_write::{check_writable, copy_atomically, write_atomically};
pub use session::Session;

/// The exit code of a solve that did not converge.
pub const NOT_CONVERGED: i32 = 1;
/// The exit code for bad input.
pub const BAD_INPUT: i32 = 2;
/// The exit code after Ctrl-C.
pub const INTERRUPTED: i32 = 130;

/// How a command ended, if not by an error.
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

/// Runs the program on the streams of this process. `interrupted` is looked at during solves: set
/// it from a signal handler. `closed_output` says that the process was started without a standard
/// output: what Rust's library puts in its place discards everything without an error.
pub fn run_in_process<T: Into<OsString> + Clone>(
    args: impl IntoIterator<Item = T>,
    closed_output: bool,
    interrupted: &AtomicBool,
) -> i32 {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr());
    let mut closed = session::ClosedOutput;
    let out: &mut dyn io::Write = if closed_output { &mut closed } else { &mut out };
    let mut session = Session::of_process(out, &mut err, interrupted);
    if closed_output {
        session.out_kind = session::OutputKind::Closed;
    }
    run(args, &mut session)
}

/// Runs the program: `args` begin with the program's name. Returns the exit code: 0, 1 for a solve
/// that did not converge, 2 for bad input, 130 after Ctrl-C.
pub fn run<T: Into<OsString> + Clone>(
    args: impl IntoIterator<Item = T>,
    session: &mut Session<'_>,
) -> i32 {
    let ended = match args::Cli::try_parse_from(args) {
        Ok(cli) => {
            session.quiet = cli.quiet;
            commands::dispatch(cli.command, session)
        }
        Err(error) => help_or_usage_error(&error, session),
    };
    // A full disk may be noticed only now.
    let flushed = session.out.flush();
    let ended = match flushed {
        Err(error) if ended.is_ok() && error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written")
        }
        _ => ended,
    };
    match ended {
        Ok(outcome) => outcome.code(),
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) if error.is::<session::Interrupted>() => {
            let _ = session.warn(&session::Interrupted.to_string());
            INTERRUPTED
        }
        Err(error) => {
            let message = session.colors.red("error:");
            let _ = writeln!(session.err, "{message} {}", error_messages::line(&error));
            BAD_INPUT
        }
    }
}

/// `--help` and `--version` are answers; anything else is a usage error on one line.
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
