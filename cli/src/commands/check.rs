//! `codiag check`: what is in a file, whether it can be diagonalised, and what helps if not.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use anyhow::{Result, ensure};
use codiag::Matrix;
use serde::Serialize;

use crate::args::Check;
use crate::export;
use crate::input::Matrices;
use crate::words::{count, median, small};
use crate::{Outcome, Session};

/// The asymmetry taken for rounding, as in the library.
const ASYMMETRY: f64 = 1e-8;
/// Eigenvalues of the mean's correlations below this share of the largest are rounding, as in the
/// library.
const RANK_TOLERANCE: f64 = 1e-11;
/// Condition numbers above this cost digits of the answer.
const ILL_CONDITIONED: f64 = 1e10;
/// Traces that differ by more than this factor are worth a word.
const UNEVEN: f64 = 1e4;

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Findings {
    input: String,
    matrices: usize,
    size: usize,
    /// Can it be diagonalised as it is?
    suitable: bool,
    not_finite: Vec<usize>,
    asymmetric: Vec<usize>,
    largest_asymmetry: f64,
    not_positive_definite: Vec<usize>,
    smallest_eigenvalue: Option<f64>,
    smallest_rank: usize,
    mean_rank: usize,
    median_condition_number: Option<f64>,
    largest_condition_number: Option<f64>,
    worst_conditioned: Option<usize>,
    /// The largest trace divided by the smallest.
    scale_ratio: Option<f64>,
    /// Pairs of equal matrices: the second and the first.
    duplicates: Vec<(usize, usize)>,
    advice: Vec<String>,
}

/// Looks at a file.
pub fn run(args: &Check, session: &mut Session<'_>) -> Result<Outcome> {
    let findings = examine(Matrices::of_session(&args.source, session)?)?;
    if args.json {
        export::print_json(session.out, &findings)?;
    } else {
        print(&findings, session)?;
    }
    Ok(if findings.suitable {
        Outcome::Done
    } else {
        Outcome::Unsuitable
    })
}

fn examine(mut matrices: Matrices<'_>) -> Result<Findings> {
    let p = matrices.p;
    let mut found = Findings {
        input: matrices.name.clone(),
        size: p,
        smallest_rank: p,
        ..Findings::default()
    };
    let mut mean = Matrix::zeros(p, p);
    let (mut traces, mut conditions) = (Vec::new(), Vec::new());
    let mut seen: HashMap<u64, usize> = HashMap::new();
    for (i, matrix) in matrices.by_ref().enumerate() {
        let matrix = Matrix::from_rows(p, p, matrix?);
        found.matrices += 1;
        if !matrix.is_finite() {
            found.not_finite.push(i);
            continue;
        }
        let mut hasher = DefaultHasher::new();
        matrix
            .as_slice()
            .iter()
            .for_each(|x| x.to_bits().hash(&mut hasher));
        match seen.get(&hasher.finish()) {
            Some(first) => found.duplicates.push((i, *first)),
            None => drop(seen.insert(hasher.finish(), i)),
        }
        let asymmetry = asymmetry(&matrix);
        found.largest_asymmetry = found.largest_asymmetry.max(asymmetry);
        if asymmetry > ASYMMETRY {
            found.asymmetric.push(i);
            continue;
        }
        for (sum, x) in mean.as_mut_slice().iter_mut().zip(matrix.as_slice()) {
            *sum += x;
        }
        traces.push((0..p).map(|a| matrix[(a, a)]).sum::<f64>());
        let eigenvalues = matrix.symmetric_eigenvalues().unwrap_or_default();
        let (Some(&low), Some(&high)) = (eigenvalues.first(), eigenvalues.last()) else {
            found.not_positive_definite.push(i);
            continue;
        };
        found.smallest_eigenvalue = Some(found.smallest_eigenvalue.map_or(low, |x| x.min(low)));
        let rank = eigenvalues
            .iter()
            .filter(|x| **x > RANK_TOLERANCE * high)
            .count();
        found.smallest_rank = found.smallest_rank.min(rank);
        if is_definite(&matrix) {
            conditions.push((high / low.max(f64::MIN_POSITIVE), i));
        } else {
            found.not_positive_definite.push(i);
        }
    }
    ensure!(found.matrices > 0, "{}: no matrices in it", found.input);
    found.mean_rank = rank_of_correlations(&mean);
    if let Some(&(worst, i)) = conditions.iter().max_by(|x, y| x.0.total_cmp(&y.0)) {
        found.largest_condition_number = Some(worst);
        found.worst_conditioned = Some(i);
        let all: Vec<f64> = conditions.iter().map(|(c, _)| *c).collect();
        found.median_condition_number = Some(median(&all));
    }
    let extremes = traces
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), t| {
            (low.min(*t), high.max(*t))
        });
    found.scale_ratio = (extremes.0 > 0.0).then(|| extremes.1 / extremes.0);
    found.suitable = found.not_finite.is_empty()
        && found.asymmetric.is_empty()
        && found.not_positive_definite.is_empty();
    found.advice = advice(&found);
    Ok(found)
}

