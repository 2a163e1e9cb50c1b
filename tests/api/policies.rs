//! Policies that change while servers run: published for all on a database, or in a folder of one server's own.

use std::fs;
use std::path::Path;

use cscp::domain::time::Timestamp;
use cscp::packs::{PackSource, set_hash};
use cscp::service::{PolicyWatch, Polled, PublishError, publish_policies, withdraw_policies};
use cscp::storage::{PolicySet, Store};
use serde_json::json;
use tempfile::TempDir;

use crate::client::Client;
use crate::house::{House, ask, fresh, watch};

fn now() -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000)
}

const BASIC: &str = include_str!("../../policies/basic.yaml");
const STRONG: &str = include_str!("../../policies/strong.yaml");

/// The everyday rules, except that a new address takes a button or a quote.
fn strict() -> String {
    let strict = BASIC.replace("group: account, class: S1", "group: account, class: S2");
    assert_ne!(strict, BASIC);
    strict.replace("version: 1.2.0", "version: 1.3.0")
}

fn folder(basic: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("basic.yaml"), basic).unwrap();
    fs::write(folder.path().join("strong.yaml"), STRONG).unwrap();
    folder
}

fn source(folder: &TempDir) -> PackSource {
    PackSource::Folder(folder.path().to_owned())
}

async fn publish(store: &dyn Store, basic: &str) -> u64 {
    let published = publish_policies(store, &source(&folder(basic)), None, now()).await.unwrap();
    assert!(published.new);
    published.version
}

/// What a bare yes to a question about an address means, which depends on the rules in force.
async fn bare_yes(house: &House, client: &Client) -> String {
    let conversation = fresh("conv");
    let context = house.opened(client, &conversation).await;
    house.asked(client, &context, ask(&fresh("cmd"))).await;
    client.post("/v1/messages", house.message(&conversation, "sim")).await.expect(200).text("/verdict/code")
}

async fn stands(house: &House) -> serde_json::Value {
    house.stranger().get("/readyz").await.expect(200).body["policies"].clone()
}

#[tokio::test]
async fn what_is_published_decides_on_every_server_from_its_next_look_on() {
    let mut fleet = House::fleet(2).await;
    let client = fleet[0].0.handler("a").await;
    let version = publish(fleet[0].0.store.as_ref(), &strict()).await;
    for (house, policies) in &mut fleet {
        let client = house.reached_by(&client);
        assert_eq!(bare_yes(house, &client).await, "confirmed");
        assert_eq!(stands(house).await, json!({"origin": "shipped", "stale": false}));
        assert_eq!(policies.poll().await, Polled::Replaced);
        assert_eq!(bare_yes(house, &client).await, "ambiguous");
        assert_eq!(stands(house).await, json!({"origin": "published", "version": version, "stale": false}));
        assert_eq!(client.get("/v1/policies/basic").await.expect(200).text("/version"), "1.3.0");
        assert_eq!(policies.poll().await, Polled::Unchanged);
    }
    // A server that starts now begins with it.
    let (_, rules) = PolicyWatch::of_database(fleet[0].0.store.clone()).await.unwrap();
    assert!(rules.now().book().pack("operational").is_none(), "the set is complete: nothing is added to it");
    withdraw_policies(fleet[1].0.store.as_ref(), None, now()).await.unwrap();
    for (house, policies) in &mut fleet {
        assert_eq!(policies.poll().await, Polled::Replaced);
        assert_eq!(stands(house).await, json!({"origin": "shipped", "version": version + 1, "stale": false}));
        assert_eq!(bare_yes(house, &house.reached_by(&client)).await, "confirmed");
        assert_eq!(policies.poll().await, Polled::Unchanged);
    }
}

#[tokio::test]
async fn a_question_keeps_the_rules_it_was_asked_under_and_stricter_ones_count_too() {
    let mut fleet = House::fleet(1).await;
    let (house, policies) = &mut fleet[0];
    let client = house.handler("a").await;
    let (easy, strict) = (BASIC.to_owned(), strict().replace("ttl_seconds: 300", "ttl_seconds: 200"));
    for (before, after, version) in [(&easy, &strict, "1.2.0"), (&strict, &easy, "1.3.0")] {
        put_in_force(house, policies, before).await;
        let conversation = fresh("conv");
        let context = house.opened(&client, &conversation).await;
        let asked = house.asked(&client, &context, ask(&fresh("cmd"))).await;
        put_in_force(house, policies, after).await;
        let item = client.get(&format!("/v1/confirmations/{}", asked.text("/confirmation_id"))).await.expect(200);
        assert_eq!(
            (item.text("/policy/version"), item.text("/expires_at")),
            (version.to_owned(), asked.text("/expires_at"))
        );
        let bare = client.post("/v1/messages", house.message(&conversation, "sim")).await.expect(200);
        assert_eq!(bare.text("/verdict/code"), "ambiguous", "one of the two takes no bare yes");
        let mut tap = house.message(&conversation, "Sim");
        tap["kind"] = json!("interactive");
        tap["button_id"] = asked.body["button_ids"][0].clone();
        let tapped = client.post("/v1/messages", tap).await.expect(200);
        assert_eq!(tapped.text("/verdict/code"), "confirmed");
    }
}

