//! `codiag generate`: sets for trying things out.

use anyhow::{Result, ensure};
use codiag::signals::simulate;
use codiag::synthetic::{self, Sensors, Synthetic};

use super::write_npy;
use crate::args::Generate;
use crate::words::count;
use crate::{Outcome, Session};

/// Makes a set.
pub fn run(args: &Generate, session: &mut Session<'_>) -> Result<Outcome> {
    if args.output.as_os_str() == "-" {
        super::refuse_terminal(session)?;
    }
    let both = args.mixing.as_ref().is_some_and(|m| m.as_os_str() == "-");
    ensure!(
        !both,
        "--mixing needs a file: standard output is for the set"
    );
    if args.eeg {
        return recording(args, session);
    }
    let (data, n, p, what) = if let Some(sensors) = &args.meg {
        let choice = match sensors.as_str() {
            "gradiometers" => Sensors::Gradiometers,
            _ => Sensors::Magnetometers,
        };
        let data = synthetic::meg(choice);
        // 100 segments reduced to 40 components each.
        (data, 100, 40, format!("MEG covariances ({sensors})"))
    } else {
        let made = Synthetic::new(args.n, args.p, args.sigma, args.seed);
        if let Some(path) = &args.mixing {
            let mixing = &made.mixing;
            write_npy(session, path, &[args.p, args.p], mixing.as_slice())?;
        }
        let what = format!("sigma {}, seed {}", args.sigma, args.seed);
        (made.data, args.n, args.p, what)
    };
    write_npy(session, &args.output, &[n, p, p], &data)?;
    if args.output.as_os_str() != "-" {
        let matrices = count(n, "matrix", "matrices");
        session.remark(&format!(
            "{}: {matrices} of {p} x {p}, {what}",
            args.output.display()
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
            made.rate,
            args.seed
        ))?;
    }
    Ok(Outcome::Done)
}
