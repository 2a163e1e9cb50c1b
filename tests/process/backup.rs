//! A backup is taken while the server works, and restored in another place: what had been acknowledged is known there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use crate::caller::Caller;
use crate::folder::{Folder, complained, has_tool, program};
use crate::leg;
use crate::postgres::{missing, say};
use crate::server::Server;
use crate::talk::Talk;
use crate::waiting::pass;

const TALKS: usize = 4;
/// Of each talk before the backup: two exchanges, and half of a third.
const STEPS: usize = 10;

fn talks(name: &str) -> Vec<Talk> {
    (0..TALKS).map(|n| Talk::new(&format!("{name}-{n}"))).collect()
}

/// Lets them talk until the server is gone. Each fails when it is answered with anything but its due.
fn talk_on(talks: Vec<Talk>, caller: &Caller) -> JoinSet<Talk> {
    let mut talking = JoinSet::new();
    for mut talk in talks {
        let caller = caller.clone();
        talking.spawn(async move {
            talk.go_on(&caller).await;
            talk
        });
    }
    talking
}

async fn check_all(talks: &mut [Talk], caller: &Caller) {
    for talk in talks {
        talk.ledger.check_all(caller).await;
    }
}

fn turns(talks: &[Talk]) -> usize {
    talks.iter().map(|talk| talk.ledger.turns()).sum()
}

/// Runs one of PostgreSQL's programs, as the operator's guide says.
fn run(name: &str, arguments: &[&str], database: OsString) {
    let output = program(name).args(arguments).arg("-d").arg(database).output().unwrap();
    assert!(output.status.success(), "{name}: {output:?}");
}

/// Takes a backup of what the server is working on.
fn back_up(folder: &Folder) -> PathBuf {
    let file = folder.path().join("backup");
    let name = file.to_str().unwrap();
    if leg::on_postgres() {
        run("pg_dump", &["-Fc", "--no-owner", "--no-acl", "-f", name], folder.database());
    } else {
        assert!(folder.done(&["backup", name]).contains("cscp verify"));
        expect_private(&file);
    }
    file
}

/// Restores it where there was nothing before.
fn restored(backup: &Path) -> Folder {
    let elsewhere = Folder::empty();
    if leg::on_postgres() {
        let file = backup.to_str().unwrap();
        let how = ["--exit-on-error", "--single-transaction", "--no-owner", file];
        run("pg_restore", &how, elsewhere.database());
    } else {
        fs::copy(backup, elsewhere.database()).unwrap();
    }
    elsewhere
}

#[cfg(unix)]
fn expect_private(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "only its owner reads a backup");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_knows_what_was_acknowledged_before_it() {
    if leg::on_postgres() && !has_tool("pg_dump", "a backup of PostgreSQL") {
        return missing("pg_dump is nowhere to be found");
    }
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &key);
    let mut before = talks("before");
    for talk in &mut before {
        talk.take_steps(&caller, STEPS).await;
    }
    // What was acknowledged a moment ago stands in the write-ahead log of a server that goes on.
    let talking = talk_on(talks("meanwhile"), &caller);
    // The runtime goes on with the talks on its other thread.
    let backup = back_up(&folder);
    pass(std::time::Duration::from_millis(200)).await;
    server.stop().await;
    let mut meanwhile = talking.join_all().await;

    let elsewhere = restored(&backup);
    elsewhere.expect_sound().await;
    let server = Server::start(&elsewhere);
    let caller = Caller::new(&server.base, &key);
    check_all(&mut before, &caller).await;
    let talking = talk_on(talks("after"), &caller);
    pass(std::time::Duration::from_millis(300)).await;
    server.stop().await;
    let mut after = talking.join_all().await;
    let server = Server::start(&elsewhere);
    check_all(&mut after, &Caller::new(&server.base, &key)).await;
    server.stop().await;
    elsewhere.expect_sound().await;

    // The database that was copied has lost nothing by it.
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &key);
    check_all(&mut before, &caller).await;
    check_all(&mut meanwhile, &caller).await;
    server.stop().await;
    folder.expect_sound().await;
    let counts = [&before, &meanwhile, &after].map(|talks| turns(talks));
    say(&format!("turns before, during and after the backup: {counts:?}"));
    assert!(counts.iter().all(|turns| *turns >= TALKS), "{counts:?}");
}

#[test]
fn a_backup_replaces_nothing_and_appears_whole_or_not_at_all() {
    let folder = Folder::with_tenant();
    let path = |name: &str| folder.path().join(name);
    let backup = |name: &str| folder.run(&["backup", path(name).to_str().unwrap()]);
    if leg::on_postgres() {
        let refused = backup("a.db");
        assert!(refused.status.code() == Some(1) && complained(&refused).contains("pg_dump"), "{refused:?}");
        return;
    }
    // What an interrupted backup has left behind is in nobody's way.
    fs::write(path("a.db.partial"), "half of something").unwrap();
    assert!(backup("a.db").status.success());
    assert!(!path("a.db.partial").exists());
    let first = fs::read(path("a.db")).unwrap();
    let again = backup("a.db");
    assert!(again.status.code() == Some(1) && complained(&again).contains("replaces nothing"), "{again:?}");
    assert_eq!(fs::read(path("a.db")).unwrap(), first);

    let nowhere = backup("no such folder/b.db");
    assert_eq!(nowhere.status.code(), Some(1), "{nowhere:?}");
    fs::write(folder.database(), "no database").unwrap();
    let broken = backup("c.db");
    assert!(broken.status.code() == Some(1) && complained(&broken).contains("cannot be copied"), "{broken:?}");
    assert!(!path("c.db").exists() && !path("c.db.partial").exists());
    let absent = Folder::empty();
    let absent = absent.run(&["backup", path("d.db").to_str().unwrap()]);
    assert!(absent.status.code() == Some(1) && complained(&absent).contains("no database"), "{absent:?}");
}
