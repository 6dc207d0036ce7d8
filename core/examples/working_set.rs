//! A `WorkingSet` of one's own: matrices that are kept nowhere, but made whenever they are asked for.
//! It answers every question a solver asks by the plainest loops, and can be a model for matrices
//! in a database, in another format, or behind a network.
//!
//! ```sh
//! cargo run --release --example working_set
//! ```

use std::ops::ControlFlow;

use codiag::backend::{
    Balanced, FinalSums, LinePoint, Probe, Statistics, Summary, Tables, WorkingSet, advanced,
    diagonalize_with_backend,
};
use codiag::{Error, Hessian, Matrix, MatrixSet, Record, Settings, diagonalize, synthetic};

/// Matrices number 0, `step`, 2·`step`, … that a function makes, all of equal weight.
struct Made<F> {
    make: F,
    step: usize,
    summary: Summary,
    /// 1 / s_i, once the matrices have been balanced.
    metric: Option<Matrix>,
    /// Where the set stands, and the direction probed there.
    b: Matrix,
    e: Option<Matrix>,
}

impl<F: Fn(usize) -> Matrix + Clone> Made<F> {
    fn new(make: F, n: usize, step: usize) -> Self {
        let numbers = (0..n).step_by(step);
        let len = numbers.len();
        let mut mean = make(0);
        let mut mean_log_det = log_det(&mean);
        for i in numbers.skip(1) {
            add(&mut mean, 1.0, &make(i));
            mean_log_det += log_det(&make(i));
        }
        mean.as_mut_slice()
            .iter_mut()
            .for_each(|x| *x /= len as f64);
        let b = Matrix::identity(mean.rows());
        Self {
            make,
            step,
            summary: Summary::new(len, mean, mean_log_det / len as f64),
            metric: None,
            b,
            e: None,
        }
    }

    fn matrices(&self) -> impl Iterator<Item = Matrix> {
        (0..self.summary.len).map(|k| (self.make)(k * self.step))
    }

    /// Dⁱ = B Cⁱ Bᵀ for all i.
    fn transformed(&self) -> impl Iterator<Item = Matrix> {
        self.matrices().map(|c| congruence(&self.b, &c))
    }

    fn weight(&self) -> f64 {
        1.0 / self.summary.len as f64
    }

    /// s_i = ⟨C, S⟩ / p.
    fn size(&self, c: &Matrix) -> Result<f64, Error> {
        let metric = self.metric.as_ref().ok_or(Error::Question)?;
        Ok(metric.dot(c) / c.rows() as f64)
    }
}

