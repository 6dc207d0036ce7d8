//! What `diagonalize` and `separate` do with their answers: warnings, report.json and the other
//! files, the summary, the exit code.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use codiag::{Diagonalization, Matrix, Scalar, Status};
use serde_json::{Map, Value, json};

use crate::args::SolverArgs;
use crate::export::{self, OutputFolder, npy};
use crate::format::{self, short};
use crate::number::Number;
use crate::page::stability;
use crate::{ExitStatus, Session};

/// Γ_ab Γ_ba − 1 below this: two components are hardly told apart.
const UNIDENTIFIABLE_MARGIN: f64 = 1e-2;
/// Condition numbers of B above this cost digits.
const ILL_CONDITIONED: f64 = 1e8;

/// What a command calls the parts of an result.
pub struct Names {
    /// The file of the filters, without its ending.
    pub filters: &'static str,
    /// The file of the patterns, without its ending.
    pub patterns: &'static str,
    /// The option that asks for fewer dimensions.
    pub fewer: &'static str,
    /// What -o DIR would have written.
    pub contents: &'static str,
    /// What else helps a solve that needs too many iterations.
    pub helps: &'static str,
}

/// A solve that has ended, and what is told of it.
pub struct FinishedSolve<'a, T = f64> {
    pub names: &'static Names,
    pub result: &'a Diagonalization<T>,
    pub seconds: f64,
    pub tol: f64,
    pub warnings: &'a [String],
    /// The folder of the results.
    pub output: Option<&'a Path>,
}

/// The start, if that is what is wrong.
pub fn faulty_init_file(solver: &SolverArgs, error: &codiag::Error) -> Option<String> {
    use codiag::Error::{Init, InitShape};
    matches!(error, InitShape { .. } | Init { .. }).then(|| text(&solver.init))
}

/// A path as text, for JSON and messages. Bytes that are not UTF-8 are replaced.
pub fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What the result's user should know, in plain words.
pub fn warnings<T: Scalar>(result: &Diagonalization<T>, names: &Names) -> Vec<String> {
    let mut warnings = Vec::new();
    let rotations = result.criterion.requires_rotations();
    if result.powers.rows() == 1 && !rotations {
        warnings.push(
            "there is only one matrix: many bases diagonalize it, and this one is arbitrary"
                .to_owned(),
        );
    } else if let Some(found) = result.identifiability
        && found.margin < UNIDENTIFIABLE_MARGIN
    {
        let (first, second) = found.pair;
        warnings.push(format!(
            "components {first} and {second} are nearly unidentifiable (margin {}): {}, so any mixture \
             of the two fits as well; only the subspace they span is determined",
            short(found.margin),
            if rotations {
                "their diagonal entries are almost the same in all matrices"
            } else {
                "their powers rise and fall together over the set"
            }
        ));
    }
    warnings.extend(ill_conditioned(result, names));
    warnings
}

/// A line of the summary: how many components come again, if that was tried.
pub fn stability_summary<T>(result: &Diagonalization<T>) -> Vec<(String, String)> {
    let found = result.stability.iter();
    found
        .map(|found| ("stability".to_owned(), stability::summary(found)))
        .collect()
}

/// Whether some components are nearly combinations of others.
pub fn ill_conditioned<T: Scalar>(result: &Diagonalization<T>, names: &Names) -> Option<String> {
    let condition_number = result.condition_number();
    (condition_number > ILL_CONDITIONED).then(|| {
        format!(
            "B is ill-conditioned ({}): some components are nearly combinations of others; fewer \
             dimensions ({}) may serve better",
            short(condition_number),
            names.fewer
        )
    })
}

/// report.json: the fields of the result, and those that the command adds or replaces. The powers
/// are left out, as they have a file of their own; so are the residuals, unless they are wanted.
pub fn report<T: Number>(
    result: &mut Diagonalization<T>,
    residuals: bool,
    seconds: f64,
    warnings: &[String],
    own: Map<String, Value>,
) -> Result<Value> {
    // Tables of one row per matrix are not copied only to be left out.
    let powers = std::mem::replace(&mut result.powers, Matrix::zeros(0, 0));
    let kept = (!residuals).then(|| std::mem::take(&mut result.residuals));
    let fields = serde_json::to_value(&*result);
    result.powers = powers;
    if let Some(kept) = kept {
        result.residuals = kept;
    }
    let mut report = fields?;
    if let Value::Object(fields) = &mut report {
        fields.remove("powers");
        if !residuals {
            fields.insert("residuals".to_owned(), Value::Null);
        }
        for (name, value) in [
            ("codiag", json!(env!("CARGO_PKG_VERSION"))),
            ("components", json!(result.b.rows())),
            ("seconds", json!(seconds)),
            ("warnings", json!(warnings)),
        ] {
            fields.insert(name.to_owned(), value);
        }
        fields.extend(own);
    }
    Ok(report)
}

