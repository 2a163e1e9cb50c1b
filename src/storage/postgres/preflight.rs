//! Requirements for a server before data is written to it. Every refusal says what to do.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::errors::failed;
use crate::storage::StorageError;

/// The oldest supported version: 14.0.
const OLDEST: i64 = 140_000;
/// In each major version the first that keeps `INSERT … ON CONFLICT` from reading rows that a policy hides
/// (CVE-2026-120154).
const MENDED: [(i64, i64); 5] = [(18, 7), (17, 12), (16, 16), (15, 20), (14, 25)];

/// Properties of a server that may change while it runs.
macro_rules! standing {
    () => {
        "pg_is_in_recovery() AS replica, current_setting('fsync') AS fsync,
         current_setting('full_page_writes') AS full_page_writes,
         current_setting('synchronous_commit') AS synchronous_commit,
         current_setting('synchronous_standby_names') AS standbys"
    };
}
pub(super) use standing;

/// The timeline that a server writes, which each promotion raises; 0 on a replica, which writes none.
macro_rules! timeline {
    () => {
        "CASE WHEN pg_is_in_recovery() THEN 0::int8
              ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int8 END AS timeline"
    };
}
pub(super) use timeline;

const FACTS: &str = concat!(
    "-- postgres: preflight.facts
    SELECT current_setting('server_version_num')::int8 AS version, current_setting('server_encoding') AS encoding, ",
    standing!()
);

/// Optional requirements for a server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Demands {
    /// Whether a server that may lose acknowledged commits is accepted.
    pub(super) unsafe_durability: bool,
    /// Whether its commits have to wait for a standby.
    pub(super) standby: bool,
}

/// Why a server is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// A short name for metrics.
    pub(super) kind: &'static str,
    pub(super) advice: String,
}

impl Refusal {
    pub(super) fn new(kind: &'static str, advice: impl Into<String>) -> Self {
        Self { kind, advice: advice.into() }
    }
}

/// Properties that may change while a server runs: an administrator reloads its settings, or a pooler switches servers.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    replica: bool,
    fsync: String,
    full_page_writes: String,
    synchronous_commit: String,
    standbys: String,
}

impl Standing {
    /// Reads the columns that [`standing`] names.
    pub(super) fn of(row: &PgRow) -> Result<Self, StorageError> {
        let text = |column: &str| row.try_get::<String, _>(column).map_err(failed);
        Ok(Self {
            replica: row.try_get("replica").map_err(failed)?,
            fsync: text("fsync")?,
            full_page_writes: text("full_page_writes")?,
            synchronous_commit: text("synchronous_commit")?,
            standbys: text("standbys")?,
        })
    }

    /// Whether commits wait for a standby.
    pub(super) fn is_synchronous(&self) -> bool {
        !self.standbys.is_empty() && !matches!(self.synchronous_commit.as_str(), "off" | "local")
    }

    /// Why the server is refused, if it is.
    pub(super) fn refusal(&self, demands: Demands) -> Option<Refusal> {
        if self.replica {
            return Some(Refusal::new(
                "replica",
                "this server is a replica, and nothing may be decided from one: give the address of the primary",
            ));
        }
        if demands.standby && !self.is_synchronous() {
            return Some(Refusal::new(
                "standby",
                "no standby has to confirm a commit, and --postgres-require-standby was given: name standbys in \
                 synchronous_standby_names",
            ));
        }
        let lax = self.lax().filter(|_| !demands.unsafe_durability)?;
        let advice = format!(
            "{lax}, so that what was acknowledged could be lost: set it back, or start with --postgres-unsafe-durability \
             where that does not matter"
        );
        Some(Refusal::new("durability", advice))
    }

    /// The setting by which it may lose acknowledged commits.
    fn lax(&self) -> Option<&'static str> {
        if self.fsync != "on" {
            return Some("fsync is off");
        }
        if self.full_page_writes != "on" {
            return Some("full_page_writes is off");
        }
        match self.synchronous_commit.as_str() {
            "off" => Some("synchronous_commit is off"),
            "local" if !self.standbys.is_empty() => {
                Some("synchronous_commit is local although there are synchronous standbys")
            }
            _ => None,
        }
    }
}

/// A server's description of itself.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    version: i64,
    encoding: String,
    pub(super) standing: Standing,
}

