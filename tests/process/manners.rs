//! How the program behaves towards somebody who mistypes, looks around, or listens to the whole network.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::caller::{Caller, Sent, hello};
use crate::first_run::keys;
use crate::folder::{Folder, TENANT, complained, cscp, printed};
use crate::server::Server;

/// Every command that works on a database, but for `migrate`, which makes one.
const COMMANDS: &[&[&str]] = &[
    &["tenant", "create", "other"],
    &["tenant", "list"],
    &["tenant", "disable", TENANT],
    &["tenant", "attach-policy", TENANT, "strong"],
    &["key", "create", "--tenant", TENANT, "--kind", "handler"],
    &["key", "list", "--tenant", TENANT],
    &["policy", "published"],
    &["policy", "withdraw"],
    &["verify"],
    &["verify", "--rebuild-tree"],
    &["replay", "--verify"],
    &["purge"],
    &["purge", "--dry-run"],
    &["backup", "copy.db"],
    &["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off"],
    &["--listen", "127.0.0.1:0", "--ops-listen", "off"],
];

fn at(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = cscp();
    command.current_dir(folder).args(arguments);
    command
}

fn refused(command: &mut Command) -> String {
    let output: Output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?}: {output:?}");
    assert_eq!(printed(&output), "", "{command:?}");
    complained(&output)
}

fn in_folder(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn a_mistyped_database_is_named_and_never_made() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in COMMANDS {
        let complaint = refused(at(folder.path(), arguments).args(["--database", "data/shpo.db"]));
        for says in ["there is no database data/shpo.db", "cscp migrate --database data/shpo.db"] {
            assert!(complaint.contains(says), "{arguments:?}: {complaint}");
        }
        assert!(in_folder(folder.path()).is_empty(), "{arguments:?} left {:?}", in_folder(folder.path()));
    }
    // In the environment it is as mistyped as on the command line.
    let complaint = refused(at(folder.path(), &["serve"]).env("CSCP_DATABASE", "shpo.db"));
    assert!(complaint.contains("there is no database shpo.db"), "{complaint}");
    assert!(in_folder(folder.path()).is_empty());
}

#[test]
fn commands_that_look_make_no_database_where_none_was_named_either() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in COMMANDS.iter().filter(|arguments| !arguments.contains(&"--listen")) {
        let complaint = refused(&mut at(folder.path(), arguments));
        assert!(complaint.contains("there is no database ./data/cscp.db"), "{arguments:?}: {complaint}");
        assert!(in_folder(folder.path()).is_empty(), "{arguments:?} left {:?}", in_folder(folder.path()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_made_by_migrate_and_by_a_server_that_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off", "--no-demo-tenant", "--database"];
    let made = at(folder.path(), &["migrate", "--database", "a/one.db"]).output().unwrap();
    assert!(made.status.success() && folder.path().join("a/one.db").is_file(), "{made:?}");
    Server::spawn(at(folder.path(), &serve).arg("a/one.db")).stop().await;
    Server::spawn(at(folder.path(), &serve).args(["two.db", "--create-database"])).stop().await;
    assert!(folder.path().join("two.db").is_file());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_not_printed_where_others_may_read_them_unless_asked() {
    for (listen, asked, shown) in [
        ("127.0.0.1:0", false, 3),
        ("0.0.0.0:0", false, 0),
        (":0", false, 0),
        (":0", true, 3),
        ("localhost:0", false, 3),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = at(folder.path(), &["serve", "--listen", listen, "--ops-listen", "off"]);
        if asked {
            command.arg("--show-keys");
        }
        let server = Server::spawn(&mut command);
        let said = server.said();
        assert_eq!(keys(&said).len(), shown, "{listen} {asked}: {said}");
        assert!(shown > 0 || said.contains("cscp key create --tenant shop --kind handler"), "{listen}: {said}");
        server.stop().await;
        let tenants = printed(&at(folder.path(), &["tenant", "list"]).output().unwrap());
        assert_eq!(tenants.contains("demo"), shown > 0, "{listen}: {tenants}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_says_once_where_everything_lies() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let serve = ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off"];
    let start = || Server::spawn(at(folder.path(), &serve).env("XDG_STATE_HOME", state.path()));
    let here = folder.path().canonicalize().unwrap();
    let (said, _) = start().stop().await;
    let guard = state.path().join("cscp/guard");
    for place in [here.join("data/cscp.db"), here.join("data/cscp.signing-key"), guard] {
        assert!(place.exists() && said.contains(place.to_str().unwrap()), "{}: {said}", place.display());
    }
    let (again, _) = start().stop().await;
    assert!(!again.contains("signing-key"), "{again}");
}

#[test]
fn help_shows_a_commands_own_options_first() {
    for (arguments, own) in [
        (&["purge"][..], "--dry-run"),
        (&["key", "create"], "--kind"),
        (&["verify"], "--expect"),
        (&["serve"], "--listen"),
        (&["health"], "--url"),
        (&["tenant", "create"], "--environment"),
    ] {
        let output = cscp().args(arguments).arg("--help").output().unwrap();
        let help = printed(&output);
        let place = |what: &str| help.find(what).unwrap_or_else(|| panic!("{arguments:?} lacks {what}:\n{help}"));
        let shared = place("Settings of every command:");
        assert!(place(own) < shared && shared < place("--database <"), "{arguments:?}:\n{help}");
        assert!(place("--database <") < place("--postgres-writers"), "{arguments:?}:\n{help}");
    }
}

#[test]
fn what_cannot_be_opened_or_reached_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "milk, bread and a dozen eggs\n".repeat(100)).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    drop(taken);
    let postgres = format!("postgres://ana:secret@{address}/shop");
    let cases: [(&[&str], &[&str]); 5] = [
        (&["tenant", "list", "--database", "notes.txt"], &["notes.txt", "something else than a SQLite database"]),
        (&["tenant", "list", "--database", "."], &["it is a folder"]),
        (&["tenant", "list", "--database", &postgres], &["shop at", &address, "refused"]),
        (&["health", "--url", &format!("http://ana:secret@{address}")], &[&address, "/readyz", "refused"]),
        (&["--listen", "no.such.name.invalid:80"], &["no address here", "localhost:8080"]),
    ];
    for (arguments, says) in cases {
        let complaint = refused(&mut at(folder.path(), arguments));
        for what in says {
            assert!(complaint.contains(what), "{arguments:?}: {complaint}");
        }
        assert!(!complaint.contains("secret"), "{complaint}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_of_the_log_has_no_noise() {
    let folder = Folder::with_tenant();
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &folder.key("handler"));
    caller.send(&hello("wamid.1", "talk")).await.done();
    caller.send(&Sent::post("/v1/messages", json!({}))).await;
    let (_, logged) = server.stop().await;
    let lines: Vec<&str> = logged.lines().filter(|line| line.contains("http.route=")).collect();
    assert_eq!(lines.len(), 2, "{logged}");
    for line in &lines {
        let ms = line.split(" ms=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert!(ms.split('.').nth(1).is_none_or(|digits| digits.len() <= 3), "{line}");
    }
    assert!(!lines[0].contains("code=") && lines[1].contains("code=\"missing_field\""), "{logged}");
}
