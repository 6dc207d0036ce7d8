//! `codiag check`: what is in a file, whether it can be diagonalized, and what helps if not.

use anyhow::{Context, Result, ensure};
use codiag::error::{Remedy, criteria_for_indefinite};
use codiag::{Criterion, Inspection, Inspector, Scalar, c64};
use serde::Serialize;

use crate::args::Check;
use crate::export;
use crate::input::{self, Matrices};
use crate::number::{Either, is_complex};
use crate::option_names::Flags;
use crate::words::{count, count_matrices, small};
use crate::{Outcome, Session};

/// Condition numbers above this cost digits of the answer.
const ILL_CONDITIONED: f64 = 1e10;
/// Traces that differ by more than this factor are worth a word.
const UNEVEN: f64 = 1e4;

/// What was found, and what helps.
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

/// Looks at a file.
pub fn run(args: &Check, session: &mut Session<'_>) -> Result<Outcome> {
    let criterion = args.criterion.criterion;
    let findings = match input::of_session(&args.source, session)? {
        Either::Real(matrices) => examine(matrices, criterion)?,
        Either::Complex(matrices) => examine(matrices, criterion)?,
    };
    if args.json {
        export::print_json(session.out, &findings)?;
    } else {
        print(&findings, session).context("standard output cannot be written")?;
    }
    Ok(if findings.suitable {
        Outcome::Done
    } else {
        Outcome::Unsuitable
    })
}

fn examine<T: Scalar>(mut matrices: Matrices<'_, T>, criterion: Criterion) -> Result<Findings> {
    let input = matrices.name.clone();
    let mut inspector = Inspector::<T>::new(matrices.p)?;
    let mut some = false;
    for matrix in matrices.by_ref() {
        inspector.add(&matrix?)?;
        some = true;
    }
    ensure!(some, "{input}: no matrices in it");
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

/// What to do about each finding.
fn advice(found: &Inspection, complex: bool, criterion: Criterion) -> Vec<String> {
    let mut advice = Vec::new();
    if !found.not_finite.is_empty() {
        advice.push(format!(
            "NaN or infinite numbers in {}: leave these matrices out, or mend the recording",
            list(&found.not_finite)
        ));
    }
    if !found.asymmetric.is_empty() {
        advice.push(format!(
            "not {}: {}; are they {}? If so, use --symmetrize, which takes (C + C')/2",
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
                format!("the mean itself has only rank {rank}: use --rank auto")
            }
            Remedy::Shrink { shrinkage } => format!(
                "estimated from too few samples? Use --shrinkage {shrinkage:e}, or leave them out"
            ),
            _ => format!(
                "leave them out if they are covariances; for indefinite matrices use {}",
                criteria_for_indefinite(&Flags)
            ),
        };
        advice.push(format!("not positive definite: {singular}; {help}"));
    }
    if let (Some(worst), Some(i)) = (found.largest_condition_number, found.worst_conditioned)
        && worst > ILL_CONDITIONED
        && criterion.requires_definite()
    {
        advice.push(format!(
            "matrix {i} is ill-conditioned ({worst:.0e}): digits are lost; --rank or a little \
             --shrinkage helps"
        ));
    }
    if let Some(ratio) = found.scale_ratio
        && ratio > UNEVEN
    {
        advice.push(format!(
            "the largest trace is {ratio:.0e} times the smallest: {} look for artifacts or mixed units",
            if criterion.requires_definite() {
                "the likelihood is scale-invariant, but"
            } else {
                "the large ones dominate the result;"
            }
        ));
    }
    if let [(second, first), ..] = found.duplicates[..] {
        advice.push(format!(
            "{} equal to an earlier one (matrix {second} is matrix {first}): --weights can count \
             them once",
            count(found.duplicates.len(), "matrix is", "matrices are")
        ));
    }
    if found.matrices == 1 && !criterion.requires_rotations() {
        advice.push(
            "one matrix alone is diagonalized by any whitener: more are needed to find \
                     components"
                .to_owned(),
        );
    }
    advice
}

/// matrix 3, or matrices 3, 5, 8 and 12 more.
fn list(indices: &[usize]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = indices
        .iter()
        .take(SHOWN)
        .map(ToString::to_string)
        .collect();
    let noun = if indices.len() == 1 {
        "matrix"
    } else {
        "matrices"
    };
    let more = match indices.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{noun} {}{more}", shown.join(", "))
}

fn print(findings: &Findings, session: &mut Session<'_>) -> Result<()> {
    let found = &findings.found;
    let paint = session.paint;
    let out = &mut *session.out;
    let number = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), small);
    let matrices = if findings.complex {
        count_matrices::<c64>(found.matrices)
    } else {
        count_matrices::<f64>(found.matrices)
    };
    let p = found.size;
    writeln!(
        out,
        "{}: {matrices} of {p} x {p}",
        paint.bold(&findings.input)
    )?;
    let verdict = |fine: bool| {
        if fine {
            paint.green("yes")
        } else {
            paint.red("no ")
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
        small(found.largest_asymmetry)
    )?;
    writeln!(
        out,
        "  positive definite  {}  (smallest eigenvalue {})",
        verdict(found.not_positive_definite.is_empty()),
        number(found.smallest_eigenvalue)
    )?;
    writeln!(
        out,
        "  rank               {} of {p} for the mean, {} at least for each",
        found.mean_rank, found.smallest_rank
    )?;
    writeln!(
        out,
        "  condition number   {} in the middle, {} at worst",
        number(found.median_condition_number),
        number(found.largest_condition_number)
    )?;
    writeln!(
        out,
        "  scale              traces differ by a factor of {}",
        number(found.scale_ratio)
    )?;
    writeln!(out, "  duplicates         {}", found.duplicates.len())?;
    for advice in &findings.advice {
        writeln!(out, "{} {advice}", paint.yellow("note:"))?;
    }
    if findings.suitable {
        writeln!(out, "{}", paint.green("can be diagonalized as it is"))?;
    } else {
        writeln!(out, "{}", paint.red("cannot be diagonalized as it is"))?;
    }
    Ok(())
}
