//! The commands, one module each, and what they share.

mod bench;
mod check;
mod diagonalize;
mod generate;
mod reproduce;
pub mod result;
pub mod separate;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::CommandFactory;
use codiag::Scalar;

use crate::args::{Cli, Command};
use crate::export;
use crate::session::OutputKind;
use crate::{ExitStatus, Session};

/// Runs a command.
pub fn dispatch(command: Command, session: &mut Session<'_>) -> Result<ExitStatus> {
    match command {
        Command::Reproduce(args) => reproduce::run(&args, session),
        Command::Diagonalize(args) => diagonalize::run(&args, session),
        Command::Separate(args) => separate::run(&args, session),
        Command::Check(args) => check::run(&args, session),
        Command::Generate(args) => generate::run(&args, session),
        Command::Bench(args) => bench::run(&args, session),
        Command::Completions { shell } => {
            // Use a buffer, because the generator panics if a pipe closes early.
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "codiag", &mut text);
            let written = session.out.write_all(&text);
            written.context("standard output cannot be written")?;
            Ok(ExitStatus::Done)
        }
        Command::Man { output: None } => {
            let written = clap_mangen::Man::new(Cli::command()).render(&mut session.out);
            written.context("standard output cannot be written")?;
            Ok(ExitStatus::Done)
        }
        Command::Man { output: Some(path) } => manual_pages(&path),
    }
}

/// Writes one manual page per command into a folder.
fn manual_pages(path: &Path) -> Result<ExitStatus> {
    let mut folder = export::OutputFolder::create(path)?;
    let mut program = Cli::command();
    program.build();
    let pages = std::iter::once(program.clone()).chain(program.get_subcommands().cloned());
    for page in pages {
        let name = page.get_display_name().unwrap_or("codiag").to_owned();
        let page = clap_mangen::Man::new(page);
        folder.add(&format!("{name}.1"), |mut out| page.render(&mut out))?;
    }
    folder.publish()?;
    Ok(ExitStatus::Done)
}

/// Checks that binary data can be written to standard output: it is open and not a terminal.
fn check_output(session: &Session<'_>) -> Result<()> {
    ensure!(
        session.out_kind != OutputKind::Closed,
        "standard output is closed; use -o FILE"
    );
    ensure!(
        session.out_kind != OutputKind::Terminal,
        "standard output is a terminal; use -o FILE, or pipe the output to another program"
    );
    Ok(())
}

/// Writes an array to a .npy file, or to standard output if the path is `-`.
fn write_npy<T: Scalar>(
    session: &mut Session<'_>,
    path: &Path,
    shape: &[usize],
    data: &[T],
) -> Result<()> {
    if path.as_os_str() == "-" {
        check_output(session)?;
        return export::npy::write(session.out, shape, data)
            .context("standard output cannot be written");
    }
    export::check_writable(path)?;
    export::write_file(path, |out| export::npy::write(out, shape, data))
}