async fn put_in_force(house: &House, policies: &mut PolicyWatch, basic: &str) {
    publish_policies(house.store.as_ref(), &source(&folder(basic)), None, now()).await.unwrap();
    assert_ne!(policies.poll().await, Polled::Failed);
    let version = house.service.rules().book().pack("basic").unwrap().reference().version.clone();
    assert!(basic.contains(&format!("version: {version}")));
}

#[tokio::test]
async fn a_broken_set_is_refused_when_it_is_published_and_reaches_no_server() {
    let mut fleet = House::fleet(1).await;
    let (house, policies) = &mut fleet[0];
    let store = house.store.as_ref();
    let weak = BASIC.replace(
        "S2: { confirmation: required, bare_answers: false",
        "S2: { confirmation: required, bare_answers: true",
    );
    assert_ne!(weak, BASIC);
    for broken in [BASIC.replace("profile: basic", "profile: lax"), weak] {
        let refused = publish_policies(store, &source(&folder(&broken)), None, now()).await.unwrap_err();
        assert!(matches!(&refused, PublishError::Broken(errors) if errors[0].file == "basic.yaml"), "{refused:?}");
    }
    let folder = folder(BASIC);
    fs::create_dir(folder.path().join("cases")).unwrap();
    let case = |class: &str| {
        let text = format!(
            "cases:\n  - name: one\n    given: {{ command: order.status }}\n    expect: {{ class: {class} }}\n"
        );
        fs::write(folder.path().join("cases").join("mine.cases.yaml"), text).unwrap();
    };
    case("S1");
    let refused = publish_policies(store, &source(&folder), None, now()).await.unwrap_err();
    assert_eq!(
        refused,
        PublishError::Cases(vec!["cases/mine.cases.yaml: one: class should be \"S1\" and is \"S0\"".to_owned()])
    );
    assert_eq!(store.policies_version().await.unwrap(), 0);
    assert_eq!(policies.poll().await, Polled::Unchanged);
    case("S0");
    let published = publish_policies(store, &source(&folder), Some("cases mended"), now()).await.unwrap();
    assert_eq!((published.version, published.passed), (1, 1));
    assert!(store.policy_set(1).await.unwrap().unwrap().files.iter().any(|(path, _)| path == "cases/mine.cases.yaml"));
    let again = publish_policies(store, &source(&folder), None, now()).await.unwrap();
    assert_eq!((again.version, again.new), (1, false), "the same set is no new version");
    assert_eq!(policies.poll().await, Polled::Replaced);
}

/// A set as a newer program could publish it: of another form, or with files that decide something and are new.
fn from_the_future(path: &str, text: &str) -> PolicySet {
    let mut files = source(&folder(&strict())).files().unwrap().to_paths();
    files.retain(|(known, _)| known != path);
    files.push((path.to_owned(), text.to_owned()));
    PolicySet { hash: set_hash(&files).unwrap(), packs: Vec::new(), files }
}

#[tokio::test]
async fn a_set_that_this_program_cannot_read_changes_nothing_and_is_visible() {
    let mut fleet = House::fleet(1).await;
    let (house, policies) = &mut fleet[0];
    let client = house.handler("a").await;
    let newer = BASIC.replace("profile: basic", "profile: paranoid");
    let mut tampered = from_the_future("basic.yaml", &strict());
    tampered.files.retain(|(path, _)| path != "strong.yaml");
    for (set, complaint) in [
        (from_the_future("basic.yaml", &newer), "basic.yaml:4:"),
        (from_the_future("quotas/all.yaml", "any"), "quotas/all.yaml: this version of the program does not know"),
        (tampered, "is not what was published"),
    ] {
        let version = house.store.publish_policies(Some(&set), None, now()).await.unwrap();
        let told = format!("published as version {version} do not load: ");
        assert_eq!(policies.poll().await, Polled::Failed);
        assert_eq!(policies.poll().await, Polled::Unchanged);
        assert_eq!(stands(house).await["stale"], true);
        assert_eq!(bare_yes(house, &client).await, "confirmed");
        let log = watch().text();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&told)).collect();
        assert!(lines.len() == 1 && lines[0].contains("\"ERROR\"") && lines[0].contains(complaint), "{lines:?}");
        // Nor does a server start with it: nobody chose what an older set would decide.
        let started = PolicyWatch::of_database(house.store.clone()).await.unwrap_err();
        assert!(started.to_string().contains(complaint), "{started}");
    }
    let version = publish(house.store.as_ref(), &strict()).await;
    assert_eq!(policies.poll().await, Polled::Replaced);
    assert_eq!(stands(house).await, json!({"origin": "published", "version": version, "stale": false}));
    assert_eq!(bare_yes(house, &client).await, "ambiguous");
}

