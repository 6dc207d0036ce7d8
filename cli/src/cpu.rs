//! Properties of the processor.

/// Returns the name of the processor and the number of threads: "AMD EPYC 7763 (2 threads)".
pub fn description() -> String {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let processor = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("{processor} ({threads} threads)")
}

/// Whether the processor has fused multiply-add instructions.
pub fn has_fma() -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    return cfg!(target_arch = "aarch64");
}
