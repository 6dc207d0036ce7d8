//! A custom backend that computes its matrices when they are needed.
//!
//! ```text
//! cargo run --release --example backend
//! ```

#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;

use codiag::backend::{Backend, Capabilities, Chunk, Request, Summary, Sums};
use codiag::{Error, Matrix, Record, SetOptions, Settings, diagonalize_with_backend, synthetic};

/// Every `step`-th of n matrices, computed by a function.
struct Computed<F> {
    matrix: F,
    n: usize,
    step: usize,
    summary: Summary,
}

impl<F: Fn(usize) -> Matrix + Clone> Computed<F> {
    /// Computes the mean and the mean log-determinant, which the solver needs.
    fn new(matrix: F, n: usize, step: usize) -> Self {
        let (count, p) = (n.div_ceil(step), matrix(0).rows());
        let (mut mean, mut log_det) = (Matrix::zeros(p, p), 0.0);
        for i in (0..n).step_by(step) {
            let c = matrix(i);
            let values = c.symmetric_eigenvalues().expect("finite matrices");
            log_det += values.iter().map(|x| x.ln()).sum::<f64>() / count as f64;
            let entries = mean.as_mut_slice().iter_mut().zip(c.as_slice());
            entries.for_each(|(sum, x)| *sum += x / count as f64);
        }
        Self {
            matrix,
            n,
            step,
            summary: Summary::new(count, mean, log_det),
        }
    }
}

impl<F: Fn(usize) -> Matrix + Clone> Backend for Computed<F> {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn evaluate(&mut self, request: &Request, sums: &mut Sums) -> Result<(), Error> {
        let p = self.summary.dimension();
        sums.begin(request, p);
        let indices: Vec<usize> = (0..self.n).step_by(self.step).collect();
        for part in indices.chunks(64) {
            let matrices = part.iter().map(|&i| (self.matrix)(i).into_vec());
            let data = matrices.collect::<Vec<_>>().concat();
            let chunk = Chunk::new(&data, part.len(), p, 0, &SetOptions::default())?;
            sums.add_chunk(request, &chunk, part.len() as f64 / indices.len() as f64)?;
        }
        Ok(())
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn Backend + '_>>, Error> {
        let (matrix, step) = (self.matrix.clone(), self.step * step);
        Ok(Some(Box::new(Self::new(matrix, self.n, step))))
    }
}

/// Solves with the custom backend and compares the result with a solve in memory.
pub fn main() -> Result<(), Error> {
    let (n, p) = (1000, 6);
    let generated = synthetic::Synthetic::new(n, p, 0.1, 0);
    let matrix = |i: usize| Matrix::from_rows(p, p, generated.data[i * p * p..][..p * p].to_vec());
    let mut backend = Computed::new(matrix, n, 1);
    let mut observer = |_: &Record, _: &Matrix| ControlFlow::Continue(());
    let result = diagonalize_with_backend(&mut backend, &Settings::default(), &mut observer)?;
    let expected = codiag::diagonalize(&generated.set()?, &Settings::default())?;
    assert!(result.status.is_converged() && (result.loss - expected.loss).abs() < 1e-9);
    println!("loss {:.6}", result.loss);
    Ok(())
}