#[tokio::test]
async fn a_database_that_does_not_answer_leaves_the_rules_alone() {
    let mut fleet = House::fleet(1).await;
    let (house, policies) = &mut fleet[0];
    publish(house.store.as_ref(), &strict()).await;
    assert_eq!(policies.poll().await, Polled::Replaced);
    house.store.close().await;
    assert_eq!(policies.poll().await, Polled::Failed);
    assert!(policies.status().borrow().stale);
    assert_eq!(house.service.rules().book().pack("basic").unwrap().reference().version, "1.3.0");
}

fn version_of(rules: &cscp::committer::RulesInForce) -> String {
    rules.now().book().pack("basic").unwrap().reference().version.clone()
}

/// Looks until nothing is on its way any more.
async fn looks(policies: &mut PolicyWatch) -> Vec<Polled> {
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(policies.poll().await);
    }
    seen.retain(|polled| *polled != Polled::Unchanged);
    seen
}

fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("fresh");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

#[tokio::test]
async fn a_folder_is_taken_up_when_it_has_come_to_rest() {
    let folder = folder(BASIC);
    let basic = folder.path().join("basic.yaml");
    let (mut policies, rules) = PolicyWatch::of_folder(folder.path().to_owned()).unwrap();
    assert_eq!(looks(&mut policies).await, []);
    // Half of a longer file may load: it is not read before it looks the same twice.
    for (n, text) in ["pack_id: basic\n", BASIC, &strict()].into_iter().enumerate() {
        fs::write(&basic, format!("{}\n{text}", "#".repeat(n + 1))).unwrap();
        assert_eq!(policies.poll().await, Polled::Unchanged, "on its way");
        assert_eq!(version_of(&rules), "1.2.0");
    }
    assert_eq!(looks(&mut policies).await, [Polled::Replaced]);
    assert_eq!(version_of(&rules), "1.3.0");
    assert_eq!(looks(&mut policies).await, []);
    // Another file of the same size and time, as copying tools leave it.
    let written = fs::metadata(&basic).unwrap().modified().unwrap();
    replace(&basic, &format!("###\n{}", strict().replace("version: 1.3.0", "version: 1.4.0")));
    fs::File::options().write(true).open(&basic).unwrap().set_modified(written).unwrap();
    assert_eq!(looks(&mut policies).await, [Polled::Replaced]);
    assert_eq!(version_of(&rules), "1.4.0");
    fs::remove_file(folder.path().join("strong.yaml")).unwrap();
    assert_eq!(looks(&mut policies).await, [Polled::Replaced]);
    assert!(rules.now().book().pack("strong").is_none());
    fs::create_dir(folder.path().join("lexicons")).unwrap();
    assert_eq!(looks(&mut policies).await, [], "nothing in it says anything else");
}

#[tokio::test]
async fn a_folder_that_does_not_load_changes_nothing_and_says_so_once() {
    watch();
    let folder = folder(BASIC);
    let basic = folder.path().join("basic.yaml");
    let (mut policies, rules) = PolicyWatch::of_folder(folder.path().to_owned()).unwrap();
    let status = policies.status();
    let mark = fresh("no-such-profile");
    let said = || watch().text().lines().filter(|line| line.contains("\"ERROR\"") && line.contains(&mark)).count();
    replace(&basic, &BASIC.replace("pack_id: basic", &format!("pack_id: basic\n{mark}: 1")));
    assert_eq!(looks(&mut policies).await, [Polled::Failed], "it is not read again while it looks the same");
    assert!(status.borrow().stale);
    assert_eq!((version_of(&rules).as_str(), said()), ("1.2.0", 1));
    replace(&basic, &strict());
    assert_eq!(looks(&mut policies).await, [Polled::Replaced]);
    assert!(!status.borrow().stale);
    replace(&basic, &BASIC.replace("pack_id: basic", &format!("pack_id: basic\n{mark}: 2")));
    assert_eq!(looks(&mut policies).await, [Polled::Failed]);
    replace(&basic, &strict());
    assert_eq!(looks(&mut policies).await, [], "what is in force is what is there");
    assert!(!status.borrow().stale);
    let name = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
    drop(folder);
    assert!(looks(&mut policies).await.len() > 1, "it may come back at any time");
    let told = watch().text().lines().filter(|line| line.contains("\"ERROR\"") && line.contains(&name)).count();
    assert_eq!(told, 1);
    assert!(status.borrow().stale);
    assert_eq!(version_of(&rules), "1.3.0");
    let metrics = watch().text();
    assert!(metrics.contains("cscp_policy_stale") && metrics.contains("cscp_policy_reload_failures_total"));
}
