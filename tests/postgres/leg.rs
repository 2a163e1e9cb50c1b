//! The two legs of a suite: its tests run on SQLite, and one of them runs all others again on PostgreSQL.
//!
//! `CSCP_TEST_DATABASE=postgres` chooses the leg by hand: `CSCP_TEST_DATABASE=postgres cargo test --test api faults`.

use std::fmt::Write as _;
use std::process::Command;

use crate::postgres::{crate_name, say, server, setting};

const CHOICE: &str = "CSCP_TEST_DATABASE";

/// Tests that choose their database themselves, each with the reason. Nothing but these is left out the second time.
const ONCE: &[(&str, &str)] = &[
    ("a_full_disk_is_503_and_recovers_without_help", "the disk that is full is the server's own"),
    ("the_demo_shows_each_verdict", "the demo has no database but its own"),
    ("every_lie_is_found", "the lies are told by a proxy, whichever database is behind it"),
    ("the_history_of", "each has a database of its own: one a file, one a PostgreSQL that is killed with it"),
    ("two_servers_lose_nothing_and_do_nothing_twice", "they have a PostgreSQL of their own, to kill it"),
];

/// Whether this process is on the leg of PostgreSQL.
pub(crate) fn on_postgres() -> bool {
    match setting(CHOICE).as_deref() {
        None | Some("sqlite") => false,
        Some("postgres") => true,
        Some(other) => panic!("{CHOICE} is sqlite or postgres, not {other}"),
    }
}

#[test]
fn the_whole_suite_again_on_postgresql() {
    if setting(CHOICE).is_some() {
        return;
    }
    let Some(server) = server() else { return };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--color", "never", "--skip", "the_whole_suite_again_on_postgresql"]);
    for (name, _) in ONCE {
        command.args(["--skip", name]);
    }
    let output = command.env(CHOICE, "postgres").env("CSCP_TEST_POSTGRES_URL", server).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    // For whoever adds up such lines: these tests ran, too.
    let summary = printed.lines().find(|line| line.starts_with("test result: "));
    say(&format!("On PostgreSQL, {}:\n{}", crate_name(), summary.unwrap_or("no result")));
    if !output.status.success() || summary.is_none() {
        // Indented, so that no line of it is taken for one of this run.
        let mut all = String::new();
        for line in printed.lines().chain(String::from_utf8_lossy(&output.stderr).lines()) {
            writeln!(all, "    | {line}").unwrap();
        }
        panic!("on PostgreSQL, {}:\n{all}", output.status);
    }
}
