//! Policies as a person puts them in force: published for every server on a database, or in a folder of one server's.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::caller::{Caller, Sent};
use crate::folder::{Folder, TENANT, complained, printed, repository};
use crate::leg;
use crate::server::Server;
use crate::waiting::until;

/// "Within seconds."
const SOON: Duration = Duration::from_secs(20);
const QUIET: [&str; 3] = ["--no-demo-tenant", "--metrics-listen", "off"];

/// The everyday rules under another version, in a folder of this name.
fn packs(folder: &Folder, name: &str, version: &str) -> String {
    let packs = folder.path().join(name);
    fs::create_dir_all(packs.join("cases")).unwrap();
    let shipped = repository().join("policies");
    let text = fs::read_to_string(shipped.join("basic.yaml")).unwrap();
    let fresh = packs.join("basic.fresh");
    fs::write(&fresh, text.replace("version: 1.2.0", &format!("version: {version}"))).unwrap();
    fs::rename(fresh, packs.join("basic.yaml")).unwrap();
    fs::copy(shipped.join("cases/basic.cases.yaml"), packs.join("cases/basic.cases.yaml")).unwrap();
    packs.to_str().unwrap().to_owned()
}

async fn stands(server: &Server) -> Value {
    Caller::new(&server.base, "nobody").send(&Sent::get("/readyz")).await.body["policies"].clone()
}

