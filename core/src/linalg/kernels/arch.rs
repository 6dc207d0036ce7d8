//! Which vector instructions the kernels use.

use pulp::Arch;

/// The widest vector instructions of this processor.
#[cfg(not(any(test, feature = "internals")))]
#[inline(always)]
pub fn arch() -> Arch {
    Arch::new()
}

/// The widest vector instructions of this processor, or those that [`limit_vectors`] leaves.
#[cfg(any(test, feature = "internals"))]
pub fn arch() -> Arch {
    match limit::get() {
        Some(VectorLimit::None) => Arch::Scalar,
        #[cfg(target_arch = "x86_64")]
        Some(VectorLimit::Avx2) => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    }
}

#[cfg(any(test, feature = "internals"))]
pub use limit::{VectorLimit, limit_vectors};

/// For tests: kernels as other processors run them.
#[cfg(any(test, feature = "internals"))]
mod limit {
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Vector instructions that a test allows the kernels to use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum VectorLimit {
        /// No vectors and no fused multiply-add.
        None = 1,
        /// At most AVX2 with fused multiply-add, of a processor of the x86-64 family.
        Avx2 = 2,
    }

    static LIMIT: AtomicU8 = AtomicU8::new(0);

    /// Limits the vector instructions of all kernels in this process (`None`: no limit).
    pub fn limit_vectors(limit: Option<VectorLimit>) {
        LIMIT.store(limit.map_or(0, |limit| limit as u8), Ordering::Relaxed);
    }

    pub(super) fn get() -> Option<VectorLimit> {
        match LIMIT.load(Ordering::Relaxed) {
            1 => Some(VectorLimit::None),
            2 => Some(VectorLimit::Avx2),
            _ => None,
        }
    }
}
