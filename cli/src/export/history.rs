//! Histories as .csv: one row an iteration.

use std::io::{self, Write};

use codiag::Record;

/// The columns of a history.
pub const COLUMNS: &str =
    "iteration,seconds,loss,gradient_norm,decrement,kind,step,cg_iterations,passes";

/// One row.
pub fn row(record: &Record) -> String {
    format!(
        "{},{:.6e},{:.17e},{:.6e},{:.6e},{},{:.6e},{},{:.3}",
        record.iteration,
        record.seconds,
        record.loss,
        record.gradient_norm,
        record.decrement,
        record.kind.name(),
        record.step,
        record.cg_iterations,
        record.passes
    )
}

/// A whole history.
pub fn history(out: &mut dyn Write, records: &[Record]) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for record in records {
        writeln!(out, "{}", row(record))?;
    }
    Ok(())
}