async fn expect_soon(server: &Server, pointer: &str, value: Value) {
    let what = format!("{pointer} = {value}");
    until(&what, SOON, async || (stands(server).await.pointer(pointer) == Some(&value)).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_published_reaches_running_servers_and_a_folder_wins() {
    let folder = Folder::with_tenant();
    let (first, own) = (packs(&folder, "first", "1.2.0"), packs(&folder, "own", "7.0.0"));
    // A SQLite file has one server.
    let servers: Vec<Server> = (0..if leg::on_postgres() { 2 } else { 1 }).map(|_| Server::start(&folder)).collect();
    assert!(folder.done(&["policy", "published"]).contains("Nothing was published"));
    folder.done(&["tenant", "attach-policy", TENANT, "strong"]);
    let said = folder.done(&["policy", "publish", &first, "--note", "new windows"]);
    assert!(said.contains("basic 1.2.0") && said.contains("This is version 1."), "{said}");
    assert!(said.contains(&format!("every command is S3: {TENANT}")), "{said}");
    for server in &servers {
        expect_soon(server, "/version", 1.into()).await;
    }
    assert!(folder.done(&["policy", "withdraw"]).contains("This is version 2."));
    for server in &servers {
        expect_soon(server, "/version", 2.into()).await;
        assert_eq!(stands(server).await["origin"], "shipped");
    }
    for server in servers {
        server.stop().await;
    }
    let alone = Server::start_with(&folder, &[&QUIET[..], &["--policies", &own]].concat());
    assert_eq!(stands(&alone).await["origin"], "folder");
    assert!(alone.logged().contains("uses the folder that it was started with"), "{}", alone.logged());
    packs(&folder, "own", "7.1.0");
    until("the changed folder", SOON, async || alone.logged().contains("basic 7.1.0").then_some(())).await;
    fs::write(Path::new(&own).join("basic.yaml"), "pack_id: basic\n").unwrap();
    expect_soon(&alone, "/stale", true.into()).await;
    alone.stop().await;

    let listed = folder.done(&["policy", "published"]);
    assert!(listed.starts_with("2\t") && listed.contains("new windows") && listed.contains("basic 1.2.0"), "{listed}");
    let out = folder.path().join("out");
    folder.done(&["policy", "published", "--version", "1", "--into", out.to_str().unwrap()]);
    for file in ["basic.yaml", "cases/basic.cases.yaml"] {
        assert_eq!(fs::read(out.join(file)).unwrap(), fs::read(Path::new(&first).join(file)).unwrap());
    }
    assert!(out.join("lexicons/pt-BR.yaml").is_file());
}

#[test]
fn what_is_wrong_is_told_and_not_published() {
    let folder = Folder::with_tenant();
    let broken = packs(&folder, "broken", "one");
    let refused = folder.run(&["policy", "publish", &broken]);
    assert!(!refused.status.success() && printed(&refused).starts_with("basic.yaml:3:"), "{refused:?}");
    assert!(complained(&refused).contains("nothing was published"));
    let cases = packs(&folder, "cases", "1.2.0");
    let file = Path::new(&cases).join("cases/basic.cases.yaml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replacen("class: S0", "class: S1", 1)).unwrap();
    for what in ["publish", "check"] {
        let refused = folder.run(&["policy", what, &cases]);
        assert!(!refused.status.success() && complained(&refused).contains("1 case failed"), "{refused:?}");
    }
    assert!(folder.done(&["policy", "published"]).contains("Nothing was published"));
    assert!(folder.done(&["policy", "withdraw"]).contains("nothing was published"));
}

#[test]
fn a_tenant_is_attached_to_a_pack_that_is_there_and_to_none() {
    let folder = Folder::with_tenant();
    let policy = || folder.done(&["tenant", "list"]).split('\t').nth(3).unwrap().to_owned();
    assert_eq!(policy(), "policy: by selector");
    folder.done(&["tenant", "attach-policy", TENANT, "strong"]);
    assert_eq!(policy(), "policy: strong");
    for (arguments, says) in
        [([TENANT, "none-such"], "no policy pack none-such"), (["nobody", "strong"], "no tenant nobody")]
    {
        let refused = folder.run(&[&["tenant", "attach-policy"][..], &arguments].concat());
        assert!(complained(&refused).contains(says), "{refused:?}");
    }
    assert_eq!(policy(), "policy: strong");
    folder.done(&["tenant", "attach-policy", TENANT, "--none"]);
    assert_eq!(policy(), "policy: by selector");
    // What is published counts, and not what the program brings along.
    folder.done(&["policy", "publish", &packs(&folder, "only-basic", "1.2.0")]);
    let refused = folder.run(&["tenant", "attach-policy", TENANT, "strong"]);
    assert!(complained(&refused).contains("no policy pack strong"), "{refused:?}");
}

/// What a command that fails says.
fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.run(arguments);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_edited_pack_that_keeps_its_version_is_refused_by_name() {
    let folder = Folder::with_tenant();
    let into = folder.path().join("mine");
    let mine = into.to_str().unwrap();
    assert!(folder.done(&["policy", "export", "--into", mine]).contains("Raise `version`"));
    let pack = into.join("basic.yaml");
    let text = fs::read_to_string(&pack).unwrap();
    assert!(into.join("lexicons/pt-BR.yaml").is_file());
    fs::write(&pack, text.replace("ttl_seconds: 1800", "ttl_seconds: 1801")).unwrap();
    let said = refused(&folder, &["policy", "publish", mine]);
    assert!(said.contains("pack basic") && said.contains("version 1.2.0"), "{said}");
    fs::write(
        &pack,
        text.replace("ttl_seconds: 1800", "ttl_seconds: 1801").replace("version: 1.2.0", "version: 1.2.1"),
    )
    .unwrap();
    assert!(folder.done(&["policy", "publish", mine]).contains("This is version 1."));
    assert!(refused(&folder, &["policy", "export", "--into", mine]).contains("is not empty"));
}

#[test]
fn a_text_is_explained_without_a_database() {
    let folder = Folder::empty();
    let said = folder.done(&["lexicon", "test", "bom dia, pode sim", "--locale", "pt-BR", "--pack", "basic"]);
    for line in [
        "affirmative",
        "composed of",
        "\"bom dia\": greetings",
        "S1: bare confirmed",
        "S2: bare ambiguous, bare_answer_not_allowed",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let said = folder.done(&["lexicon", "test", "pode cancelar", "--command", "order.cancel"]);
    assert!(said.contains("says neither yes nor no") && said.contains("names_command"), "{said}");
    assert!(refused(&folder, &["lexicon", "test", "sim", "--pack", "nobody"]).contains("no pack is called nobody"));
}
