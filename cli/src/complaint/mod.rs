//! What is wrong, in the program's own words: the library says which setting, matrix or file as
//! data, and here it becomes a sentence with the names of options, and with advice.
//!
//! Errors travel as they are; they are put in words once, where they are printed.

use std::io;

use codiag::Error;
use codiag::error::{
    Conflict, Expected, MemoryRemedy, Portion, Remedy, Setting, StartProblem, asymmetric_entries,
    memory_shortage,
};
use codiag::npy::NpyError;

/// An error with all that was said about where it happened, on one line.
pub fn line(error: &anyhow::Error) -> String {
    let mut parts = Vec::new();
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<Error>() {
            // Its sentence has its own causes in it.
            parts.push(sentence(error));
            break;
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            parts.push(reason(error));
            break;
        }
        parts.push(cause.to_string());
    }
    // Scripts and people both read the last line.
    parts.join(": ").replace('\n', " ")
}

/// An error of the library. Sentences that name nothing a user of the program would not know are
/// the library's own.
pub fn sentence(error: &Error) -> String {
    match error {
        Error::Asymmetric {
            matrix,
            row,
            column,
            asymmetry,
            complex,
        } => format!(
            "matrix {matrix} is not {} of the largest entry, and at most 1e-8 is taken as rounding; if it is a \
             {}, --symmetrize takes (C + C')/2",
            asymmetric_entries(*complex, *row, *column, *asymmetry),
            if *complex {
                "cross-spectrum"
            } else {
                "covariance"
            }
        ),
        Error::NotPositiveDefinite {
            matrix,
            eigenvalue,
            remedy,
        } => {
            let which = matrix.map_or_else(
                || "the mean of the matrices".to_owned(),
                |i| format!("matrix {i}"),
            );
            format!(
                "{which} is not positive definite: its smallest eigenvalue is {eigenvalue:.3e}; {}",
                advice(*remedy)
            )
        }
        Error::StartShape {
            expected: (r, p),
            rows,
            columns,
        } => format!("the start must be {r} x {p}, got {rows} x {columns}"),
        Error::Start { problem } => match problem {
            StartProblem::NotOrthogonal => {
                "the start must be orthogonal (if complex, unitary), as --orthogonal asks, but it is not"
                    .to_owned()
            }
            StartProblem::Complex => {
                "the start must be real, as the matrices are, but it is complex".to_owned()
            }
            problem => {
                format!("the start must be finite and invertible, but it is {problem}")
            }
        },
        Error::Setting {
            setting,
            expected,
            value,
        } => {
            let choices = choices(*setting, *expected);
            format!("{} must be {choices}, got {value}", option(*setting))
        }
        Error::Conflict(conflict) => contradiction(*conflict),
        Error::Method { criterion, method } => format!(
            "--criterion {} has the methods {}, not --method {}",
            criterion.name(),
            codiag::error::methods(*criterion),
            method.name()
        ),
        Error::SampleNotFinite {
            channel,
            sample,
            value,
        } => format!(
            "channel {channel}, sample {sample} is {value}, not a finite number: mend the recording, or \
             leave that part out of it"
        ),
        Error::TooFewSamples {
            portion,
            samples,
            dimension,
            needed,
        } => format!(
            "{portion} has {samples} {}, but a {dimension} x {dimension} matrix needs at least {needed}: {}, \
             ask for at most {} components (--components), or for --shrinkage",
            portion.unit(),
            larger(*portion),
            dimension.saturating_sub(needed - samples)
        ),
        Error::Memory { smallest, given } => format!(
            "--memory must be at least {smallest} for matrices of this size, got {given}"
        ),
        Error::OutOfMemory { .. } => out_of_memory(error),
        Error::Io(error) => format!("cannot be read: {}", reason(error.get())),
        Error::Npy(NpyError::HeaderTruncated) => {
            "the file is too short for a .npy: it ends within its header".to_owned()
        }
        Error::Npy(NpyError::FortranOrder) => {
            "the array is in Fortran order, in which no matrix is in one place: save it in C order, or \
             leave out --memory"
                .to_owned()
        }
        Error::File { path, error } => format!("{}: {}", path.display(), sentence(error)),
        other => other.to_string(),
    }
}

/// The system's words, without its error number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().collect::<String>() + letters.as_str()
    })
}