/// max |C_ab − C_ba| / max |C|.
fn asymmetry(matrix: &Matrix) -> f64 {
    let (mut largest, mut difference) = (0.0_f64, 0.0_f64);
    for a in 0..matrix.rows() {
        for b in 0..=a {
            largest = largest.max(matrix[(a, b)].abs()).max(matrix[(b, a)].abs());
            difference = difference.max((matrix[(a, b)] - matrix[(b, a)]).abs());
        }
    }
    if largest > 0.0 {
        difference / largest
    } else {
        0.0
    }
}

/// By Cholesky pivots, as the library decides it: scaling rows and columns changes nothing.
fn is_definite(matrix: &Matrix) -> bool {
    let p = matrix.rows();
    let floor = p as f64 * f64::EPSILON;
    let mut factor = matrix.clone();
    for a in 0..p {
        for b in 0..a {
            let dot: f64 = (0..b).map(|k| factor[(a, k)] * factor[(b, k)]).sum();
            factor[(a, b)] = (factor[(a, b)] - dot) / factor[(b, b)];
        }
        let square: f64 = factor.row(a)[..a].iter().map(|x| x * x).sum();
        let pivot = matrix[(a, a)] - square;
        // Written so that NaN is not definite either.
        if !(matrix[(a, a)] > 0.0 && pivot > floor * matrix[(a, a)]) {
            return false;
        }
        factor[(a, a)] = pivot.sqrt();
    }
    true
}

fn rank_of_correlations(mean: &Matrix) -> usize {
    let scale = |a: usize| {
        let power = mean[(a, a)];
        if power > 0.0 { 1.0 / power.sqrt() } else { 0.0 }
    };
    let p = mean.rows();
    let correlations = Matrix::from_fn(p, p, |a, b| mean[(a, b)] * scale(a) * scale(b));
    let values = correlations.symmetric_eigenvalues().unwrap_or_default();
    let largest = values.last().copied().unwrap_or(0.0);
    values
        .iter()
        .filter(|v| **v > RANK_TOLERANCE * largest)
        .count()
}

/// What to do about each finding.
fn advice(found: &Findings) -> Vec<String> {
    let mut advice = Vec::new();
    if !found.not_finite.is_empty() {
        advice.push(format!(
            "NaN or infinite numbers in {}: leave these matrices out, or mend the recording",
            list(&found.not_finite)
        ));
    }
    if !found.asymmetric.is_empty() {
        advice.push(format!(
            "not symmetric: {}; are they covariances? If so, take (C + C')/2",
            list(&found.asymmetric)
        ));
    }
    if !found.not_positive_definite.is_empty() {
        let singular = list(&found.not_positive_definite);
        if found.mean_rank < found.size {
            advice.push(format!(
                "not positive definite: {singular}; the mean itself has only rank {}: use --rank auto",
                found.mean_rank
            ));
        } else {
            advice.push(format!(
                "not positive definite: {singular}; estimated from too few samples? Use --shrinkage 1e-3, \
                 or leave them out"
            ));
        }
    }
    if let (Some(worst), Some(i)) = (found.largest_condition_number, found.worst_conditioned)
        && worst > ILL_CONDITIONED
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
            "the largest trace is {ratio:.0e} times the smallest: the loss does not mind, but look \
             for artefacts or mixed units"
        ));
    }
    if let [(second, first), ..] = found.duplicates[..] {
        advice.push(format!(
            "{} equal to an earlier one (matrix {second} is matrix {first}): --weights can count \
             them once",
            count(found.duplicates.len(), "matrix is", "matrices are")
        ));
    }
    if found.matrices == 1 {
        advice.push(
            "one matrix alone is diagonalised by any whitener: more are needed to find \
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

fn print(found: &Findings, session: &mut Session<'_>) -> Result<()> {
    let paint = session.paint;
    let out = &mut *session.out;
    let number = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), small);
    let matrices = count(found.matrices, "matrix", "matrices");
    let p = found.size;
    writeln!(out, "{}: {matrices} of {p} x {p}", paint.bold(&found.input))?;
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
        "  symmetric          {}  (asymmetry {})",
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
    for advice in &found.advice {
        writeln!(out, "{} {advice}", paint.yellow("note:"))?;
    }
    if found.suitable {
        writeln!(out, "{}", paint.green("can be diagonalised as it is"))?;
    } else {
        writeln!(out, "{}", paint.red("cannot be diagonalised as it is"))?;
    }
    Ok(())
}
