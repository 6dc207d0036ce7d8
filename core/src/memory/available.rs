//! The memory that this process can still allocate, as reported by the system.

use std::fs;
use std::path::{Path, PathBuf};

use super::Memory;

/// Reserve for thread stacks, allocator arenas and small buffers in a limited address space.
const ADDRESS_SPACE_RESERVE: u64 = 64 << 20;

/// Returns the minimum of the free memory of the machine, the memory left by the limits of the
/// control groups, and the memory left by the limits of the process. None if the system does not
/// report them, as outside Linux.
pub(crate) fn available() -> Option<Memory> {
    let limits = [
        free_on_machine(),
        left_by_control_groups(),
        left_by_process(),
    ];
    limits.into_iter().flatten().min().map(Memory)
}

/// Returns the free memory of the machine, including reclaimable caches and free swap space.
fn free_on_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let swap = kilobytes(&text, "SwapFree:").unwrap_or(0);
    Some(kilobytes(&text, "MemAvailable:")?.saturating_add(swap))
}

/// Returns the memory left by the soft limits of the address space and the data segment.
fn left_by_process() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let left = |limit: &str, used: &str| {
        let limit = soft_limit(&limits, limit)?;
        let used = kilobytes(&status, used).unwrap_or(0);
        Some(limit.saturating_sub(used.saturating_add(ADDRESS_SPACE_RESERVE)))
    };
    let limits = [
        left("Max address space", "VmSize:"),
        left("Max data size", "VmData:"),
    ];
    limits.into_iter().flatten().min()
}

/// Parses the value of a line such as "MemAvailable:  1234 kB", in bytes.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1024)
}

/// Parses the first number of a line such as "Max address space  unlimited  unlimited  bytes"; None
/// if there is no limit.
fn soft_limit(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the memory left by the limits of the control groups of this process.
fn left_by_control_groups() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        if controllers.is_empty() {
            return left_by_group("/sys/fs/cgroup", path, "memory.max", "memory.current");
        }
        let is_memory = controllers.split(',').any(|name| name == "memory");
        let names = ("memory.limit_in_bytes", "memory.usage_in_bytes");
        is_memory
            .then(|| left_by_group("/sys/fs/cgroup/memory", path, names.0, names.1))
            .flatten()
    });
    limits.min()
}

/// Returns the memory left by the limits of a control group and its ancestors.
fn left_by_group(root: &str, path: &str, limit: &str, usage: &str) -> Option<u64> {
    let root = Path::new(root);
    let group = root.join(path.trim_start_matches('/'));
    let folders: Vec<PathBuf> = group.ancestors().map(Path::to_path_buf).collect();
    let left = |folder: &PathBuf| {
        let number = |name: &str| -> Option<u64> {
            let text = fs::read_to_string(folder.join(name)).ok()?;
            text.trim().parse().ok()
        };
        let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        // File caches are reclaimable.
        let cached = statistics
            .lines()
            .find_map(|line| line.strip_prefix("inactive_file "))
            .and_then(|number| number.trim().parse().ok())
            .unwrap_or(0);
        let used = number(usage).unwrap_or(0).saturating_sub(cached);
        Some(number(limit)?.saturating_sub(used))
    };
    let within = folders.iter().take_while(|folder| folder.starts_with(root));
    within.filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_lines_are_parsed() {
        let text = "MemTotal:  24684100 kB\nMemAvailable:   1000 kB\nSwapFree: 0 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(1_024_000));
        assert_eq!(kilobytes(text, "MemLost:"), None);
        let limits = "Max data size        unlimited  unlimited  bytes\n\
                      Max address space    512000000  unlimited  bytes\n";
        assert_eq!(soft_limit(limits, "Max address space"), Some(512_000_000));
        assert_eq!(soft_limit(limits, "Max data size"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn linux_reports_available_memory() {
        assert!(available().is_some_and(|memory| memory.0 > 0));
    }
}
