//! The commands that a person types: tenants, keys, policies, verification, the demo.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use crate::caller::{Caller, Sent, hello};
use crate::folder::{Folder, TENANT, complained, cscp, printed, repository};
use crate::leg;
use crate::server::Server;
use crate::waiting::until;

/// A revocation is said to work within a second or two.
const REVOKED_WITHIN: Duration = Duration::from_secs(3);

fn expect_failure(output: &Output, says: &str) {
    let complaint = complained(output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(complaint.contains(says), "{says}: {complaint}");
}

async fn expect_status_soon(caller: &Caller, status: u16) {
    let what = format!("status {status}");
    let at_commands = Sent::get("/v1/commands/none");
    until(&what, REVOKED_WITHIN, async || (caller.send(&at_commands).await.status == status).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_made_listed_and_revoked() {
    let folder = Folder::with_tenant();
    let server = Server::start(&folder);
    let key = folder.new_key("handler");
    let (id, secret) = (key["key_id"].as_str().unwrap(), key["key"].as_str().unwrap());
    assert_eq!((key["tenant"].as_str(), key["kind"].as_str()), (Some(TENANT), Some("handler")));
    let caller = Caller::new(&server.base, secret);
    caller.send(&hello("wamid.1", "talk")).await.done();

    let listed = folder.done(&["key", "list", "--tenant", TENANT]);
    assert!(listed.contains(id) && listed.contains("live") && !listed.contains("cscp_"), "{listed}");
    let shown = folder.done(&["key", "create", "--tenant", TENANT, "--kind", "operator", "--label", "night shift"]);
    assert!(shown.starts_with("cscp_") && shown.contains("never again"), "{shown}");

    folder.done(&["key", "revoke", "--tenant", TENANT, id]);
    expect_status_soon(&caller, 401).await;
    assert!(folder.done(&["key", "list", "--tenant", TENANT]).contains("revoked"));
    expect_failure(&folder.run(&["key", "revoke", "--tenant", TENANT, "key_0"]), "not a key's id");
    expect_failure(&folder.run(&["key", "create", "--tenant", "nobody", "--kind", "handler"]), "no tenant nobody");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_key_cannot_say_yes() {
    let folder = Folder::with_tenant();
    let refused = folder.run(&["key", "create", "--tenant", TENANT, "--kind", "agent", "--scope", "message:ingest"]);
    expect_failure(&refused, "agents propose");
    let server = Server::start(&folder);
    let agent = Caller::new(&server.base, &folder.key("agent"));
    let answer = agent.send(&hello("wamid.1", "talk")).await;
    assert_eq!((answer.status, answer.text("/code")), (403, "not_for_agents"), "{answer:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_are_made_listed_and_disabled() {
    let folder = Folder::with_tenant();
    expect_failure(&folder.run(&["tenant", "create", TENANT]), "already");
    expect_failure(&folder.run(&["tenant", "create", "two words"]), "letters, digits");
    expect_failure(&folder.run(&["tenant", "create", "other", "--policy", "none-such"]), "no policy pack");
    folder.done(&["tenant", "create", "other", "--policy", "strong"]);
    let listed = folder.done(&["tenant", "list"]);
    assert!(listed.contains(&format!("{TENANT}\tenabled")) && listed.contains("policy: strong"), "{listed}");

    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &folder.key("handler"));
    expect_status_soon(&caller, 404).await;
    folder.done(&["tenant", "disable", TENANT]);
    expect_status_soon(&caller, 401).await;
    assert!(folder.done(&["tenant", "list"]).contains(&format!("{TENANT}\tdisabled")));
    folder.done(&["tenant", "enable", TENANT]);
    expect_status_soon(&caller, 404).await;
    expect_failure(&folder.run(&["tenant", "disable", "nobody"]), "no tenant nobody");
    server.stop().await;
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&copy).unwrap();
            copy_files(&path, &copy);
        } else {
            fs::copy(&path, copy).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_policy_is_named_by_file_and_line() {
    let folder = Folder::empty();
    copy_files(&repository().join("policies"), folder.path());
    let path = folder.path().join("basic.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().position(|line| line == "confirmation:").unwrap() + 2;
    fs::write(&path, text.replace("confirmation:\n  ttl_seconds: 300", "confirmation:\n  ttl_seconds: soon")).unwrap();

    let here = folder.path().to_str().unwrap();
    let output = cscp().args(["policy", "check", here]).output().unwrap();
    expect_failure(&output, "nothing was loaded");
    let printed = printed(&output);
    assert!(printed.starts_with(&format!("basic.yaml:{line}:")) && printed.contains("/confirmation"), "{printed}");
    expect_failure(&folder.run(&["--policies", here, "--listen", "127.0.0.1:0"]), &format!("basic.yaml:{line}:"));
    assert!(folder.is_untouched().await, "a server without policies touches no database");
}

#[test]
fn the_shipped_policies_pass_their_cases() {
    let cases = repository().join("policies").join("cases").join("basic.cases.yaml");
    let output = cscp().args(["policy", "check", "--cases"]).arg(&cases).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(printed(&output).contains(" 0 failed"), "{output:?}");

    let folder = Folder::empty();
    let wrong = folder.path().join("wrong.cases.yaml");
    fs::write(&wrong, fs::read_to_string(cases).unwrap().replacen("class: S0", "class: S1", 1)).unwrap();
    let output = cscp().args(["policy", "check", "--cases"]).arg(&wrong).output().unwrap();
    expect_failure(&output, "1 case failed");
}

#[test]
fn migrating_twice_changes_nothing() {
    let folder = Folder::empty();
    for _ in 0..2 {
        assert!(folder.done(&["migrate"]).contains("up to date"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_names_the_entry_that_was_changed() {
    let folder = Folder::with_tenant();
    let nothing = Folder::empty().run(&["verify"]);
    assert_eq!(nothing.status.code(), Some(2), "it could not look: {nothing:?}");
    // An empty PostgreSQL is a database, and a file that is missing is none.
    let says = if leg::on_postgres() { "the database has no tenant" } else { "no database" };
    assert!(complained(&nothing).contains(says), "{nothing:?}");
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &folder.key("handler"));
    for n in 0..5 {
        caller.send(&hello(&format!("wamid.{n}"), "talk")).await.done();
    }
    server.stop().await;
    folder.expect_sound().await;

    let artifact = folder.changed("SELECT artifact_id FROM log_entries WHERE seq = 4").await;
    let change = "UPDATE log_payloads SET payload = replace(payload, 'ordinary_message', 'nonce_and_quote') \
                  WHERE seq = 4 RETURNING payload";
    assert!(folder.changed(change).await.contains("nonce_and_quote"));

    let output = folder.run(&["verify", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: Value = serde_json::from_str(&printed(&output)).unwrap();
    let broken = &report["tenants"][0]["broken"][0];
    assert_eq!(
        (&report["sound"], &broken["seq"], &broken["artifact_id"]),
        (&false.into(), &4.into(), &artifact.into())
    );
    let output = folder.run(&["verify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("BROKEN") && printed(&output).contains("The record was changed."), "{output:?}");
}

/// What the demo has to show, in this order.
const DEMO: &[&str] = &[
    "→ not_an_answer  (reason: ordinary_message; next: route)",
    "→ ambiguous  (reason: bare_answer_not_allowed; next: ask_again)",
    "→ confirmed  (reason: nonce_and_quote; next: bind_command)",
    "→ already_decided  (reason: already_granted; next: tell_decision)",
    "→ ambiguous  (reason: quotes_other_message; next: ask_what_is_meant)",
    "→ not_an_answer  (reason: answers_other_question; next: route)",
    "→ ambiguous  (reason: qualified_answer; next: ask_again)",
    "→ confirmed  (reason: quote; next: bind_command)",
    "→ 409 target_mismatch",
    "→ 201 execute: true",
    "→ expired  (reason: question_expired; next: ask_anew)",
    "→ 409 confirmation_required",
    "→ the confirmation is expired",
    "→ declined  (reason: taken_back; next: acknowledge_refusal)",
    "→ 409 confirmation_required",
    "→ superseded  (reason: taken_back; next: ask_anew)",
    "→ 201 execute: true",
    "→ 409 already_bound",
    "→ cmd-5 (order.cancel): execution unknown",
    "→ 200 execute: false",
    "→ 201 execute: true",
    "→ recorded; execution: reported",
    "│ Last command: *order.cancel*",
    "│ *Why: order.cancel*",
];

#[test]
fn the_demo_shows_each_verdict() {
    let folder = Folder::empty();
    // Also where a proxy is set that has no way to this machine.
    let mut demo = cscp();
    demo.current_dir(folder.path()).arg("demo").env("http_proxy", "http://127.0.0.1:1");
    let output = demo.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = printed(&output);
    let mut rest = text.as_str();
    for shown in DEMO {
        let Some((_, after)) = rest.split_once(shown) else { panic!("not shown, or too early: {shown}\n{text}") };
        rest = after;
    }
    // Two workers at once: which of them wins is not the demo's to say.
    let race = text.split("── 3.").next().unwrap();
    assert_eq!(
        (race.matches("→ 201 execute: true").count(), race.matches("→ 409 already_bound").count()),
        (1, 1),
        "{race}"
    );
    assert_eq!(complained(&output), "", "the story is told without log lines in between");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing stays behind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_past_its_time_is_told_and_then_goes() {
    let folder = Folder::with_tenant();
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &folder.key("handler"));
    caller.send(&hello("wamid.1", "talk")).await.done();
    let purge = |arguments: &[&str]| {
        let all = [&["purge", "--json", "--tenant", TENANT], arguments].concat();
        serde_json::from_str::<Value>(&folder.done(&all)).unwrap()
    };
    assert_eq!(purge(&["--dry-run"])["tenants"][0]["records"], serde_json::json!({}));
    // Beside the running server, and as if it had been received years ago.
    folder.changed("UPDATE messages SET received_at = 1 RETURNING conversation_id").await;
    let dry = purge(&["--dry-run"]);
    assert_eq!((&dry["dry_run"], &dry["tenants"][0]["records"]["message"]), (&true.into(), &1.into()), "{dry}");
    assert_eq!(purge(&["--dry-run"]), dry, "nothing was changed");
    let gone = purge(&[]);
    assert_eq!((&gone["dry_run"], &gone["tenants"][0]["records"]["message"]), (&false.into(), &1.into()), "{gone}");
    let told = folder.done(&["purge"]);
    assert!(told.contains("nothing is past its time"), "{told}");
    let again = caller.send(&hello("wamid.1", "talk")).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert!(folder.done(&["verify"]).contains("Every chain holds"));
    expect_failure(&folder.run(&["purge", "--tenant", "nobody"]), "no tenant nobody");
    server.stop().await;
}

/// An examination of nothing is not one that passed, and says what is missing.
#[test]
fn a_database_without_tenants_is_not_examined() {
    let folder = Folder::with_database();
    let with = |command: &[&str], more: &[&str]| folder.run(&[command, more].concat());
    for command in [&["verify"][..], &["verify", "--rebuild-tree"], &["replay", "--verify"]] {
        for (more, says) in [(&[][..], "the database has no tenant"), (&["--tenant", "nobody"], "no tenant nobody")] {
            let output = with(command, more);
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            assert!(complained(&output).contains(says), "{says}: {output:?}");
        }
    }
}