impl<F: Fn(usize) -> Matrix + Clone> WorkingSet for Made<F> {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn WorkingSet + '_>>, Error> {
        let n = self.summary.len * self.step;
        let sample = Self::new(self.make.clone(), n, self.step * step);
        Ok(Some(Box::new(sample)))
    }

    fn balance(&mut self, metric: &Matrix) -> Result<Balanced, Error> {
        self.metric = Some(metric.clone());
        let zeros = Matrix::zeros(metric.rows(), metric.rows());
        let mut balanced = Balanced {
            mean: zeros.clone(),
            spread: zeros,
        };
        for c in self.matrices() {
            let inverse_size = 1.0 / self.size(&c)?;
            add(&mut balanced.mean, self.weight() * inverse_size, &c);
            add(
                &mut balanced.spread,
                self.weight() * (1.0 - inverse_size).powi(2),
                &c,
            );
        }
        Ok(balanced)
    }

    fn second_moment(&mut self) -> Result<Matrix, Error> {
        let mut sum = Matrix::zeros(self.b.rows(), self.b.rows());
        for c in self.matrices() {
            add(&mut sum, self.weight(), &(&c * &c));
        }
        Ok(sum)
    }

    fn correlate(&mut self, matrices: &[f64], sums: &mut [f64]) -> Result<(), Error> {
        let p = self.b.rows();
        let entries: Vec<(usize, usize)> = triangle(p).collect();
        let count = matrices.len() / entries.len();
        sums.fill(0.0);
        for c in self.matrices() {
            let weight = self.weight() / self.size(&c)?.powi(2);
            let mut products = vec![0.0; count];
            for (s, &(a, b)) in matrices.chunks_exact(count).zip(&entries) {
                let times = if a == b { 1.0 } else { 2.0 };
                (0..count).for_each(|k| products[k] += times * s[k] * c[(a, b)]);
            }
            for (sum, &(a, b)) in sums.chunks_exact_mut(count).zip(&entries) {
                (0..count).for_each(|k| sum[k] += weight * products[k] * c[(a, b)]);
            }
        }
        Ok(())
    }

    fn reset(&mut self, b: &Matrix) -> Result<f64, Error> {
        self.b = b.clone();
        self.e = None;
        let logs = |d: Matrix| (0..d.rows()).map(|a| d[(a, a)].ln()).sum::<f64>();
        Ok(self.transformed().map(logs).sum::<f64>() * self.weight())
    }

    fn mean(&mut self) -> Result<Matrix, Error> {
        Ok(congruence(&self.b, &self.summary.mean))
    }

    fn statistics(&mut self) -> Result<Statistics, Error> {
        let p = self.b.rows();
        let (mut gradient, mut gamma) = (Matrix::zeros(p, p), Matrix::zeros(p, p));
        for d in self.transformed() {
            for a in 0..p {
                for b in 0..p {
                    let u = self.weight() / d[(a, a)];
                    gamma[(a, b)] += u * d[(b, b)];
                    if a != b {
                        gradient[(a, b)] += u * d[(a, b)];
                    }
                }
            }
        }
        Ok(Statistics { gradient, gamma })
    }

    fn hessian(&mut self, hessian: &mut Hessian) -> Result<(), Error> {
        // The lower triangles of M¹ … M^p, one after the other.
        let p = self.b.rows();
        let mut triangles = vec![0.0; p * p * (p + 1) / 2];
        for d in self.transformed() {
            let mut numbers = triangles.iter_mut();
            for a in 0..p {
                let u = self.weight() / d[(a, a)];
                for ((b, c), sum) in triangle(p).zip(&mut numbers) {
                    *sum += u * (d[(b, c)] - 2.0 * d[(a, b)] * d[(a, c)] / d[(a, a)]);
                }
            }
        }
        hessian.set_triangles(&triangles);
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix) -> Result<Matrix, Error> {
        let mut hessian = Hessian::zeros(self.summary.criterion, self.b.rows());
        self.hessian(&mut hessian)?;
        Ok(hessian.product(e))
    }

    fn probe(&mut self, e: &Matrix) -> Result<Probe, Error> {
        self.e = Some(e.clone());
        let p = e.rows();
        let d = self.mean()?;
        let (cross, square) = (e * &d, congruence(e, &d));
        Ok(Probe {
            linear: (0..p).map(|a| 2.0 * cross[(a, a)]).collect(),
            quadratic: (0..p).map(|a| square[(a, a)]).collect(),
        })
    }

    fn line_point(&mut self, alpha: f64) -> Result<LinePoint, Error> {
        let e = self.e.as_ref().ok_or(Error::Question)?;
        let mut point = LinePoint::default();
        for d in self.transformed() {
            let (cross, square) = (e * &d, congruence(e, &d));
            for a in 0..d.rows() {
                let (linear, quadratic) = (2.0 * cross[(a, a)], square[(a, a)]);
                let power = d[(a, a)] + alpha * (linear + alpha * quadratic);
                let slope = (linear + 2.0 * alpha * quadratic) / power;
                point.sum += self.weight() * power.ln();
                point.first += self.weight() * slope;
                point.second += self.weight() * (2.0 * quadratic / power - slope * slope);
            }
        }
        Ok(point)
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics, Error> {
        let e = self.e.take().ok_or(Error::Question)?;
        self.b = advanced(&self.b, &e, alpha, scale);
        self.statistics()
    }

    fn final_sums(&mut self, mean_powers: &[f64]) -> Result<FinalSums, Error> {
        let p = self.b.rows();
        let (mut powers, mut variations, mut diagonal_sum) = (Vec::new(), vec![0.0; p], 0.0);
        for d in self.transformed() {
            for a in 0..p {
                powers.push(d[(a, a)]);
                variations[a] += self.weight() * (d[(a, a)] / mean_powers[a] - 1.0).powi(2);
                diagonal_sum += self.weight() * d[(a, a)].ln();
            }
        }
        let log_dets = self.matrices().map(|c| log_det(&c)).collect();
        Ok(FinalSums {
            diagonal_sum,
            variations,
            tables: Some(Tables {
                powers,
                constants: log_dets,
            }),
        })
    }
}

/// The entries of a lower triangle, row after row.
fn triangle(p: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..p).flat_map(|a| (0..=a).map(move |b| (a, b)))
}

fn congruence(m: &Matrix, c: &Matrix) -> Matrix {
    &(m * c) * &m.transpose()
}

fn add(sum: &mut Matrix, factor: f64, term: &Matrix) {
    for (x, y) in sum.as_mut_slice().iter_mut().zip(term.as_slice()) {
        *x += factor * y;
    }
}

fn log_det(c: &Matrix) -> f64 {
    let eigenvalues = c.symmetric_eigenvalues().unwrap_or_default();
    eigenvalues.iter().map(|x| x.ln()).sum()
}

/// Solves, and compares with a set in memory.
#[allow(clippy::print_stdout)] // an example talks
pub fn main() -> Result<(), Error> {
    let (n, p) = (60, 6);
    let made = synthetic::Synthetic::new(n, p, 0.2, 0);
    let make = |i: usize| {
        let entries = made.data[i * p * p..(i + 1) * p * p].to_vec();
        Matrix::from_rows(p, p, entries)
    };
    let mut own = Made::new(make, n, 1);
    let mut silent = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let answer = diagonalize_with_backend(&mut own, &Settings::default(), &mut silent)?;

    let expected = diagonalize(&MatrixSet::new(&made.data, n, p)?, &Settings::default())?;
    let mut difference = answer.b.clone();
    add(&mut difference, -1.0, &expected.b);
    println!(
        "{} after {} iterations, loss {:.6}; B differs from that of a set in memory by {:.0e}",
        answer.status,
        answer.iterations,
        answer.loss,
        difference.norm()
    );
    assert!(answer.status.converged() && difference.norm() < 1e-6 * expected.b.norm());
    Ok(())
}
