//! Loss, gradient and Hessian at any B.

use crate::backend::{Backend, InMemory, Request, Sums};
use crate::backend::{Hessian, Statistics};
use crate::data::Criterion;
use crate::data::MatrixSet;
use crate::error::{Conflict, MemoryRemedy};
use crate::linalg::kernels::LANES;
use crate::linalg::{Matrix, Scalar};
use crate::objective::Point;
use crate::{Error, Memory, Settings, init};

/// Loss and first derivatives under B ← (I + E)B at one B. For second derivatives see
/// [`Hessian::at`].
///
/// ```
/// use codiag::{Evaluation, Matrix, synthetic};
/// let set = synthetic::noisy(30, 4, 0.1, 0);
/// let here = Evaluation::at(&set, &Matrix::identity(4))?;
/// assert!(here.loss > 0.0);
/// assert_eq!(here.gradient[(2, 2)], 0.0);
/// # Ok::<(), codiag::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Evaluation<T = f64> {
    /// Loss at B. For the likelihood it is ½ Σ_i w_i \[Σ_a log Dⁱ_aa − log det Dⁱ\], which is zero
    /// if all Dⁱ = B Cⁱ Bᴴ are diagonal.
    pub loss: f64,
    /// Relative gradient G, defined by L((I + E)B) = L(B) + ⟨G, E⟩ + O(E²). For the likelihood,
    /// G_ab = Σ_i w_i Dⁱ_ab / Dⁱ_aa − δ_ab. With e = Σ_i w_i ‖Cⁱ‖², it is −4/e Σ_i w_i Dⁱ_aa Dⁱ_ab
    /// for the Frobenius criterion, and 4/e Σ_i w_i (Aᴴ(Cⁱ − A Λⁱ Aᴴ)A)_ab Λⁱ_bb for least squares.
    pub gradient: Matrix<T>,
    /// Coefficients of the Hessian if all Dⁱ are diagonal: Γ_ab = Σ_i w_i Dⁱ_bb / Dⁱ_aa for the
    /// likelihood, −Σ_i w_i Dⁱ_aa Dⁱ_bb for the Frobenius criterion, Σ_i w_i Λⁱ_aa Λⁱ_bb for least
    /// squares.
    pub gamma: Matrix,
}

impl<T: Scalar> Evaluation<T> {
    /// Evaluates the criterion of a set at B. The rows of B are not rescaled.
    ///
    /// # Errors
    /// If B has the wrong shape, is singular or not finite.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn at(set: &MatrixSet<T>, b: &Matrix<T>) -> Result<Self, Error> {
        let (mut working, b) = prepare(set, b)?;
        let (settings, mut sums) = (Settings::default(), Sums::default());
        let point = Point::at(&mut working, &settings, b, &mut sums, false)?;
        let Statistics {
            mut gradient,
            gamma,
        } = point.statistics;
        let unit = set.criterion().loss_unit(set.summary());
        let numbers = gradient.as_mut_slice().iter_mut();
        numbers.for_each(|x| *x = *x * unit);
        Ok(Self {
            loss: point.loss,
            gradient,
            gamma,
        })
    }
}

impl<T: Scalar> Hessian<T> {
    /// Computes the exact relative Hessian at B. The rows of B are not rescaled.
    ///
    /// ```
    /// use codiag::{Hessian, Matrix, synthetic};
    /// let set = synthetic::noisy(30, 4, 0.1, 0);
    /// let mut hessian = Hessian::at(&set, &Matrix::identity(4))?;
    /// let e = Matrix::from_fn(4, 4, |a, b| if a == b { 0.0 } else { 1e-3 });
    /// let curvature = e.dot(&hessian.product(&e));
    /// assert!(curvature.is_finite());
    /// # Ok::<(), codiag::Error>(())
    /// ```
    ///
    /// # Errors
    /// If B has the wrong shape, is singular or not finite, or if the criterion is least squares,
    /// whose Hessian is not stored.
    #[inline(never)] // compiled in this crate: see compiled.rs
    pub fn at(set: &MatrixSet<T>, b: &Matrix<T>) -> Result<Self, Error> {
        if set.criterion() == Criterion::LeastSquares {
            return Err(Error::Conflict(Conflict::LeastSquaresHessian));
        }
        let (mut working, b) = prepare(set, b)?;
        let p = set.dimension();
        let needed = Memory::of_numbers(&[p.next_multiple_of(LANES), T::PLANES * p, T::PLANES * p]);
        let what = || format!("the Hessian of {p} components");
        needed.check(what, |_| MemoryRemedy::None)?;
        let mut sums = Sums::default();
        working.evaluate(&Request::Hessian { b }, &mut sums)?;
        Ok(Self::new(set.criterion(), p, sums.hessian))
    }
}

/// Returns a backend for the set, and B in the reduced coordinates of the set.
fn prepare<T: Scalar>(
    set: &MatrixSet<T>,
    b: &Matrix<T>,
) -> Result<(InMemory<T>, Matrix<T>), Error> {
    let b = init::given(set.summary(), b, false)?;
    Ok((InMemory::new(set), b))
}
