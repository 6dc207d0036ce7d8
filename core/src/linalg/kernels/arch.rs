//! Which vector instructions the kernels use.

use std::sync::OnceLock;

use pulp::Arch;

/// The environment variable that limits the vector instructions: `avx2` leaves out AVX-512, `none` leaves out all of them and fused
/// multiply-add. Any other value has no effect. It serves to compare processors on one machine.
const LIMIT: &str = "CODIAG_SIMD";

/// The widest vector instructions of this processor, or of those that `CODIAG_SIMD` leaves.
#[inline]
pub fn arch() -> Arch {
    static ARCH: OnceLock<Arch> = OnceLock::new();
    *ARCH.get_or_init(|| limited(std::env::var(LIMIT).ok().as_deref()))
}

fn limited(limit: Option<&str>) -> Arch {
    match limit {
        Some("none") => Arch::Scalar,
        #[cfg(target_arch = "x86_64")]
        Some("avx2") => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    }
}
