//! One server for a database file, whatever became of the last one; and a clock that may not be believed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::folder::{Folder, complained, cscp};
use crate::leg;
use crate::server::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_one_file_is_refused_and_commands_are_not() {
    if leg::on_postgres() {
        return;
    }
    let folder = Folder::with_tenant();
    let mut first = Server::start(&folder);
    let second = || {
        let mut command = cscp();
        command.args(["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off", "--database"]).arg(folder.database());
        command.current_dir(folder.path()).output().unwrap()
    };
    let refused = second();
    assert!(!refused.status.success(), "{refused:?}");
    assert!(complained(&refused).contains("another server works on this database file"), "{refused:?}");
    let link = folder.path().join("link.db");
    fs::hard_link(folder.database(), &link).unwrap();
    let mut by_another_name = cscp();
    by_another_name.args(["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off", "--database"]).arg(&link);
    let refused = by_another_name.output().unwrap();
    assert!(!refused.status.success() && complained(&refused).contains("hard link"), "{refused:?}");
    fs::remove_file(link).unwrap();
    folder.key("handler");
    assert!(folder.done(&["verify"]).contains("Every chain holds"));
    folder.done(&["backup", folder.path().join("copy.db").to_str().unwrap()]);
    folder.done(&["purge", "--dry-run"]);
    first.kill();
    let (_, logged) = Server::start(&folder).stop().await;
    assert!(!logged.contains("read or changed by others"), "{logged}");
    let database = folder.database();
    fs::set_permissions(&database, Permissions::from_mode(0o644)).unwrap();
    let guard = folder.state().join("cscp/guard");
    assert_eq!(fs::metadata(&guard).unwrap().permissions().mode() & 0o777, 0o700, "it is made for its owner alone");
    fs::set_permissions(&guard, Permissions::from_mode(0o755)).unwrap();
    let (_, logged) = Server::start(&folder).stop().await;
    for what in ["the database file", "the folder of the guard"] {
        assert!(logged.contains(what), "{what}: {logged}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purging_by_a_clock_that_nobody_vouches_for_is_refused_unless_it_is_said_to_be_right() {
    let folder = Folder::with_tenant();
    folder.done(&["purge"]);
    folder.changed("UPDATE leases SET until = 1700000000000000 WHERE name = 'clock' RETURNING name").await;
    folder.done(&["purge", "--dry-run"]);
    let refused = folder.run(&["purge"]);
    let why = complained(&refused);
    assert!(!refused.status.success() && why.contains("nothing is erased"), "{refused:?}");
    assert!(why.contains("2023-11-14") && why.contains("--the-clock-is-right"), "{why}");
    folder.done(&["purge", "--the-clock-is-right"]);
    folder.done(&["purge"]);
}
