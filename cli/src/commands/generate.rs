//! `codiag generate`: sets for trying things out.

use anyhow::{Result, ensure};
use codiag::Scalar;
use codiag::signals::simulate;
use codiag::synthetic::{self, Sensors, Synthetic};

use super::write_npy;
use crate::args::Generate;
use crate::words::count_matrices;
use crate::{Outcome, Session};

/// Makes a set.
pub fn run(args: &Generate, session: &mut Session<'_>) -> Result<Outcome> {
    if args.output.as_os_str() == "-" {
        super::check_output(session)?;
    }
    let both = args.mixing.as_ref().is_some_and(|m| m.as_os_str() == "-");
    ensure!(
        !both,
        "--mixing needs a file: standard output is for the set"
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
        // 100 segments reduced to 40 components each.
        let what = format!("MEG covariances ({sensors})");
        return matrices(args, session, (100, 40), &data, &what);
    }
    let Generate {
        n, p, sigma, seed, ..
    } = *args;
    if args.complex {
        return synthetic(args, session, &Synthetic::try_complex(n, p, sigma, seed)?);
    }
    synthetic(args, session, &Synthetic::try_new(n, p, sigma, seed)?)
}

/// Writes synthetic matrices, and their mixing if it is asked for.
fn synthetic<T: Scalar>(
    args: &Generate,
    session: &mut Session<'_>,
    made: &Synthetic<T>,
) -> Result<Outcome> {
    let (n, p) = (made.n, made.p);
    if let Some(path) = &args.mixing {
        write_npy(session, path, &[p, p], made.mixing.as_slice())?;
    }
    let what = format!("sigma {}, seed {}", args.sigma, args.seed);
    matrices(args, session, (n, p), &made.data, &what)
}

fn matrices<T: Scalar>(
    args: &Generate,
    session: &mut Session<'_>,
    (n, p): (usize, usize),
    data: &[T],
    what: &str,
) -> Result<Outcome> {
    write_npy(session, &args.output, &[n, p, p], data)?;
    if args.output.as_os_str() != "-" {
        session.remark(&format!(
            "{}: {} of {p} x {p}, {what}",
            args.output.display(),
            count_matrices::<T>(n)
        ))?;
    }
    Ok(Outcome::Done)
}

/// Makes a recording.
fn recording(args: &Generate, session: &mut Session<'_>) -> Result<Outcome> {
    let made = simulate::eeg_with_blinks(32, 12, 60.0, args.seed);
    let shape = [made.channels, made.samples];
    write_npy(session, &args.output, &shape, &made.data)?;
    if args.output.as_os_str() != "-" {
        session.remark(&format!(
            "{}: {} channels x {} samples, {} per second, seed {}",
            args.output.display(),
            made.channels,
            made.samples,
            made.sfreq,
            args.seed
        ))?;
    }
    Ok(Outcome::Done)
}
