//! Output common to `diagonalize` and `separate`: warnings, report.json and other files, the
//! summary, the exit code.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use codiag::{Diagonalization, Matrix, Scalar, Status};
use serde_json::{Map, Value, json};

use crate::args::SolverArgs;
use crate::export::{self, OutputFolder, npy};
use crate::format::{self, short};
use crate::number::Number;
use crate::page::solve::{SolveResult, StabilityEstimate};
use crate::page::stability;
use crate::{ExitStatus, Session};

/// Two components are reported as unidentifiable if their margin Γ_ab Γ_ba − 1 is below this value.
const UNIDENTIFIABLE_MARGIN: f64 = 1e-2;
/// Condition number of B above which a warning is printed.
const MAX_CONDITION_NUMBER: f64 = 1e8;

/// Names and texts in which the output of the two commands differs.
pub struct CommandTexts {
    /// Name of the file of the filters, without extension.
    pub filters: &'static str,
    /// Name of the file of the patterns, without extension.
    pub patterns: &'static str,
    /// Option that reduces the number of components.
    pub n_components_option: &'static str,
    /// Description of the results that `-o DIR` saves.
    pub saved_results: &'static str,
    /// Additional advice for a solve that reached the iteration limit; may be empty.
    pub iteration_limit_advice: &'static str,
}

/// A finished solve and what the output needs to know about it.
pub struct FinishedSolve<'a, T = f64> {
    pub texts: &'static CommandTexts,
    pub result: &'a Diagonalization<T>,
    pub seconds: f64,
    pub tol: f64,
    pub warnings: &'a [String],
    /// Folder of the results, if any.
    pub output: Option<&'a Path>,
}

/// Returns the value of `--init` if the error is about it.
pub fn faulty_init_file(solver: &SolverArgs, error: &codiag::Error) -> Option<String> {
    use codiag::Error::{Init, InitShape};
    matches!(error, InitShape { .. } | Init { .. }).then(|| path_text(&solver.init))
}

/// Returns a path as text for JSON and messages. Bytes that are not UTF-8 are replaced.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns warnings about the result. `n_components_option` is the name of the option that reduces
/// the number of components.
pub fn warnings<T: Scalar>(result: &SolveResult<'_, T>, n_components_option: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let rotations = result.criterion.requires_rotations();
    if result.powers.rows() == 1 && !rotations {
        warnings.push(
            "there is only one matrix: it is diagonalized by many different B, and this one is arbitrary"
                .to_owned(),
        );
    } else if let Some((margin, (first, second))) = result.identifiability
        && margin < UNIDENTIFIABLE_MARGIN
    {
        warnings.push(format!(
            "components {} and {} are nearly unidentifiable (margin {}): {}, so any mixture \
             of the two fits as well; only the subspace they span is determined",
            result.name(first),
            result.name(second),
            short(margin),
            if rotations {
                "their diagonal entries are nearly equal in all matrices"
            } else {
                "their powers are nearly proportional over all matrices"
            }
        ));
    }
    warnings.extend(ill_conditioned(result, n_components_option));
    warnings
}

/// Returns the line of the summary about stability, if it was estimated.
pub fn stability_summary<T>(result: &Diagonalization<T>) -> Vec<(String, String)> {
    let found = result.stability.iter();
    found
        .map(|found| {
            (
                "stability".to_owned(),
                stability::summary(&StabilityEstimate::from(found)),
            )
        })
        .collect()
}

/// Returns a warning if some components are nearly linear combinations of others.
pub fn ill_conditioned<T: Scalar>(
    result: &SolveResult<'_, T>,
    n_components_option: &str,
) -> Option<String> {
    let condition_number = result.condition_number;
    (condition_number > MAX_CONDITION_NUMBER).then(|| {
        format!(
            "B is ill-conditioned (condition number {}): some components are nearly linear combinations of \
             others; use fewer components ({})",
            short(condition_number),
            n_components_option
        )
    })
}

/// Builds report.json from the fields of the result and those that the command adds or replaces.
/// Leaves out the powers, which are in diagonals.npy, and also the residuals unless `residuals` is
/// true.
pub fn report<T: Number>(
    result: &mut Diagonalization<T>,
    residuals: bool,
    seconds: f64,
    warnings: &[String],
    command_fields: Map<String, Value>,
) -> Result<Value> {
    // Move large tables out during the serialization instead of serializing and removing them.
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
            ("n_components", json!(result.b.rows())),
            ("seconds", json!(seconds)),
            ("warnings", json!(warnings)),
        ] {
            fields.insert(name.to_owned(), value);
        }
        fields.extend(command_fields);
    }
    Ok(report)
}

impl<T: Scalar> FinishedSolve<'_, T> {
    /// Stages the files that both commands write.
    pub fn stage(&self, folder: &mut OutputFolder, report: &Value) -> Result<()> {
        let (result, texts) = (self.result, self.texts);
        let file = |name: &str| format!("{name}.npy");
        folder.add(&file(texts.filters), |out| npy::matrix(out, &result.b))?;
        folder.add(&file(texts.patterns), |out| npy::matrix(out, &result.a))?;
        // The powers of a set on disk may not have fitted into memory.
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

    /// Prints a summary: the input and its size, the outcome of the solve, additional lines, and
    /// the folder of the results.
    pub fn summarize(
        &self,
        (input, size): (&str, &str),
        additional: &[(String, String)],
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
        lines.extend_from_slice(additional);
        if let Some(path) = self.output {
            lines.push(("written to".to_owned(), path.display().to_string()));
        }
        let write = |out: &mut dyn Write| -> io::Result<()> {
            writeln!(out, "{}: {size}", colors.bold(input))?;
            for (name, value) in &lines {
                writeln!(out, "  {name:13}  {value}")?;
            }
            if self.output.is_none() {
                let results = self.texts.saved_results;
                writeln!(out, "  Nothing was saved; use -o DIR to save {results}.")?;
            }
            Ok(())
        };
        write(session.out).context("standard output cannot be written")
    }

    /// Returns the exit status, and prints a warning if the solve did not converge.
    pub fn conclude(&self, session: &mut Session<'_>) -> Result<ExitStatus> {
        let result = self.result;
        let norm = short(result.gradient_norm);
        let iterations = format::count(result.n_iter, "iteration", "iterations");
        if result.status == Status::Interrupted && session.is_interrupted() {
            let saved = match self.output {
                Some(path) => format!("the best B so far was saved to {}", path.display()),
                None => "nothing was saved, because there is no -o DIR".to_owned(),
            };
            session.warn(&format!(
                "interrupted after {iterations}: {saved} (gradient norm {norm})"
            ))?;
            return Ok(ExitStatus::Interrupted);
        }
        if result.status.is_converged() {
            return Ok(ExitStatus::Done);
        }
        let advice = match result.status {
            Status::MaxIter => format!(
                "{}increase --max-iter, or continue from {}.npy with --init",
                self.texts.iteration_limit_advice, self.texts.filters
            ),
            Status::Collinear => "some columns of A have become linearly dependent; use fewer components, or another \
                  criterion".to_owned(),
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
    fn only_errors_about_init_name_its_file() {
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
        let faulty = |error: &Error| faulty_init_file(&solver, error);
        assert_eq!(faulty(&Error::Init { problem }).unwrap(), "b.npy");
        // A starting point that cannot be computed is not an error of --init.
        assert_eq!(faulty(&Error::NoEigenvalues), None);
    }
}
