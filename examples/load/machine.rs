//! What the machine tells about a process and its files.

use std::path::{Path, PathBuf};

/// The memory that a process holds (`VmRSS`), where the system has `/proc`.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1_024)
}

/// The processor time that a process has used, in seconds: `utime` and `stime`, counted in hundredths.
pub(crate) fn processor_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold spaces; what follows its closing bracket does not.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<u32> = fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    Some(f64::from(ticks.iter().sum::<u32>()) / 100.0)
}

/// The size of a database file and of its write-ahead log.
pub(crate) fn file_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    size(path) + size(&PathBuf::from(log))
}

/// Bytes in a unit that people compare.
#[expect(clippy::cast_precision_loss, reason = "printed with one decimal")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
