//! Streams of a run, and whether they are terminals.

use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Error of a run that Ctrl-C ended before there were results to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted: nothing was written")
    }
}

impl std::error::Error for Interrupted {}

/// Kind of the output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// A file, a pipe or memory.
    Stream,
    /// A terminal, to which binary data must not be written.
    Terminal,
    /// Closed: the process was started without a standard output.
    Closed,
}

/// Replaces the standard output of a process that was started without one. Writing fails.
pub(crate) struct ClosedOutput;

impl Write for ClosedOutput {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the stream is closed"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Input and output streams of a run, with its interruption flag.
pub struct Session<'a> {
    /// Stream that is read for the input `-`.
    pub(crate) input: Box<dyn Read + 'a>,
    /// Stream of results.
    pub(crate) out: &'a mut dyn Write,
    /// Stream of progress, warnings and errors.
    pub(crate) err: &'a mut (dyn Write + Send),
    /// Whether standard error is a terminal, which can show a progress bar.
    pub(crate) live: bool,
    /// Kind of `out`.
    pub(crate) out_kind: OutputKind,
    /// Colors of messages.
    pub(crate) colors: Colors,
    /// Whether progress is suppressed (`--quiet`).
    pub(crate) quiet: bool,
    /// Command line, for reports.
    pub(crate) command: String,
    interrupted: &'a AtomicBool,
}

impl<'a> Session<'a> {
    /// Returns a session on any streams, without colors and progress bar. A solve ends after its
    /// current iteration once `interrupted` is true.
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
            command: String::new(),
            interrupted,
        }
    }

    /// Returns the session of this process.
    pub(crate) fn for_process(
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
        // https://no-color.org: colors are off if the variable is not empty.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        session.colors.enabled = terminals.0 && terminals.1 && !no_color;
        session
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Returns the flag that Ctrl-C sets.
    pub(crate) fn interrupt_flag(&self) -> &'a AtomicBool {
        self.interrupted
    }

    /// Prints a message on standard error, unless `--quiet`.
    pub(crate) fn info(&mut self, text: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        writeln!(self.err, "{text}")
    }

    /// Prints a warning on standard error, even with `--quiet`.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "{} {text}", self.colors.yellow("warning:"))
    }
}

/// Adds escape sequences for colors, if enabled.
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
