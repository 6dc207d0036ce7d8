//! The streams a run talks to, and whether people are looking at them.

use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Ctrl-C, where there is nothing yet that would be worth writing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted: nothing was written")
    }
}

impl std::error::Error for Interrupted {}

/// What results are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// A file, a pipe or memory.
    Stream,
    /// A terminal, on which bytes are not to be printed.
    Terminal,
    /// Nothing: the process was started without a standard output.
    Closed,
}

/// The standard output of a process that was started without one.
pub(crate) struct ClosedOutput;

impl Write for ClosedOutput {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("it is closed"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where a run reads from and writes to.
pub struct Session<'a> {
    /// What `-` as an input means.
    pub(crate) input: Box<dyn Read + 'a>,
    /// Results.
    pub(crate) out: &'a mut dyn Write,
    /// Progress, warnings and errors.
    pub(crate) err: &'a mut (dyn Write + Send),
    /// Whether standard error is a terminal of this process, fit for a progress bar.
    pub(crate) live: bool,
    /// What `out` is.
    pub(crate) out_kind: OutputKind,
    /// Colors for people.
    pub(crate) colors: Colors,
    /// Nothing but results and errors.
    pub(crate) quiet: bool,
    interrupted: &'a AtomicBool,
}

impl<'a> Session<'a> {
    /// A session on any streams, without colors or progress bar. Once `interrupted` is true, a
    /// solve ends after its current iteration.
    pub fn new(
        input: impl Read + 'a,
        out: &'a mut dyn Write,
        err: &'a mut (dyn Write + Send),
        interrupted: &'a AtomicBool,
    ) -> Self {
        Self {
            input: Box::new(input),
            out,
            err,
            live: false,
            out_kind: OutputKind::Stream,
            colors: Colors { enabled: false },
            quiet: false,
            interrupted,
        }
    }

    /// The session of this process.
    pub(crate) fn of_process(
        out: &'a mut dyn Write,
        err: &'a mut (dyn Write + Send),
        interrupted: &'a AtomicBool,
    ) -> Self {
        let terminals = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let mut session = Self::new(BufReader::new(io::stdin()), out, err, interrupted);
        if terminals.0 {
            session.out_kind = OutputKind::Terminal;
        }
        session.live = terminals.1;
        // https://no-color.org: any value but the empty one.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        session.colors.enabled = terminals.0 && terminals.1 && !refused;
        session
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// The flag itself, for an observer.
    pub(crate) fn interruption(&self) -> &'a AtomicBool {
        self.interrupted
    }

    /// A remark on standard error, unless `--quiet`.
    pub(crate) fn info(&mut self, text: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        writeln!(self.err, "{text}")
    }

    /// A warning on standard error: also with `--quiet`, for it is about the result.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "{} {text}", self.colors.yellow("warning:"))
    }
}

/// Escape sequences, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colors {
    pub enabled: bool,
}

impl Colors {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.enabled {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }
}
