//! Memory that a set and its solve need, checked before anything is allocated.

use crate::error::MemoryRemedy;
use crate::linalg::Scalar;
use crate::linalg::kernels::{LANES, hessian_len};
use crate::tuning::DEFAULT_HESSIAN_MEMORY;
use crate::{Error, Memory};

/// The Hessian of larger matrices exceeds the memory limit of a Hessian.
const MAX_SIZE_WITH_HESSIAN: usize = 1 << 12;
/// Maximum number of Hessians that are summed separately.
const MAX_HESSIANS: usize = 32;
/// Bytes that separately summed Hessians may use, even if the set is smaller.
const HESSIAN_BYTES: u64 = 64 << 20;

/// Returns the memory of n p×p matrices in blocks, which store one triangle of each.
pub(crate) fn of_blocks<T: Scalar>(n: usize, p: usize) -> Memory {
    let lanes = n.saturating_add(LANES - 1) / LANES * LANES;
    let both = Memory::of_numbers(&[T::PLANES, p, p.saturating_add(1), lanes]);
    match both {
        Memory::UNCOUNTABLE => both,
        both => Memory(both.0 / 2),
    }
}

/// Returns the memory of a solve of n p×p matrices besides their blocks: the transformed matrices,
/// two tables along the search direction, diagonals, and Hessians.
pub(crate) fn of_solve<T: Scalar>(n: usize, p: usize) -> Memory {
    let blocks = of_blocks::<T>(n, p);
    let tables = Memory::of_numbers(&[n, p.saturating_add(4)]);
    blocks
        .times(3)
        .plus(tables)
        .plus(of_hessians::<T>(blocks, p))
}

fn of_hessians<T: Scalar>(blocks: Memory, p: usize) -> Memory {
    if p > MAX_SIZE_WITH_HESSIAN {
        return Memory(0);
    }
    let one = Memory::of_numbers(&[hessian_len(p, T::PLANES)]);
    if one.0 > DEFAULT_HESSIAN_MEMORY as u64 {
        return Memory(0);
    }
    let at_once = blocks.0.max(HESSIAN_BYTES) / one.0.max(1);
    // Plus the Hessian of the solver and its copy in single precision.
    one.times((at_once as usize).clamp(1, MAX_HESSIANS) + 2)
}

/// Fails if n p×p matrices do not fit into memory.
pub(crate) fn check_blocks<T: Scalar>(n: usize, p: usize) -> Result<(), Error> {
    let what = || format!("a set of {n} matrices of {p} x {p}");
    of_blocks::<T>(n, p).check(what, |_| MemoryRemedy::OnDisk)
}

/// Fails if a solve of n p×p matrices that are in memory already does not fit.
pub(crate) fn check_solve<T: Scalar>(n: usize, p: usize) -> Result<(), Error> {
    of_solve::<T>(n, p).check(|| solve_of(n, p), |_| MemoryRemedy::OnDisk)
}

/// Fails if n p×p matrices and their solve do not fit into memory.
pub(crate) fn check_set_and_solve<T: Scalar>(n: usize, p: usize) -> Result<(), Error> {
    let both = of_blocks::<T>(n, p).plus(of_solve::<T>(n, p));
    both.check(|| solve_of(n, p), |_| MemoryRemedy::OnDisk)
}

fn solve_of(n: usize, p: usize) -> String {
    format!("a solve of {n} matrices of {p} x {p}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c64;

    #[test]
    fn memory_of_complex_matrices_doubles_and_huge_sizes_saturate() {
        assert_eq!(of_blocks::<f64>(16, 3), Memory(8 * 6 * 16));
        assert_eq!(of_blocks::<c64>(16, 3), Memory(8 * 12 * 16));
        assert_eq!(of_blocks::<f64>(9, 3), of_blocks::<f64>(16, 3));
        assert!(of_solve::<f64>(16, 3) > of_blocks::<f64>(16, 3).times(3));
        assert_eq!(of_solve::<f64>(usize::MAX, 2), Memory::UNCOUNTABLE);
        assert_eq!(of_solve::<f64>(2, usize::MAX), Memory::UNCOUNTABLE);
    }

    #[test]
    fn error_about_impossible_size_has_the_amount() {
        let error = check_set_and_solve::<f64>(1 << 40, 100).unwrap_err();
        let Error::OutOfMemory { needed, .. } = &error else {
            panic!("{error}");
        };
        assert!(needed.0 > (8 * 5050) << 40);
        assert!(
            error
                .to_string()
                .contains("a solve of 1099511627776 matrices of 100 x 100")
        );
    }
}
