//! What the machine tells about processes and files, where the system has `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a process uses.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// The memory that it holds, in bytes.
    pub(crate) memory: u64,
    /// The most memory that it has held, in bytes.
    pub(crate) peak: u64,
    /// The processor time that it has used, in seconds.
    pub(crate) processor: f64,
}

/// A process by its id, or this program.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Process {
    This,
    One(u32),
    /// With all its descendants.
    Tree(u32),
}

/// What it uses now; none if there is no such process.
pub(crate) fn usage(process: Process) -> Option<Usage> {
    match process {
        Process::This => one("self"),
        Process::One(pid) => one(&pid.to_string()),
        Process::Tree(pid) => tree(pid),
    }
}

fn one(pid: &str) -> Option<Usage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let stat = Stat::read(pid)?;
    let (memory, peak) = (kibibytes(&status, "VmRSS:")?, kibibytes(&status, "VmHWM:")?);
    Some(Usage { memory, peak, processor: seconds(stat.own) })
}

/// Memory that processes share is counted once where the system tells each one's part of it, and processor time of
/// descendants that have ended is counted with whoever waited for them.
fn tree(root: u32) -> Option<Usage> {
    let mut usage = Usage::default();
    let mut ticks = 0;
    for pid in descendants(root)? {
        let pid = pid.to_string();
        let Some(stat) = Stat::read(&pid) else { continue };
        ticks += stat.own + stat.ended;
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        usage.memory += kibibytes(&rollup, "Pss:").or_else(|| one(&pid).map(|usage| usage.memory)).unwrap_or(0);
    }
    usage.processor = seconds(ticks);
    Some(usage)
}

fn descendants(root: u32) -> Option<Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if let Some(stat) = Stat::read(&pid.to_string()) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    Stat::read(&root.to_string())?;
    let (mut found, mut at) = (vec![root], 0);
    while let Some(pid) = found.get(at) {
        let below = children.remove(pid).unwrap_or_default();
        found.extend(below);
        at += 1;
    }
    Some(found)
}

/// What `/proc/…/stat` says. Times are in hundredths of a second.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    own: u64,
    /// Of descendants that have ended.
    ended: u64,
}

impl Stat {
    fn read(pid: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(stat: &str) -> Option<Self> {
        // The command's name may hold spaces and brackets; what follows its last bracket does not.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<u64> = fields.split_whitespace().skip(1).map(|field| field.parse().unwrap_or(0)).collect();
        let [own, ended] = [fields.get(10..12)?, fields.get(12..14)?].map(|times| times.iter().sum());
        Some(Self { parent: u32::try_from(*fields.first()?).ok()?, own, ended })
    }
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kibibytes * 1_024)
}

fn seconds(ticks: u64) -> f64 {
    crate::report::float(ticks) / 100.0
}

/// The size of a database file and of its write-ahead log.
pub(crate) fn file_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    size(path) + size(&PathBuf::from(log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "42 (a (b) c) S 7 1 1 0 -1 4194560 1 2 3 4 100 23 7 5 20 0 9 0 11 12 13";
        assert_eq!(Stat::parse(stat), Some(Stat { parent: 7, own: 123, ended: 12 }));
        assert_eq!(Stat::parse("42 (a) S 7"), None);
    }

    #[test]
    fn this_process_is_alone_in_its_tree_and_holds_memory() {
        let (one, tree) = (usage(Process::This).unwrap(), usage(Process::Tree(std::process::id())).unwrap());
        assert!(one.memory > 100_000 && one.peak >= one.memory && tree.memory > 100_000);
        assert!(usage(Process::One(u32::MAX)).is_none() && usage(Process::Tree(u32::MAX)).is_none());
    }
}
