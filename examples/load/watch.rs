//! What is looked at beside the answers, before and after: processes and storage.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::machine::{Process, Usage, file_bytes, usage};
use crate::options::Watch;
use crate::postgres::sizes as sizes_of;
use crate::report::float;

/// A process, before and after.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) name: String,
    process: Process,
    pub(crate) before: Usage,
    pub(crate) after: Usage,
}

/// Something that grows, before and after, in bytes.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) name: &'static str,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) processes: Vec<Running>,
    pub(crate) stores: Vec<Store>,
    database: Option<PathBuf>,
    postgres: Option<String>,
}

impl Watched {
    /// What was asked for, and this program itself. A process that does not exist is a mistake of whoever asked.
    pub(crate) fn new(watch: &Watch) -> Result<Self, String> {
        let ones = watch.pids.iter().map(|pid| (format!("server {pid}"), Process::One(*pid)));
        let trees = watch.trees.iter().map(|pid| (format!("tree {pid}"), Process::Tree(*pid)));
        let mut processes = Vec::new();
        for (name, process) in ones.chain(trees).chain([("this client".to_owned(), Process::This)]) {
            match (usage(process), process) {
                (Some(before), _) => processes.push(Running { name, process, before, after: before }),
                // A system without /proc tells nothing about this program; that is no mistake.
                (None, Process::This) => {}
                (None, _) => return Err(format!("there is no process of which something can be told: {name}")),
            }
        }
        let (database, postgres) = (watch.database.clone(), watch.postgres.clone());
        Ok(Self { processes, stores: Vec::new(), database, postgres })
    }

    /// What was before is as of now.
    pub(crate) async fn begin(&mut self) -> Result<(), String> {
        let sizes = self.sizes().await?;
        self.stores = sizes.into_iter().map(|(name, bytes)| Store { name, before: bytes, after: bytes }).collect();
        for process in &mut self.processes {
            process.before = usage(process.process).unwrap_or(process.before);
        }
        Ok(())
    }

    /// What was after is as of now. A process that has ended since keeps what was known of it.
    pub(crate) async fn end(&mut self) -> Result<(), String> {
        for process in &mut self.processes {
            process.after = usage(process.process).unwrap_or(process.before);
        }
        let sizes = self.sizes().await?;
        for (store, (_, bytes)) in self.stores.iter_mut().zip(sizes) {
            store.after = bytes;
        }
        Ok(())
    }

    async fn sizes(&self) -> Result<Vec<(&'static str, u64)>, String> {
        let mut sizes: Vec<_> = self.database.iter().map(|path| ("file and log", file_bytes(path))).collect();
        if let Some(url) = &self.postgres {
            let [database, log] = sizes_of(url).await?;
            sizes.extend([("database", database), ("log", log)]);
        }
        Ok(sizes)
    }
}

impl Running {
    /// The processor time between the two, in seconds.
    pub(crate) fn processor(&self) -> f64 {
        (self.after.processor - self.before.processor).max(0.0)
    }

    pub(crate) fn json(&self, requests: u64) -> Value {
        json!({
            "name": self.name,
            "memory_before": self.before.memory, "memory_after": self.after.memory, "memory_peak": self.after.peak,
            "processor_seconds": self.processor(),
            "processor_micros_per_request": self.processor() * 1e6 / float(requests.max(1)),
        })
    }
}

impl Store {
    /// How many bytes it has grown by.
    pub(crate) fn grown(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }

    pub(crate) fn json(&self, turns: u64) -> Value {
        json!({
            "name": self.name, "before": self.before, "after": self.after,
            "grown_per_turn": self.grown() / turns.max(1),
        })
    }
}
