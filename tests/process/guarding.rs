//! A copy of the data that is put back: whoever remembers what was signed says so before a word is written.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::caller::{Caller, Sent, hello};
use crate::folder::{Folder, complained};
use crate::leg;
use crate::server::Server;
use crate::waiting::until;

const SIGNED_WITHIN: Duration = Duration::from_secs(20);

/// A server whose key lies with the data, as it does by default beside a database file.
fn start(folder: &Folder) -> Server {
    let key = folder.path().join("key");
    let key = key.to_str().unwrap();
    Server::start_with(folder, &["--no-demo-tenant", "--metrics-listen", "off", "--signing-key", key])
}

/// Posts a message and waits until a checkpoint of more than this size is signed; says of what size.
async fn signed_beyond(server: &Server, folder: &Folder, message: &str, size: u64) -> u64 {
    Caller::new(&server.base, &folder.key("handler")).send(&hello(message, "talk")).await.done();
    let auditor = Caller::new(&server.base, &folder.key("auditor"));
    let newest = async || auditor.send(&Sent::get("/v1/evidence/checkpoint")).await.body["size"].as_u64();
    until("a checkpoint", SIGNED_WITHIN, async || newest().await.filter(|newest| *newest > size)).await
}

async fn readiness(server: &Server) -> Value {
    Caller::new(&server.base, "none").send(&Sent::get("/readyz")).await.done().body
}

/// What readiness says of the log.
async fn log(server: &Server) -> Value {
    let ready = readiness(server).await;
    json!([ready["rollback_protection"], ready["log"], ready["log_reasons"]])
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) {
    for file in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|file| file.path().is_file()) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_folder_that_is_put_back_is_noticed_at_the_start() {
    if leg::on_postgres() {
        return;
    }
    let (folder, snapshot) = (Folder::with_tenant(), tempfile::tempdir().unwrap());
    let server = start(&folder);
    assert_eq!(log(&server).await, json!(["file", "ok", []]));
    let size = signed_beyond(&server, &folder, "wamid.1", 0).await;
    server.stop().await;
    copy(folder.path(), snapshot.path());
    let server = start(&folder);
    signed_beyond(&server, &folder, "wamid.2", size).await;
    server.stop().await;
    copy(snapshot.path(), folder.path());

    let server = start(&folder);
    assert_eq!(log(&server).await, json!(["file", "refuses_to_sign", ["behind"]]));
    let (_, logged) = server.stop().await;
    assert!(logged.contains("a backup was put back"), "{logged}");

    // Without its memory it says that it has none.
    fs::remove_dir_all(folder.state().join("cscp")).unwrap();
    let server = start(&folder);
    assert_eq!(log(&server).await, json!(["file", "ok", []]));
    let (_, logged) = server.stop().await;
    assert!(logged.contains("the guard remembered none"), "{logged}");
    let again = start(&folder).stop().await.1;
    assert!(!again.contains("the guard remembered none"), "what is there is remembered from now on: {again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_name_in_the_database_does_not_make_the_guard_forget() {
    let folder = Folder::with_tenant();
    let server = start(&folder);
    let size = signed_beyond(&server, &folder, "wamid.1", 0).await;
    assert!(size > 0);
    server.stop().await;
    folder.changed("UPDATE tenants SET environment = 'production2' RETURNING environment").await;
    let server = start(&folder);
    assert_eq!(log(&server).await, json!(["file", "refuses_to_sign", ["renamed"]]));
}

/// What the guard's folder is, readiness says; and a folder that cannot be kept apart draws a warning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_guard_is_it_says() {
    let folder = Folder::with_tenant();
    let inside = folder.path().join("inside");
    let key = folder.path().join("key");
    let (inside, key) = (inside.to_str().unwrap(), key.to_str().unwrap());
    let guarded = ["--metrics-listen", "off", "--signing-key", key, "--log-guard", inside];
    let server = Server::start_with(&folder, &guarded);
    let beside = if leg::on_postgres() { "file" } else { "beside_database" };
    assert_eq!(log(&server).await, json!([beside, "ok", []]));
    let (_, logged) = server.stop().await;
    assert_eq!(logged.contains("a restored copy of both goes unnoticed"), !leg::on_postgres(), "{logged}");
}

/// A folder for the guard that cannot be made is named, with the setting that named it.
#[test]
fn a_guard_that_cannot_be_used_is_named() {
    let folder = Folder::with_tenant();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    let (below, key) = (file.join("guard"), folder.path().join("key"));
    let mut command = folder.command(&["--listen", "127.0.0.1:0", "--metrics-listen", "off"]);
    let output = command.arg("--log-guard").arg(&below).arg("--signing-key").arg(&key).output().unwrap();
    let complaint = complained(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(complaint.contains(&format!("--log-guard {}", below.display())), "{complaint}");
}