impl Facts {
    fn number(&self) -> (i64, i64) {
        (self.version / 10_000, self.version % 10_000)
    }

    pub(super) async fn of(connection: &mut PgConnection) -> Result<Self, StorageError> {
        let row = sqlx::raw_sql(FACTS).fetch_one(connection).await.map_err(failed)?;
        Ok(Self {
            version: row.try_get("version").map_err(failed)?,
            encoding: row.try_get("encoding").map_err(failed)?,
            standing: Standing::of(&row)?,
        })
    }

    /// Why the server is refused, if it is.
    pub(super) fn refusal(&self, demands: Demands) -> Option<Refusal> {
        if self.version < OLDEST {
            let (major, minor) = self.number();
            let advice = format!("PostgreSQL {major}.{minor} is too old: 14 is the oldest that works");
            return Some(Refusal::new("version", advice));
        }
        if self.encoding != "UTF8" {
            let advice = "the database's encoding is not UTF8: create one with ENCODING 'UTF8'";
            return Some(Refusal::new("encoding", advice));
        }
        self.standing.refusal(demands)
    }

    /// Recommended changes, if any.
    pub(super) fn advice(&self) -> Option<String> {
        let (major, minor) = self.number();
        let (_, mended) = MENDED.iter().find(|(of, _)| *of == major)?;
        (minor < *mended).then(|| format!("PostgreSQL {major}.{minor} has known faults; {major}.{mended} mends them"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAX: Demands = Demands { unsafe_durability: true, standby: false };
    const STRICT: Demands = Demands { unsafe_durability: false, standby: true };

    fn facts(change: impl FnOnce(&mut Facts)) -> Facts {
        let standing = Standing {
            replica: false,
            fsync: "on".to_owned(),
            full_page_writes: "on".to_owned(),
            synchronous_commit: "on".to_owned(),
            standbys: String::new(),
        };
        let mut facts = Facts { version: 180_007, encoding: "UTF8".to_owned(), standing };
        change(&mut facts);
        facts
    }

    fn kind(facts: &Facts, demands: Demands) -> Option<&'static str> {
        facts.refusal(demands).map(|refusal| refusal.kind)
    }

    fn committing(how: &str, standbys: &str) -> Facts {
        facts(|f| (f.standing.synchronous_commit, f.standing.standbys) = (how.to_owned(), standbys.to_owned()))
    }

    #[test]
    fn a_sound_server_is_taken_without_a_word() {
        let sound = facts(|_| {});
        assert_eq!((sound.refusal(Demands::default()), sound.advice()), (None, None));
        assert_eq!(kind(&committing("remote_apply", ""), Demands::default()), None);
        assert_eq!(kind(&committing("local", ""), Demands::default()), None);
        assert_eq!(kind(&facts(|f| f.version = 140_000), Demands::default()), None);
        assert_eq!(facts(|f| f.version = 190_000).advice(), None);
    }

    #[test]
    fn a_server_that_may_forget_is_refused_unless_told_so() {
        let lax = [
            facts(|f| f.standing.fsync = "off".to_owned()),
            facts(|f| f.standing.full_page_writes = "off".to_owned()),
            committing("off", ""),
            committing("local", "a"),
        ];
        for facts in lax {
            let refusal = facts.refusal(Demands::default()).unwrap();
            assert!(refusal.advice.contains("--postgres-unsafe-durability"), "{facts:?}");
            assert_eq!((refusal.kind, facts.refusal(LAX)), ("durability", None), "{facts:?}");
        }
    }

    #[test]
    fn where_a_standby_is_demanded_commits_have_to_wait_for_one() {
        let cases = [
            ("on", "a", None),
            ("remote_write", "a", None),
            ("on", "", Some("standby")),
            ("local", "a", Some("standby")),
        ];
        for (how, standbys, refused) in cases {
            assert_eq!(kind(&committing(how, standbys), STRICT), refused, "{how} {standbys}");
        }
    }

    #[test]
    fn old_servers_replicas_and_other_encodings_are_refused_always() {
        for facts in [
            facts(|f| f.version = 130_020),
            facts(|f| f.standing.replica = true),
            facts(|f| f.encoding = "SQL_ASCII".to_owned()),
        ] {
            assert!(facts.refusal(LAX).is_some(), "{facts:?}");
        }
        assert!(facts(|f| f.version = 150_018).advice().unwrap().contains("15.20"));
    }
}
