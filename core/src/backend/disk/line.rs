//! The line search from disk.
//!
//! Along a direction E from B, the diagonals of Dⁱ(α) follow from two ratios to Dⁱ_aa, those of
//! E D + (E D)ᴴ and of E D Eᴴ. They are kept for as many blocks as there is room for; the others are
//! read again. Most searches ask for α = 0 and 1 alone, and these are answered by the probe's own
//! pass.

use std::sync::OnceLock;

use super::pass::{Sums, Workspace, pass};
use super::{Block, OnDisk};
use crate::Error;
use crate::criterion::Criterion;
use crate::linalg::{self, Matrix, Scalar, kernels};
use crate::matrices::{LinePoint, Probe};

/// What is known along a line.
pub struct LineTables<T> {
    /// E, and F = E B.
    pub e: Matrix<T>,
    f: Matrix<T>,
    /// What the tables leave out: Σ_i w_i Σ_a log Dⁱ_aa at α = 0 for the likelihood.
    diagonal_sum: f64,
    /// What the search is known to ask for.
    known: [(f64, LinePoint); 2],
    /// The table of each block for which there is room, and its weights.
    tables: Vec<OnceLock<(Vec<f64>, Vec<f64>)>>,
}

/// What a probe sums.
struct ProbeSums {
    probe: Probe,
    at: [LinePoint; 2],
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

impl<T: Scalar> OnDisk<'_, T> {
    pub(super) fn probe_line(&mut self, e: &Matrix<T>) -> Result<Probe, Error> {
        let (p, criterion) = (self.dimension(), self.summary.criterion);
        let diagonal_sum = self.here()?.diagonal_sum;
        self.line = None;
        let b = &self.b;
        let f = linalg::product(e, b);
        // Rotations ask for α = 0 and 1 alone: no tables are kept for them.
        let room = match criterion {
            Criterion::Likelihood => self.blocks.plan.lines,
            Criterion::Frobenius | Criterion::LeastSquares => 0,
        };
        let tables: Vec<OnceLock<_>> = (0..room).map(|_| OnceLock::new()).collect();
        let sums = Sums {
            zero: || ProbeSums {
                probe: Probe {
                    linear: vec![0.0; p],
                    quadratic: vec![0.0; p],
                },
                at: [LinePoint::default(); 2],
            },
            work: |sums: &mut ProbeSums,
                   k: usize,
                   block: Option<&Block<T>>,
                   workspace: &mut Workspace| {
                let block = block.expect("every block is needed");
                let (weights, lanes) = (&block.weights, block.lanes());
                diagonals(b, &f, block, workspace);
                let (linear, quadratic) = workspace.diagonals[p * lanes..].split_at(p * lanes);
                for a in 0..p {
                    let row = a * lanes..(a + 1) * lanes;
                    sums.probe.linear[a] += linalg::dot(&linear[row.clone()], weights);
                    sums.probe.quadratic[a] += linalg::dot(&quadratic[row], weights);
                }
                let table = table_of(criterion, p, lanes, workspace);
                for (sum, alpha) in sums.at.iter_mut().zip(KNOWN) {
                    *sum += point_of(criterion, p, table, weights, alpha);
                }
                if let Some(place) = tables.get(k) {
                    // Each block comes once.
                    let _ = place.set((table.to_vec(), weights.clone()));
                }
            },
            add: ProbeSums::add,
        };
        let found = pass(&self.blocks, &*self.watcher, |_| true, &sums)?;
        self.line = Some(LineTables {
            e: e.clone(),
            f,
            diagonal_sum: match criterion {
                Criterion::Likelihood => diagonal_sum,
                Criterion::Frobenius | Criterion::LeastSquares => 0.0,
            },
            known: [(KNOWN[0], found.at[0]), (KNOWN[1], found.at[1])],
            tables,
        });
        Ok(found.probe)
    }

    pub(super) fn point_along(&self, alpha: f64) -> Result<LinePoint, Error> {
        let line = self.line.as_ref().expect("a line was probed");
        let mut point = match line.known.iter().find(|known| known.0 == alpha) {
            Some(known) => known.1,
            None => self.point_elsewhere(line, alpha)?,
        };
        point.sum += line.diagonal_sum;
        Ok(point)
    }

    /// The point at an α that the probe did not foresee, but for what the tables leave out.
    fn point_elsewhere(&self, line: &LineTables<T>, alpha: f64) -> Result<LinePoint, Error> {
        let (p, b) = (self.dimension(), &self.b);
        let criterion = self.summary.criterion;
        let sums = Sums {
            zero: LinePoint::default,
            work: |sum: &mut LinePoint,
                   k: usize,
                   block: Option<&Block<T>>,
                   workspace: &mut Workspace| {
                if let Some((table, weights)) = line.tables.get(k).and_then(OnceLock::get) {
                    *sum += point_of(criterion, p, table, weights, alpha);
                } else {
                    let block = block.expect("a block without a table is needed");
                    diagonals(b, &line.f, block, workspace);
                    let table = table_of(criterion, p, block.lanes(), workspace);
                    *sum += point_of(criterion, p, table, &block.weights, alpha);
                }
            },
            add: |total: &mut LinePoint, part: &LinePoint| *total += *part,
        };
        let needed = |k: usize| line.tables.len() <= k;
        pass(&self.blocks, &*self.watcher, needed, &sums)
    }
}

/// Leaves the diagonals along the line in the workspace.
fn diagonals<T: Scalar>(b: &Matrix<T>, f: &Matrix<T>, block: &Block<T>, workspace: &mut Workspace) {
    let lanes = block.lanes();
    workspace.diagonals.resize(3 * b.rows() * lanes, 0.0);
    let out = &mut workspace.diagonals;
    kernels::line_diagonals(b, f, block.entries(), lanes, out);
}

/// Makes a table of the diagonals: for the likelihood their ratios to Dⁱ_aa, two per matrix and
/// component.
fn table_of(criterion: Criterion, p: usize, lanes: usize, workspace: &mut Workspace) -> &[f64] {
    match criterion {
        Criterion::Likelihood => {
            let (powers, ratios) = workspace.diagonals.split_at_mut(p * lanes);
            for rows in ratios.chunks_exact_mut(p * lanes) {
                rows.iter_mut().zip(&*powers).for_each(|(x, d)| *x /= d);
            }
            ratios
        }
        Criterion::Frobenius | Criterion::LeastSquares => &workspace.diagonals,
    }
}

/// A block's share of the point at α, from its table.
fn point_of(
    criterion: Criterion,
    p: usize,
    table: &[f64],
    weights: &[f64],
    alpha: f64,
) -> LinePoint {
    match criterion {
        Criterion::Likelihood => kernels::line_point_of_ratios(p, table, weights, alpha),
        Criterion::Frobenius | Criterion::LeastSquares => {
            kernels::line_point_of_diagonals(criterion, p, table, weights, alpha)
        }
    }
}
