//! The line search from disk.
//!
//! Along a direction E from B, the diagonals of Dⁱ(α) follow from two ratios to Dⁱ_aa, those of
//! E D + (E D)ᵀ and of E D Eᵀ. They are kept for as many blocks as there is room for; the others are
//! read again. Most searches ask for α = 0 and 1 alone, and these are answered by the probe's own
//! sweep.

use std::sync::OnceLock;

use super::sweep::{Bench, Sums, sweep};
use super::{Block, OnDisk};
use crate::Error;
use crate::linalg::kernels::{self, Slope};
use crate::linalg::{self, Matrix};
use crate::matrices::Probe;

/// What is known along a line.
pub struct LineTables {
    /// E, and F = E B.
    pub e: Matrix,
    f: Matrix,
    /// Σ_i w_i Σ_a log Dⁱ_aa at α = 0.
    log_powers: f64,
    /// What the search is known to ask for.
    known: [(f64, Slope); 2],
    /// The ratios of each block for which there is room, and its weights.
    ratios: Vec<OnceLock<(Vec<f64>, Vec<f64>)>>,
}

/// What a probe sums.
struct ProbeSums {
    probe: Probe,
    at: [Slope; 2],
}

const KNOWN: [f64; 2] = [0.0, 1.0];

impl ProbeSums {
    fn add(&mut self, other: &Self) {
        linalg::add_multiple(&mut self.probe.linear, 1.0, &other.probe.linear);
        linalg::add_multiple(&mut self.probe.quadratic, 1.0, &other.probe.quadratic);
        let pairs = self.at.iter_mut().zip(&other.at);
        pairs.for_each(|(total, part)| *total += *part);
    }
}

impl OnDisk<'_> {
    pub(super) fn probe_line(&mut self, e: &Matrix) -> Result<Probe, Error> {
        let p = self.dimension();
        let log_powers = self.here()?.log_powers;
        self.line = None;
        let b = &self.b;
        let f = linalg::product(e, b);
        let room = self.blocks.plan.lines;
        let ratios: Vec<OnceLock<_>> = (0..room).map(|_| OnceLock::new()).collect();
        let sums = Sums {
            zero: || ProbeSums {
                probe: Probe {
                    linear: vec![0.0; p],
                    quadratic: vec![0.0; p],
                },
                at: [Slope::default(); 2],
            },
            work: |sums: &mut ProbeSums, k: usize, block: Option<&Block>, bench: &mut Bench| {
                let block = block.expect("every block is needed");
                let (weights, lanes) = (&block.weights, block.lanes());
                diagonals(b, &f, block, bench);
                let (linear, quadratic) = bench.diagonals[p * lanes..].split_at(p * lanes);
                for a in 0..p {
                    let row = a * lanes..(a + 1) * lanes;
                    sums.probe.linear[a] += linalg::dot(&linear[row.clone()], weights);
                    sums.probe.quadratic[a] += linalg::dot(&quadratic[row], weights);
                }
                let ratios_here = ratios_of(p, lanes, bench);
                for (sum, alpha) in sums.at.iter_mut().zip(KNOWN) {
                    *sum += kernels::slope_of_ratios(p, ratios_here, weights, alpha);
                }
                if let Some(place) = ratios.get(k) {
                    // Each block comes once.
                    let _ = place.set((ratios_here.to_vec(), weights.clone()));
                }
            },
            add: ProbeSums::add,
        };
        let found = sweep(&self.blocks, self.watcher, |_| true, &sums)?;
        self.line = Some(LineTables {
            e: e.clone(),
            f,
            log_powers,
            known: [(KNOWN[0], found.at[0]), (KNOWN[1], found.at[1])],
            ratios,
        });
        Ok(found.probe)
    }

    pub(super) fn slope_along(&self, alpha: f64) -> Result<Slope, Error> {
        let line = self.line.as_ref().expect("a line was probed");
        let mut slope = match line.known.iter().find(|known| known.0 == alpha) {
            Some(known) => known.1,
            None => self.slope_elsewhere(line, alpha)?,
        };
        slope.log_powers += line.log_powers;
        Ok(slope)
    }

    /// The slope at an α that the probe did not foresee, but for the logarithms at 0.
    fn slope_elsewhere(&self, line: &LineTables, alpha: f64) -> Result<Slope, Error> {
        let (p, b) = (self.dimension(), &self.b);
        let sums = Sums {
            zero: Slope::default,
            work: |sum: &mut Slope, k: usize, block: Option<&Block>, bench: &mut Bench| {
                if let Some((ratios, weights)) = line.ratios.get(k).and_then(OnceLock::get) {
                    *sum += kernels::slope_of_ratios(p, ratios, weights, alpha);
                } else {
                    let block = block.expect("a block without a table is needed");
                    diagonals(b, &line.f, block, bench);
                    let ratios = ratios_of(p, block.lanes(), bench);
                    *sum += kernels::slope_of_ratios(p, ratios, &block.weights, alpha);
                }
            },
            add: |total: &mut Slope, part: &Slope| *total += *part,
        };
        let needed = |k: usize| line.ratios.len() <= k;
        sweep(&self.blocks, self.watcher, needed, &sums)
    }
}

/// Leaves the diagonals along the line on the bench.
fn diagonals(b: &Matrix, f: &Matrix, block: &Block, bench: &mut Bench) {
    let lanes = block.lanes();
    bench.diagonals.resize(3 * b.rows() * lanes, 0.0);
    let (out, scratch) = (&mut bench.diagonals, &mut bench.scratch);
    kernels::line_diagonals(b, f, &block.entries, lanes, out, scratch);
}

/// Makes ratios of the diagonals.
fn ratios_of(p: usize, lanes: usize, bench: &mut Bench) -> &[f64] {
    let (powers, ratios) = bench.diagonals.split_at_mut(p * lanes);
    for rows in ratios.chunks_exact_mut(p * lanes) {
        rows.iter_mut().zip(&*powers).for_each(|(x, d)| *x /= d);
    }
    ratios
}
