//! AC-DC (Yeredor 2002): block coordinate descent over the columns of A and the diagonals.
//!
//! With Qᵃ = Σ_i w_i λⁱ_a Cⁱ and T = Σ_i w_i λⁱλⁱᵀ, the optimal column a, with everything else
//! fixed, is the leading eigenvector of P = Qᵃ − Σ_{k≠a} T_ak a_k a_kᴴ, times the square root of
//! its eigenvalue divided by T_aa.

use crate::Error;
use crate::backend::row_entry;
use crate::linalg::{self, Matrix, Scalar};

/// Runs one sweep over the columns of A. `weighted` contains the Qᵃ as row blocks.
pub(crate) fn sweep<T: Scalar>(
    a: &mut Matrix<T>,
    weighted: &[f64],
    gamma: &Matrix,
) -> Result<(), Error> {
    let p = a.rows();
    for column in 0..p {
        let energy = gamma[(column, column)];
        if energy <= 0.0 {
            continue;
        }
        let mut factors = gamma.row(column).to_vec();
        factors[column] = 0.0;
        let scaled = Matrix::from_fn(p, p, |k, c| a[(k, c)] * factors[c]);
        let others = linalg::product_adjoint(&scaled, a);
        let matrix = Matrix::from_fn(p, p, |k, l| {
            entry::<T>(weighted, p, column, k, l) - others[(k, l)]
        });
        let (values, vectors) = linalg::hermitian_eigen(&matrix).ok_or(Error::NoEigenvalues)?;
        // Without a positive eigenvalue the optimal column is zero; the previous column is kept.
        let largest = values[p - 1];
        if largest > 0.0 {
            let length = (largest / energy).sqrt();
            (0..p).for_each(|k| a[(k, column)] = vectors[(p - 1, k)].conj() * length);
        }
    }
    Ok(())
}

/// Returns entry (k, l) of Qᵃ. The row blocks are \[\[R, I\], \[−I, R\]\] for Qᵃ = R + iI.
pub(crate) fn entry<T: Scalar>(weighted: &[f64], p: usize, a: usize, k: usize, l: usize) -> T {
    let part = |column| row_entry::<T>(weighted, p, a, k, column);
    let imaginary = match T::PLANES {
        1 => 0.0,
        _ => part(p + l),
    };
    T::from_parts(part(l), imaginary)
}
