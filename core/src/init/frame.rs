//! Intrinsic coordinates: axes defined by the matrices themselves rather than by the channels.
//!
//! The likelihood is invariant to coordinates: Cⁱ and Q Cⁱ Qᴴ have the same minima, up to B → B
//! Q⁻¹, for any invertible Q. The other criteria, and the likelihood over orthogonal B, have this
//! invariance for unitary Q. If a starting point made random choices in the coordinates of the
//! channels, the solve could reach another local minimum when channels are reordered, rescaled or
//! mixed, or when eigenvectors have different signs on different processors. A frame T that is a
//! function of the matrices with T(Q C Qᴴ) = T(C) Q⁻¹ avoids this.
//!
//! The axes are eigenvectors of a matrix that is transformed like the set. Their signs (if complex,
//! phases) make row 0 of another such matrix positive. They depend on rounding only if eigenvalues
//! coincide or entries of that row vanish. For a set that can be diagonalized exactly, the
//! axes are the diagonalizer.

use super::eigen;
use crate::Error;
use crate::backend::{Backend, Request, Summary, Sums};
use crate::linalg::kernels::LANES;
use crate::linalg::{self, Matrix, Scalar, Triangle, unpacked};

/// Returns T with Σ_i w_i T Cⁱ Tᴴ / s_i = I, and C̄⁻¹, the metric of the sizes s_i = tr(C̄⁻¹ Cⁱ)/p,
/// which normalize the scale of single matrices. The axes are eigenvectors of
/// Σ_i w_i (1 − 1/s_i) Cⁱ in whitened coordinates. Their signs are determined by
/// Σ_i w_i (1 − 1/s_i)² Cⁱ.
pub(super) fn whitening<T: Scalar>(
    set: &mut dyn Backend<T>,
) -> Result<(Matrix<T>, Matrix<T>), Error> {
    let inverse_mean = inverse_mean(set.summary())?;
    let (mut sums, p) = (Sums::default(), inverse_mean.rows());
    set.evaluate(
        &Request::Balance {
            metric: inverse_mean.clone(),
        },
        &mut sums,
    )?;
    let (mean, spread) = (sums.packed_matrix(0, p), sums.packed_matrix(1, p));
    let whitener = whitener(&mean)?;
    let mut excess = set.summary().mean.clone();
    linalg::add_multiple(excess.as_mut_slice(), -1.0, mean.as_slice());
    let half = linalg::product(&whitener, &excess);
    let (_, axes) = eigen(&linalg::product_adjoint(&half, &whitener))?;
    let axes = with_signs_of(&spread, linalg::product(&axes, &whitener));
    Ok((axes, inverse_mean))
}

/// Returns C̄⁻¹.
pub(super) fn inverse_mean<T: Scalar>(summary: &Summary<T>) -> Result<Matrix<T>, Error> {
    let whitener = whitener(&summary.mean)?;
    Ok(linalg::product(&whitener.adjoint(), &whitener))
}

/// Returns a unitary T of eigenvectors of Σ_i w_i Cⁱ Cⁱ with intrinsic signs.
pub(super) fn rotation<T: Scalar>(set: &mut dyn Backend<T>) -> Result<Matrix<T>, Error> {
    let axes = principal_axes(set)?;
    with_intrinsic_signs(set, axes, None)
}

/// Returns eigenvectors of Σ_i w_i Cⁱ Cⁱ with arbitrary signs.
pub(super) fn principal_axes<T: Scalar>(set: &mut dyn Backend<T>) -> Result<Matrix<T>, Error> {
    let mut sums = Sums::default();
    set.evaluate(&Request::SecondMoment, &mut sums)?;
    Ok(eigen(&sums.moments.gradient)?.1)
}

/// Returns the inverse of the Cholesky factor, whose accuracy does not depend on the units of the
/// channels.
fn whitener<T: Scalar>(mean: &Matrix<T>) -> Result<Matrix<T>, Error> {
    let factor = linalg::cholesky(mean).ok_or(Error::NoEigenvalues)?;
    Ok(linalg::lower_inverse(&factor))
}

