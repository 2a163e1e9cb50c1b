//! What is asked of a server before anything is entrusted to it. Every refusal says what to do.

use sqlx::{PgConnection, Row as _};

use super::rows::failed;
use super::settings::PostgresSettings;
use crate::storage::StorageError;

/// The oldest version that works: 14.0.
const OLDEST: i64 = 140_000;
/// In each major version the first that keeps `INSERT … ON CONFLICT` from reading rows that a policy hides
/// (CVE-2026-120154).
const MENDED: [(i64, i64); 5] = [(18, 7), (17, 12), (16, 16), (15, 20), (14, 25)];

const FACTS: &str = "-- postgres: preflight.facts
    SELECT current_setting('server_version_num')::int8 AS version, pg_is_in_recovery() AS replica,
           current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
           current_setting('synchronous_commit') AS synchronous_commit,
           current_setting('synchronous_standby_names') AS standbys,
           current_setting('server_encoding') AS encoding";

/// What a server says about itself.
#[derive(Debug, Clone)]
struct Facts {
    version: i64,
    replica: bool,
    fsync: String,
    full_page_writes: String,
    synchronous_commit: String,
    standbys: String,
    encoding: String,
}

/// Refuses a server that cannot do what is promised in its name.
pub(super) async fn check(connection: &mut PgConnection, settings: &PostgresSettings) -> Result<(), StorageError> {
    let row = sqlx::raw_sql(FACTS).fetch_one(connection).await.map_err(failed)?;
    let text = |column: &str| row.try_get::<String, _>(column).map_err(failed);
    let facts = Facts {
        version: row.try_get("version").map_err(failed)?,
        replica: row.try_get("replica").map_err(failed)?,
        fsync: text("fsync")?,
        full_page_writes: text("full_page_writes")?,
        synchronous_commit: text("synchronous_commit")?,
        standbys: text("standbys")?,
        encoding: text("encoding")?,
    };
    if let Some(advice) = facts.advice() {
        tracing::warn!(postgres.advice = %advice, "the database server should be updated");
    }
    match facts.refusal(settings.unsafe_durability) {
        Some(why) => Err(StorageError::Unavailable(why)),
        None => Ok(()),
    }
}

impl Facts {
    fn number(&self) -> (i64, i64) {
        (self.version / 10_000, self.version % 10_000)
    }

    /// Why nothing is entrusted to it, if so.
    fn refusal(&self, unsafe_durability: bool) -> Option<String> {
        if self.version < OLDEST {
            let (major, minor) = self.number();
            return Some(format!("PostgreSQL {major}.{minor} is too old: 14 is the oldest that works"));
        }
        if self.replica {
            return Some(
                "this server is a replica, and nothing may be decided from one: give the address of the primary"
                    .to_owned(),
            );
        }
        if self.encoding != "UTF8" {
            return Some("the database's encoding is not UTF8: create one with ENCODING 'UTF8'".to_owned());
        }
        let lax = self.lax().filter(|_| !unsafe_durability)?;
        Some(format!(
            "{lax}, so that what was acknowledged could be lost: set it back, or start with \
             --postgres-unsafe-durability where that does not matter"
        ))
    }

    /// The setting by which it may forget what it acknowledged.
    fn lax(&self) -> Option<String> {
        if self.fsync != "on" {
            return Some("fsync is off".to_owned());
        }
        if self.full_page_writes != "on" {
            return Some("full_page_writes is off".to_owned());
        }
        match self.synchronous_commit.as_str() {
            "off" => Some("synchronous_commit is off".to_owned()),
            "local" if !self.standbys.is_empty() => {
                Some("synchronous_commit is local although there are synchronous standbys".to_owned())
            }
            _ => None,
        }
    }

    /// What would be better, if anything.
    fn advice(&self) -> Option<String> {
        let (major, minor) = self.number();
        let (_, mended) = MENDED.iter().find(|(of, _)| *of == major)?;
        (minor < *mended).then(|| format!("PostgreSQL {major}.{minor} has known faults; {major}.{mended} mends them"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(change: impl FnOnce(&mut Facts)) -> Facts {
        let mut facts = Facts {
            version: 180_007,
            replica: false,
            fsync: "on".to_owned(),
            full_page_writes: "on".to_owned(),
            synchronous_commit: "on".to_owned(),
            standbys: String::new(),
            encoding: "UTF8".to_owned(),
        };
        change(&mut facts);
        facts
    }

    #[test]
    fn a_sound_server_is_taken_without_a_word() {
        let sound = facts(|_| {});
        assert_eq!((sound.refusal(false), sound.advice()), (None, None));
        assert_eq!(facts(|f| f.synchronous_commit = "remote_apply".to_owned()).refusal(false), None);
        assert_eq!(facts(|f| f.synchronous_commit = "local".to_owned()).refusal(false), None);
        assert_eq!(facts(|f| f.version = 140_000).refusal(false), None);
        assert_eq!(facts(|f| f.version = 190_000).advice(), None);
    }

    #[test]
    fn a_server_that_may_forget_is_refused_unless_told_so() {
        let off = |set: fn(&mut Facts)| facts(set);
        let lax = [
            off(|f| f.fsync = "off".to_owned()),
            off(|f| f.full_page_writes = "off".to_owned()),
            off(|f| f.synchronous_commit = "off".to_owned()),
            off(|f| (f.synchronous_commit, f.standbys) = ("local".to_owned(), "a".to_owned())),
        ];
        for facts in lax {
            assert!(facts.refusal(false).unwrap().contains("--postgres-unsafe-durability"), "{facts:?}");
            assert_eq!(facts.refusal(true), None, "{facts:?}");
        }
    }

    #[test]
    fn old_servers_replicas_and_other_encodings_are_refused_always() {
        for facts in [
            facts(|f| f.version = 130_020),
            facts(|f| f.replica = true),
            facts(|f| f.encoding = "SQL_ASCII".to_owned()),
        ] {
            assert!(facts.refusal(true).is_some(), "{facts:?}");
        }
        assert!(facts(|f| f.version = 150_018).advice().unwrap().contains("15.20"));
    }
}
