//! `codiag check`: describes the matrices of a file, checks that they can be diagonalized, and
//! gives advice if not.

use anyhow::{Context, Result, ensure};
use codiag::error::{Remedy, criteria_for_indefinite};
use codiag::{Criterion, Inspection, Inspector, Scalar, c64};
use serde::Serialize;

use crate::args::Check;
use crate::export;
use crate::format::{count, count_matrices, short};
use crate::input::{self, Matrices};
use crate::number::{Either, is_complex};
use crate::option_names::Flags;
use crate::{ExitStatus, Session};

/// Condition number of a matrix above which advice is given.
const MAX_CONDITION_NUMBER: f64 = 1e10;
/// Ratio of the largest to the smallest trace above which advice is given.
const MAX_TRACE_RATIO: f64 = 1e4;

/// Result of the check.
#[derive(Serialize)]
struct Findings {
    input: String,
    complex: bool,
    criterion: &'static str,
    suitable: bool,
    #[serde(flatten)]
    found: Inspection,
    advice: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Check, session: &mut Session<'_>) -> Result<ExitStatus> {
    let criterion = args.criterion.criterion;
    let findings = match input::open_in_session(&args.source, session)? {
        Either::Real(matrices) => inspect(matrices, criterion)?,
        Either::Complex(matrices) => inspect(matrices, criterion)?,
    };
    if args.json {
        export::print_json(session.out, &findings)?;
    } else {
        print(&findings, session).context("standard output cannot be written")?;
    }
    Ok(if findings.suitable {
        ExitStatus::Done
    } else {
        ExitStatus::BadInput
    })
}

fn inspect<T: Scalar>(mut matrices: Matrices<'_, T>, criterion: Criterion) -> Result<Findings> {
    let input = matrices.name.clone();
    let mut inspector = Inspector::<T>::new(matrices.p)?;
    let mut found_any = false;
    for matrix in matrices.by_ref() {
        inspector.add(&matrix?)?;
        found_any = true;
    }
    ensure!(found_any, "{input}: the input has no matrices");
    let found = inspector.finish()?;
    let complex = is_complex::<T>();
    let advice = advice(&found, complex, criterion);
    Ok(Findings {
        input,
        complex,
        criterion: criterion.name(),
        suitable: found.is_suitable_for(criterion),
        found,
        advice,
    })
}

/// Advice about each problem found.
fn advice(found: &Inspection, complex: bool, criterion: Criterion) -> Vec<String> {
    let mut advice = Vec::new();
    if !found.not_finite.is_empty() {
        advice.push(format!(
            "NaN or infinite numbers in {}: leave these matrices out, or correct the recording",
            list(&found.not_finite)
        ));
    }
    if !found.asymmetric.is_empty() {
        advice.push(format!(
            "not {}: {}; if they should be {}, use --symmetrize, which replaces C by (C + C')/2",
            if complex { "Hermitian" } else { "symmetric" },
            list(&found.asymmetric),
            if complex {
                "cross-spectra"
            } else {
                "covariances"
            }
        ));
    }
    if let Some(power) = found.out_of_range {
        advice.push(format!(
            "the mean of the matrices has a diagonal entry of {power:.0e}: rescale the matrices so that \
             it lies between 1e-250 and 1e250"
        ));
    }
    if let Some(remedy) = found.remedy
        && criterion.requires_definite()
    {
        let singular = list(&found.not_positive_definite);
        let help = match remedy {
            Remedy::Reduce { rank } => {
                format!("the mean of the matrices has only rank {rank}; use --n-components auto")
            }
            Remedy::Shrink { shrinkage } => format!(
                "they may have been estimated from too few samples; use --shrinkage {shrinkage:e}, or leave them out"
            ),
            _ => format!(
                "leave them out if they should be covariances; for indefinite matrices use {}",
                criteria_for_indefinite(&Flags)
            ),
        };
        advice.push(format!("not positive definite: {singular}; {help}"));
    }
    if let (Some(worst), Some(i)) = (found.largest_condition_number, found.worst_conditioned)
        && worst > MAX_CONDITION_NUMBER
        && criterion.requires_definite()
    {
        advice.push(format!(
            "matrix {i} is ill-conditioned (condition number {worst:.0e}), which reduces the accuracy; use \
             --n-components, or a small --shrinkage"
        ));
    }
    if let Some(ratio) = found.scale_ratio
        && ratio > MAX_TRACE_RATIO
    {
        advice.push(format!(
            "the largest trace is {ratio:.0e} times the smallest: {} look for artifacts or mixed units",
            if criterion.requires_definite() {
                "the likelihood does not depend on the scale, but"
            } else {
                "the large ones dominate the result;"
            }
        ));
    }
    if let [(second, first), ..] = found.duplicates[..] {
        advice.push(format!(
            "{} identical to an earlier one (matrix {second} equals matrix {first}); use --sample-weight to \
             count them once",
            count(found.duplicates.len(), "matrix is", "matrices are")
        ));
    }
    if found.matrices == 1 && !criterion.requires_rotations() {
        advice.push(
            "a single matrix does not determine the components; at least two are needed".to_owned(),
        );
    }
    advice
}