impl<T: Scalar> FinishedSolve<'_, T> {
    /// Stages the files that both commands write.
    pub fn stage(&self, folder: &mut OutputFolder, report: &Value) -> Result<()> {
        let (result, names) = (self.result, self.names);
        let file = |name: &str| format!("{name}.npy");
        folder.add(&file(names.filters), |out| npy::matrix(out, &result.b))?;
        folder.add(&file(names.patterns), |out| npy::matrix(out, &result.a))?;
        // A set on disk may have left them out.
        if result.powers.rows() > 0 {
            folder.add("diagonals.npy", |out| npy::matrix(out, &result.powers))?;
        }
        folder.add("report.json", |out| export::json(out, report))?;
        folder.add("history.csv", |out| {
            export::history::write(out, &result.history)
        })
    }

    /// Prints the warnings.
    pub fn warn(&self, session: &mut Session<'_>) -> io::Result<()> {
        self.warnings
            .iter()
            .try_for_each(|warning| session.warn(warning))
    }

    /// Prints a few lines: the input and its size, how the solve went, what else is to be remarked,
    /// and where the results are.
    pub fn summarize(
        &self,
        (input, size): (&str, &str),
        remarks: &[(String, String)],
        session: &mut Session<'_>,
    ) -> Result<()> {
        let (colors, result) = (session.colors, self.result);
        let status = if result.status.is_converged() {
            colors.green(result.status.name())
        } else {
            colors.red(result.status.name())
        };
        let mut lines = vec![
            ("status".to_owned(), status),
            ("iterations".to_owned(), result.n_iter.to_string()),
            ("time".to_owned(), format::seconds(self.seconds)),
            (
                "loss".to_owned(),
                format::loss(result.loss, 9) + format::loss_unit(result.criterion),
            ),
            (
                "gradient norm".to_owned(),
                format!("{:.1e}", result.gradient_norm),
            ),
        ];
        lines.extend_from_slice(remarks);
        if let Some(path) = self.output {
            lines.push(("written to".to_owned(), path.display().to_string()));
        }
        let write = |out: &mut dyn Write| -> io::Result<()> {
            writeln!(out, "{}: {size}", colors.bold(input))?;
            for (name, value) in &lines {
                writeln!(out, "  {name:13}  {value}")?;
            }
            if self.output.is_none() {
                let contents = self.names.contents;
                writeln!(out, "  nothing written: -o DIR writes {contents}")?;
            }
            Ok(())
        };
        write(session.out).context("standard output cannot be written")
    }

    /// The exit code, and a line for those who did not look at the status.
    pub fn conclude(&self, session: &mut Session<'_>) -> Result<ExitStatus> {
        let result = self.result;
        let norm = short(result.gradient_norm);
        let iterations = format::count(result.n_iter, "iteration", "iterations");
        if result.status == Status::Interrupted && session.is_interrupted() {
            let place = match self.output {
                Some(path) => format!("the best B so far is in {}", path.display()),
                None => "there was no -o DIR to write the best B to".to_owned(),
            };
            session.warn(&format!(
                "interrupted after {iterations}: {place} (gradient norm {norm})"
            ))?;
            return Ok(ExitStatus::Interrupted);
        }
        if result.status.is_converged() {
            return Ok(ExitStatus::Done);
        }
        let advice = match result.status {
            Status::MaxIter => format!(
                "{}raise --max-iter, or start again from {}.npy with --start",
                self.names.helps, self.names.filters
            ),
            _ => "the gradient cannot be reduced further in double precision; increase --tol to accept this \
                  result".to_owned(),
        };
        session.warn(&format!(
            "not converged ({}): gradient norm {norm} after {iterations}, tolerance {}; {advice}",
            result.status,
            short(self.tol)
        ))?;
        Ok(ExitStatus::NotConverged)
    }
}

#[cfg(test)]
mod tests {
    use codiag::Error;
    use codiag::error::InitProblem;

    use super::*;

    #[test]
    fn only_a_given_start_is_blamed() {
        let solver = SolverArgs {
            method: codiag::Method::Newton,
            init: "b.npy".into(),
            tol: 1e-8,
            max_iter: 10,
            n_restarts: 0,
            n_resamples: 0,
            sort_by: codiag::SortBy::Contrast,
            n_jobs: None,
        };
        let problem = InitProblem::Singular;
        let blamed = |error: &Error| faulty_init_file(&solver, error);
        assert_eq!(blamed(&Error::Init { problem }).unwrap(), "b.npy");
        // A start that cannot be made is no fault of the option's.
        assert_eq!(blamed(&Error::NoEigenvalues), None);
    }
}