/// What would help a set that is not positive definite.
pub fn advice(remedy: Remedy) -> String {
    match remedy {
        Remedy::Reduce { rank } => format!(
            "all matrices share a null space (the mean has rank {rank}): use --rank auto or --rank {rank}"
        ),
        Remedy::Shrink { shrinkage } => format!(
            "the others do not share its null space: was it estimated from too few samples? Use --shrinkage \
             {shrinkage:e}, or leave it out"
        ),
        _ => format!(
            "neither --rank nor --shrinkage would help; if it is no covariance, {}",
            takers()
        ),
    }
}

/// How much memory is missing, and what would fit.
fn out_of_memory(error: &Error) -> String {
    let Error::OutOfMemory {
        what,
        needed,
        available,
        remedy,
    } = error
    else {
        return error.to_string();
    };
    memory_shortage(what, *needed, *available) + &memory_advice(*remedy)
}

/// What would need less memory.
fn memory_advice(remedy: MemoryRemedy) -> String {
    match remedy {
        MemoryRemedy::Setting {
            setting: Setting::Lags,
            value,
            needs,
        } => format!("; --lags 1:{value} needs {needs}"),
        MemoryRemedy::Setting {
            setting,
            value,
            needs,
        } => format!("; {} {value} needs {needs}", option(setting)),
        MemoryRemedy::OnDisk => {
            "; use fewer matrices, or keep them in a .npy file that is read in parts (--memory)"
                .to_owned()
        }
        _ => String::new(),
    }
}

/// The criteria that take any symmetric matrices.
pub fn takers() -> String {
    let listed =
        codiag::error::symmetric_criteria(|criterion| format!("--criterion {}", criterion.name()));
    format!("only {listed} take such matrices")
}

/// The option of a setting; what the program has no option for has the library's name.
fn option(setting: Setting) -> String {
    let option = match setting {
        Setting::Bands => "--bands",
        Setting::Components => "--components",
        Setting::Criterion => "--criterion",
        // What is excluded by --exclude is checked by the program; these are spans of samples.
        Setting::Exclude => "the bad spans",
        Setting::Lags => "--lags",
        Setting::Matrices => "-n",
        Setting::Memory => "--memory",
        Setting::Method => "--method",
        Setting::Overlap => "--overlap",
        Setting::Rank => "--rank",
        Setting::Rate => "--rate",
        Setting::Scale => "--scale",
        Setting::SegmentLength => "--segment-length",
        Setting::Segments => "--segments",
        Setting::Shrinkage => "--shrinkage",
        Setting::Stability => "--stability",
        Setting::Start => "--start",
        Setting::Threads => "--threads",
        Setting::Tolerance => "--tol",
        Setting::WindowLength => "--window-length",
        other => return other.to_string(),
    };
    option.to_owned()
}

/// What a setting may be, as a phrase that follows "must be".
fn choices(setting: Setting, expected: Expected) -> String {
    match (setting, expected) {
        // Not to reduce at all is to leave the option out.
        (Setting::Rank, Expected::OneOfOr(_, number)) => format!("{number}, or \"auto\""),
        (Setting::Shrinkage, Expected::OneOfOr(_, number)) => {
            format!("{number}, \"auto\" or \"oas\"")
        }
        (Setting::Start, Expected::OneOfOr(names, _)) => {
            format!("{}, or a file with a matrix", names.join(", "))
        }
        (_, expected) => expected.to_string(),
    }
}

fn contradiction(conflict: Conflict) -> String {
    match conflict {
        Conflict::OrthogonalPham => {
            "--orthogonal is not for --method pham: choose newton or quasi-newton".to_owned()
        }
        Conflict::OrthogonalReduced => {
            "--orthogonal is not for a set reduced by --rank, whose axes are not those of the channels"
                .to_owned()
        }
        Conflict::OrthogonalLeastSquares => {
            "--orthogonal is not for --criterion least-squares: over rotations it is --criterion \
             frobenius"
                .to_owned()
        }
        Conflict::PairsNotInMemory => {
            "--method pham and jacobi would read the file p²/2 times in each iteration: choose newton or \
             quasi-newton, or leave out --memory"
                .to_owned()
        }
        Conflict::OrderUntried => {
            "--order stability needs trials: add --stability 20, or --restarts".to_owned()
        }
        Conflict::StabilityNotInMemory => {
            "--stability is only for matrices in memory: leave out --memory, or try --restarts".to_owned()
        }
        other => other.to_string(),
    }
}

/// What makes a stretch of a recording larger.
fn larger(portion: Portion) -> &'static str {
    match portion {
        Portion::Segment(_) => "take fewer or longer segments (--segments, --segment-length)",
        Portion::Band { .. } => "take wider bands (--bands)",
        other => other.remedy(),
    }
}

#[cfg(test)]
mod tests;