/// Lists matrices: matrix 3, or matrices 3, 5, 8 and 12 more.
fn list(indices: &[usize]) -> String {
    const MAX_LISTED: usize = 5;
    let shown: Vec<String> = indices
        .iter()
        .take(MAX_LISTED)
        .map(ToString::to_string)
        .collect();
    let noun = if indices.len() == 1 {
        "matrix"
    } else {
        "matrices"
    };
    let more = match indices.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{noun} {}{more}", shown.join(", "))
}

fn print(findings: &Findings, session: &mut Session<'_>) -> Result<()> {
    let found = &findings.found;
    let colors = session.colors;
    let out = &mut *session.out;
    let number = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), short);
    let matrices = if findings.complex {
        count_matrices::<c64>(found.matrices)
    } else {
        count_matrices::<f64>(found.matrices)
    };
    let p = found.size;
    writeln!(
        out,
        "{}: {matrices} of {p} x {p}",
        colors.bold(&findings.input)
    )?;
    let verdict = |passed: bool| {
        if passed {
            colors.green("yes")
        } else {
            colors.red("no ")
        }
    };
    writeln!(
        out,
        "  finite             {}",
        verdict(found.not_finite.is_empty())
    )?;
    writeln!(
        out,
        "  {}          {}  (asymmetry {})",
        if findings.complex {
            "Hermitian"
        } else {
            "symmetric"
        },
        verdict(found.asymmetric.is_empty()),
        short(found.largest_asymmetry)
    )?;
    writeln!(
        out,
        "  positive definite  {}  (smallest eigenvalue {})",
        verdict(found.not_positive_definite.is_empty()),
        number(found.smallest_eigenvalue)
    )?;
    writeln!(
        out,
        "  rank               mean matrix {} of {p}, minimum over matrices {}",
        found.mean_rank, found.smallest_rank
    )?;
    writeln!(
        out,
        "  condition number   median {}, maximum {}",
        number(found.median_condition_number),
        number(found.largest_condition_number)
    )?;
    writeln!(
        out,
        "  scale              ratio of the largest to the smallest trace {}",
        number(found.scale_ratio)
    )?;
    writeln!(out, "  duplicates         {}", found.duplicates.len())?;
    for advice in &findings.advice {
        writeln!(out, "{} {advice}", colors.yellow("note:"))?;
    }
    if findings.suitable {
        writeln!(out, "{}", colors.green("The matrices can be diagonalized."))?;
    } else {
        writeln!(
            out,
            "{}",
            colors.red("The matrices cannot be diagonalized without changes.")
        )?;
    }
    Ok(())
}
