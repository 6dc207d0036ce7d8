//! `codiag generate`: writes synthetic or built-in matrices, or a simulated recording.

use anyhow::{Result, ensure};
use codiag::Scalar;
use codiag::signals::simulate;
use codiag::synthetic::{self, Sensors, Synthetic};

use super::write_npy;
use crate::args::Generate;
use crate::format::count_matrices;
use crate::{ExitStatus, Session};

/// Runs the command.
pub fn run(args: &Generate, session: &mut Session<'_>) -> Result<ExitStatus> {
    if args.output.as_os_str() == "-" {
        super::check_output(session)?;
    }
    let mixing_to_stdout = args.mixing.as_ref().is_some_and(|m| m.as_os_str() == "-");
    ensure!(
        !mixing_to_stdout,
        "--mixing requires a file name: standard output is used for the matrices"
    );
    if args.eeg {
        return recording(args, session);
    }
    if let Some(sensors) = &args.meg {
        let choice = match sensors.as_str() {
            "gradiometers" => Sensors::Gradiometers,
            _ => Sensors::Magnetometers,
        };
        let data = synthetic::meg(choice);
        // Covariances of 100 segments, reduced to 40 components.
        let description = format!("MEG covariances ({sensors})");
        return matrices(args, session, (100, 40), &data, &description);
    }
    let Generate {
        n, p, sigma, seed, ..
    } = *args;
    if args.complex {
        return synthetic(args, session, &Synthetic::try_complex(n, p, sigma, seed)?);
    }
    synthetic(args, session, &Synthetic::try_new(n, p, sigma, seed)?)
}

/// Writes synthetic matrices and, with `--mixing`, their mixing matrix.
fn synthetic<T: Scalar>(
    args: &Generate,
    session: &mut Session<'_>,
    made: &Synthetic<T>,
) -> Result<ExitStatus> {
    let (n, p) = (made.n, made.p);
    if let Some(path) = &args.mixing {
        write_npy(session, path, &[p, p], made.mixing.as_slice())?;
    }
    let description = format!("sigma {}, seed {}", args.sigma, args.seed);
    matrices(args, session, (n, p), &made.data, &description)
}

/// Writes a set of matrices.
fn matrices<T: Scalar>(
    args: &Generate,
    session: &mut Session<'_>,
    (n, p): (usize, usize),
    data: &[T],
    description: &str,
) -> Result<ExitStatus> {
    write_npy(session, &args.output, &[n, p, p], data)?;
    if args.output.as_os_str() != "-" {
        session.info(&format!(
            "{}: {} of {p} x {p}, {description}",
            args.output.display(),
            count_matrices::<T>(n)
        ))?;
    }
    Ok(ExitStatus::Done)
}

/// Writes a simulated recording.
fn recording(args: &Generate, session: &mut Session<'_>) -> Result<ExitStatus> {
    let made = simulate::eeg_with_blinks(32, 12, 60.0, args.seed);
    let shape = [made.channels, made.samples];
    write_npy(session, &args.output, &shape, &made.data)?;
    if args.output.as_os_str() != "-" {
        session.info(&format!(
            "{}: {} channels x {} samples at {} Hz, seed {}",
            args.output.display(),
            made.channels,
            made.samples,
            made.sfreq,
            args.seed
        ))?;
    }
    Ok(ExitStatus::Done)
}
