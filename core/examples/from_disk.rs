//! Time and peak memory of a solve from disk, compared with a solve in memory.
//!
//! ```text
//! cargo run --release --example from_disk -- [n] [p] [threads] [memory limit as a fraction of the file]
//! ```
//!
//! Each solve runs in a separate process, so that its peak memory can be measured. The two kinds
//! alternate, and the best of three times is reported. The file is in the page cache.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use codiag::diagonalize_with_backend;
use codiag::synthetic::Synthetic;
use codiag::{Matrix, MatrixFile, Memory, OnDisk, Record, SetOptions, Settings, diagonalize};

const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [role, path, threads, memory] = &args[..]
        && (role == "memory" || role == "disk")
    {
        return solve(role, Path::new(path), threads.parse()?, memory.parse()?);
    }
    let number = |k: usize, default: usize| args.get(k).map_or(Ok(default), |x| x.parse());
    let (n, p, threads) = (number(0, 50_000)?, number(1, 40)?, number(2, 2)?);
    let fraction: f64 = args.get(3).map_or(Ok(0.1), |x| x.parse())?;
    let path = std::env::temp_dir().join(format!("codiag-from-disk-{}.npy", std::process::id()));
    let result = compare(&path, n, p, threads, fraction);
    std::fs::remove_file(&path)?;
    result
}

/// Writes the file, runs the child processes and prints the comparison.
fn compare(
    path: &Path,
    n: usize,
    p: usize,
    threads: usize,
    fraction: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    write(path, n, p)?;
    let bytes = (n * p * p * 8) as f64;
    let memory_limit = (fraction * bytes) as u64;
    let mut best = [f64::INFINITY; 2];
    let mut peaks = [0.0_f64; 2];
    let mut results = [String::new(), String::new()];
    for _ in 0..ROUNDS {
        for (k, role) in ["memory", "disk"].into_iter().enumerate() {
            let output = Command::new(std::env::current_exe()?)
                .args([role, &path.display().to_string()])
                .args([threads.to_string(), memory_limit.to_string()])
                .output()?;
            let text = String::from_utf8(output.stdout)?;
            let words: Vec<&str> = text.split_whitespace().collect();
            let [seconds, peak, rest @ ..] = &words[..] else {
                return Err(String::from_utf8_lossy(&output.stderr).into());
            };
            best[k] = best[k].min(seconds.parse()?);
            peaks[k] = peaks[k].max(peak.parse()?);
            results[k] = rest.join(" ");
        }
    }
    let out = &mut std::io::stdout();
    writeln!(
        out,
        "n = {n}, p = {p}, {threads} threads, file {:.0} MB, memory limit {:.0} MB",
        bytes / 1e6,
        memory_limit as f64 / 1e6
    )?;
    for (k, role) in ["in memory", "from disk"].into_iter().enumerate() {
        let (seconds, peak, result) = (best[k], peaks[k], &results[k]);
        writeln!(
            out,
            "{role}  {seconds:6.2} s   peak {peak:5.0} MB   {result}"
        )?;
    }
    writeln!(
        out,
        "time ratio {:.2}, peak above the memory limit {:.0} MB",
        best[1] / best[0],
        peaks[1] - memory_limit as f64 / 1e6
    )?;
    Ok(())
}

/// Solves in this process and prints the seconds, the peak memory in MB and the result.
fn solve(
    role: &str,
    path: &Path,
    threads: usize,
    memory: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::default();
    let options = SetOptions::default().n_jobs(Some(threads));
    let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let clock;
    let file = MatrixFile::open(path)?;
    // In memory, the time excludes reading the file.
    let result = if role == "memory" {
        let set = file.read_set(&options)?;
        clock = Instant::now();
        diagonalize(&set, &settings)?
    } else {
        clock = Instant::now();
        let mut set = OnDisk::new(file, Memory(memory), &options)?;
        diagonalize_with_backend(&mut set, &settings, &mut observer)?
    };
    writeln!(
        std::io::stdout(),
        "{} {} {} after {} iterations, loss {:.12}",
        clock.elapsed().as_secs_f64(),
        peak_megabytes(),
        result.status,
        result.n_iter,
        result.loss
    )?;
    Ok(())
}

/// The peak resident memory of this process in MB, or NaN on systems other than Linux.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let number = line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
    number.map_or(f64::NAN, |kilobytes| kilobytes * 1024.0 / 1e6)
}

/// Writes a synthetic set to a .npy file.
fn write(path: &Path, n: usize, p: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {p}, {p}), }}\n");
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for x in Synthetic::new(n, p, 0.1, 0).data {
        out.write_all(&x.to_le_bytes())?;
    }
    out.flush()
}