/// Changes the signs (phases) of the rows of B so that Σ_i w_i Dⁱ_00 Dⁱ_0a / s_i² is positive,
/// where Dⁱ = B Cⁱ Bᴴ.
pub(super) fn with_intrinsic_signs<T: Scalar>(
    set: &mut dyn Backend<T>,
    b: Matrix<T>,
    metric: Option<Matrix<T>>,
) -> Result<Matrix<T>, Error> {
    let p = b.rows();
    // ⟨Cⁱ, S⟩ = Dⁱ_00 for S = b₀ᴴ b₀, which is the first matrix of a SIMD group; the others are
    // zero.
    let triangle = Triangle::new(p);
    let first = b.row(0);
    let mut matrices = vec![0.0; T::PLANES * triangle.len() * LANES];
    let (rows, _) = matrices.as_chunks_mut::<LANES>();
    for (entry, (k, l)) in triangle.pairs().enumerate() {
        let x = first[k].conj() * first[l];
        rows[entry][0] = x.real();
        if T::PLANES == 2 {
            rows[triangle.len() + entry][0] = x.imaginary();
        }
    }
    let mut sums = Sums::default();
    set.evaluate(&Request::Correlate { metric, matrices }, &mut sums)?;
    let sums: Vec<f64> = sums.numbers.iter().step_by(LANES).copied().collect();
    let image: Matrix<T> = unpacked(p, &sums);
    Ok(with_signs_of(&image, b))
}

/// Changes the signs (phases) of the rows of B so that row 0 of B M Bᴴ is positive.
fn with_signs_of<T: Scalar>(m: &Matrix<T>, mut b: Matrix<T>) -> Matrix<T> {
    let p = b.rows();
    let first = Matrix::from_rows(1, p, b.row(0).to_vec());
    let couplings = linalg::product_adjoint(&linalg::product(&first, m), &b);
    for a in 1..p {
        let coupling = couplings[(0, a)];
        let phase = coupling / coupling.abs();
        if phase.abs().is_finite() {
            b.row_mut(a).iter_mut().for_each(|x| *x *= phase);
        }
    }
    b
}

#[cfg(all(test, feature = "synthetic"))]
mod tests {
    use super::*;
    use crate::backend::InMemory;
    use crate::init::SplitMix;
    use crate::{Criterion, MatrixSet, SetOptions, c64, synthetic};

    /// Returns the set of the matrices Q Cⁱ Qᴴ.
    fn transformed<T: Scalar>(
        set: &MatrixSet,
        q: &Matrix<T>,
        criterion: Criterion,
    ) -> MatrixSet<T> {
        let (n, p) = (set.len(), q.rows());
        let mut data = Vec::new();
        for i in 0..n {
            let c = Matrix::from_real(&set.matrix(i));
            let half = linalg::product(q, &c);
            data.extend_from_slice(linalg::product_adjoint(&half, q).as_slice());
        }
        let options = SetOptions::default().criterion(criterion);
        MatrixSet::with_options(&data, n, p, &options).unwrap()
    }

    fn assert_equivariant<T: Scalar>(
        criterion: Criterion,
        q: &Matrix<T>,
        frame: impl Fn(&mut dyn Backend<T>) -> Result<Matrix<T>, Error>,
    ) {
        let p = q.rows();
        let plain = synthetic::noisy(30, p, 0.5, 3);
        let plain_set = transformed(&plain, &Matrix::<T>::identity(p), criterion);
        let mixed_set = transformed(&plain, q, criterion);
        let one = frame(&mut InMemory::new(&plain_set)).unwrap();
        let other = frame(&mut InMemory::new(&mixed_set)).unwrap();
        let other = linalg::product(&other, q);
        // The sign (phase) of the first axis is arbitrary, and determines the others.
        let phase = linalg::product_adjoint(
            &Matrix::from_rows(1, p, other.row(0).to_vec()),
            &Matrix::from_rows(1, p, one.row(0).to_vec()),
        )[(0, 0)];
        let phase = phase / phase.abs();
        for (x, y) in one.as_slice().iter().zip(other.as_slice()) {
            assert!((*x * phase - *y).abs() < 1e-9, "{x:?} {y:?}");
        }
    }

    fn random<T: Scalar>(p: usize) -> Matrix<T> {
        let mut random = SplitMix(5);
        Matrix::from_fn(p, p, |_, _| T::from_parts(random.next(), random.next()))
    }

    #[test]
    fn whitening_frame_is_equivariant_to_mixing_of_channels() {
        assert_equivariant(Criterion::Likelihood, &random::<f64>(6), |set| {
            Ok(whitening(set)?.0)
        });
        assert_equivariant(Criterion::Likelihood, &random::<c64>(6), |set| {
            Ok(whitening(set)?.0)
        });
    }

    /// Returns the exponential of a random antihermitian matrix.
    fn random_unitary<T: Scalar>(p: usize) -> Matrix<T> {
        let x = random::<T>(p);
        let antihermitian = Matrix::from_fn(p, p, |a, b| x[(a, b)] - x[(b, a)].conj());
        linalg::unitary_exponential(&antihermitian)
    }

    #[test]
    fn rotation_frame_is_equivariant_to_rotation_of_channels() {
        let real = random_unitary::<f64>(6);
        assert_equivariant(Criterion::Frobenius, &real, |set| rotation(set));
        let complex = random_unitary::<c64>(6);
        assert_equivariant(Criterion::Frobenius, &complex, |set| rotation(set));
    }
}
