//! The log folded anew: a rich history is what its rows say, every kind of meddling with a row is found and named, and
//! what was erased is no difference.

use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::domain::time::Timestamp;
use cscp::service::{Difference, How, ReplayReport, replay_tenant};
use cscp::storage::LiveTable;
use serde_json::json;

use crate::client::Client;
use crate::house::{House, ask, fresh};
use crate::spaces::{at, pack, write, written};

async fn replayed(house: &House, tenant: &str) -> ReplayReport {
    let tenant = house.store.tenant(&tenant.to_owned().try_into().unwrap()).await.unwrap().unwrap();
    let now = Timestamp::parse(&house.now()).unwrap();
    let mut last = None;
    let report =
        replay_tenant(house.store.as_ref(), &tenant, now, &mut |progress| last = Some(progress)).await.unwrap();
    let last = last.unwrap();
    assert!(last.folded == report.entries && last.entries == report.entries, "{last:?} {}", report.entries);
    report
}

/// Confirmed, bound, reported twice, closed; asked and never answered; chosen; asked of somebody who changed.
async fn talks(house: &House, client: &Client) {
    let (context, binding) = house.confirmed(client, "done").await;
    let read = client.get(&format!("/v1/contexts/{context}")).await.expect(200);
    let patch = client.ask("PATCH", &format!("/v1/contexts/{context}/slots"));
    let slots = json!({"active_intent": "address.update", "x_note": {"a": [1.0, 2.5]}});
    patch.header("if-match", read.header("etag").unwrap()).valid(&slots).send().await.expect(200);
    let bound = client.ask("POST", &format!("/v1/contexts/{context}/commands")).valid(&binding).send().await;
    let command = bound.expect(201).text("/command_id");
    let results = format!("/v1/commands/{command}/results");
    client.post(&results, json!({"status": "running", "outcome": "in_progress"})).await.expect(201);
    house.wait(5);
    client.post(&results, json!({"status": "succeeded", "close_context": true})).await.expect(201);

    let context = house.opened(client, "late").await;
    house.asked(client, &context, ask(&fresh("late"))).await;
    client.post("/v1/messages", house.message("late", "onde está?")).await.expect(200);
    house.wait(301);
    client.post("/v1/messages", house.message("late", "sim")).await.expect(200);

    let context = house.opened(client, "which").await;
    let options = json!({
        "options": [{"title": "Pedido 8812", "target": {"order_id": "8812"}}, {"title": "Outro", "target": "x"}],
        "prompt": {"text": "Qual deles?"},
    });
    let asked = client.post(&format!("/v1/contexts/{context}/disambiguations"), options).await.expect(201);
    house.wait(2);
    let mut tap = house.message("which", "Pedido 8812");
    (tap["kind"], tap["button_id"]) = (json!("interactive"), asked.body["button_ids"][0].clone());
    client.post("/v1/messages", tap).await.expect(200);

    let context = house.opened(client, "news").await;
    house.asked(client, &context, ask(&fresh("news"))).await;
    let mut news = house.message("news", "");
    news["kind"] = json!("system");
    news["system"] = json!({"type": "user_changed_number", "previous": "5511999990001", "current": "5511999990002"});
    client.post("/v1/messages", news).await.expect(200);
    let mut said = house.message("news", "algo mais?");
    said["direction"] = json!("outbound");
    client.post("/v1/messages", said).await.expect(200);
}

/// An approval of which the first half is given by an authenticated call and the second in the approver's own
/// conversation; and another that is revoked.
async fn approvals(house: &House) {
    let handler = house.handler("s").await;
    let command = fresh("cmd");
    let approval = json!({
        "command": {"command_id": command, "name": "payment.send", "idempotency_key": format!("idem-{command}")},
        "target": {"amount": "82000", "payee": "p-1", "order_id": "1"},
        "prompt": {"text": "Aprovar?", "buttons": [{"title": "Aprovar", "action": "approve"}, "Rejeitar"]},
    });
    let context = house.opened(&handler, "asks").await;
    let asked = handler.post(&format!("/v1/contexts/{context}/approvals"), approval.clone()).await.expect(201);
    let id = asked.text("/approval_id");
    let role = handler.get(&format!("/v1/approvals/{id}")).await.expect(200).text("/role");
    for (boss, number) in [("boss-1", "1"), ("boss-2", "2")] {
        let body = json!({"kind": "person", "roles": [role], "aliases": [{"kind": "bsuid", "value": number}]});
        handler.put(&format!("/v1/principals/{boss}"), body).await.expect(201);
    }
    let decide = Some(&[Scope::ApprovalDecide][..]);
    let boss = house.client("s", CredentialKind::Operator, decide, Some("boss-1")).await;
    boss.post(&format!("/v1/approvals/{id}/decisions"), json!({"decision": "approve"})).await.expect(200);
    house.wait(1);
    let mut tap = house.message("where-bosses-write", "Aprovar");
    (tap["actor_id"], tap["kind"]) = (json!("boss-2"), json!("interactive"));
    tap["button_id"] = asked.body["button_ids"][0].clone();
    handler.post("/v1/messages", tap).await.expect(200);
    let moved = json!({"kind": "person", "roles": [role, "owner"], "aliases": [{"kind": "bsuid", "value": "3"}]});
    handler.ask("PUT", "/v1/principals/boss-2").valid(&moved).send().await.expect(200);
}

/// Facts that replace one another, late ones, one restored, one deleted; what was heard; signals; a task; packs.
async fn facts(house: &House, client: &Client) {
    let owner = json!({"partition": {"memory": "user", "owner_id": "ana"}, "wider": ["rules"]});
    client.put(&at("s", ""), owner).await.expect(201);
    client.put(&at("s", "/identity"), json!({"user_id": "ana", "user_name": "Ana"})).await.expect(200);
    let old = written(client, "s", "delivery_address", "Main street 1").await;
    written(client, "rules", "discount_limit", "5 %").await;
    house.wait(1);
    let newer = json!({"key": "delivery_address", "value": "Side street 2", "supersedes": "delivery_address"});
    write(client, "s", newer).await;
    write(client, "s", json!({"key": "size", "value": 42.0, "effective_at": "2020-01-01T00:00:00Z"})).await;
    write(client, "s", json!({"key": "size", "value": 41, "effective_at": "2019-01-01T00:00:00Z"})).await;
    let said = json!({"fact_space": "s", "text": "the delivery address is now Hill road 3, not Side street 2"});
    client.post("/v1/observations", said).await.expect(200);
    house.wait(1);
    client.post(&at("s", &format!("/facts/{old}/restore")), json!({"reason": "a mistake"})).await;
    client
        .put(&at("s", "/environment/weather"), json!({"value": "rain", "observed_at": house.now()}))
        .await
        .expect(200);
    house.wait(1);
    client.put(&at("s", "/environment/weather"), json!({"value": "sun", "observed_at": house.now()})).await.expect(200);
    client.put(&at("s", "/environment/traffic"), json!({"value": "jam", "observed_at": house.now()})).await.expect(200);
    client.ask("DELETE", &at("s", "/environment/traffic")).send().await.expect(200);
    for (key, more) in [("kept", json!({"content": "x"})), ("price", json!({"content": "90", "task_id": "t"}))] {
        client.put(&at("s", &format!("/working-set/{key}")), more).await.expect(200);
    }
    client.post(&at("s", "/tasks/t/close"), json!({"promote": ["price"]})).await.expect(200);
    pack(client, "s", json!({"save_frame": true})).await.expect(201);

    let gone = written(client, "forgets", "address", "nowhere 1").await;
    written(client, "forgets", "colour", "blue").await;
    pack(client, "forgets", json!({"query": "address?", "save_frame": true})).await.expect(201);
    client.ask("DELETE", &at("forgets", &format!("/facts/{gone}"))).send().await.expect(200);
    written(client, "erased", "colour", "blue").await;
    client.ask("DELETE", &at("erased", "")).send().await.expect(200);
    written(client, "erased", "colour", "red").await;
}

async fn history() -> House {
    let house = House::new().await;
    let client = house.handler("a").await;
    talks(&house, &client).await;
    approvals(&house).await;
    facts(&house, &client).await;
    house
}

#[tokio::test]
async fn a_rich_history_is_what_its_rows_say() {
    let house = history().await;
    let report = replayed(&house, "a").await;
    assert!(report.is_equal(), "{:#?}", report.differences);
    for (table, least) in [
        (LiveTable::Conversations, 3),
        (LiveTable::Contexts, 4),
        (LiveTable::Items, 4),
        (LiveTable::ItemPrompts, 3),
        (LiveTable::Commands, 1),
        (LiveTable::CommandAttempts, 1),
        (LiveTable::Messages, 8),
        (LiveTable::Principals, 1),
        (LiveTable::Frames, 1),
        (LiveTable::SpaceRecords, 15),
    ] {
        let rows = report.equal.get(&table).copied().unwrap_or(0);
        assert!(rows >= least, "{table:?}: {rows} rows");
    }
    assert_eq!((report.withdrawn, report.restless.len()), (1, 0), "the pack that showed the deleted fact");
    assert_eq!(report.underivable.get(&LiveTable::SpaceRecords), Some(&1), "the deleted fact itself");
    assert!(report.erased > 2);
    let strong = replayed(&house, "s").await;
    assert!(strong.is_equal(), "{:#?}", strong.differences);
    assert!(strong.equal[&LiveTable::Principals] >= 2 && strong.streams >= 4);
}

/// What is done to a row, and what is to be said of it: the table, how, and the place.
type Case = (&'static str, LiveTable, &'static str, &'static str);

const CASES: [Case; 32] = [
    (
        "UPDATE conversations SET body = '{}' WHERE conversation_id = 'late'",
        LiveTable::Conversations,
        "changed",
        "/last_question",
    ),
    ("DELETE FROM conversations WHERE conversation_id = 'news'", LiveTable::Conversations, "missing", ""),
    (
        "INSERT INTO conversations (tenant_id, conversation_id, body) VALUES ('a', 'nobodys', '{}')",
        LiveTable::Conversations,
        "unfounded",
        "",
    ),
    (
        "UPDATE contexts SET body = replace(body, 'command_ended', 'finished') WHERE conversation_id = 'done'",
        LiveTable::Contexts,
        "changed",
        "/reason",
    ),
    (
        "UPDATE contexts SET sweep_after = expires_at + 1 WHERE conversation_id = 'done'",
        LiveTable::Contexts,
        "changed",
        "swept_late",
    ),
    (
        "UPDATE messages SET received_at = received_at + 1 WHERE conversation_id = 'news'",
        LiveTable::Messages,
        "changed",
        "received_at",
    ),
    ("UPDATE commands SET unknown_from = 7", LiveTable::Commands, "changed", "unknown_from"),
    ("UPDATE space_records SET ended_at = at + 1 WHERE kind = 'pack'", LiveTable::SpaceRecords, "changed", "ended_at"),
    (
        "UPDATE contexts SET expires_at = expires_at + 1 WHERE conversation_id = 'late'",
        LiveTable::Contexts,
        "changed",
        "expires_at",
    ),
    (
        "UPDATE contexts SET actor_id = 'eve' WHERE conversation_id = 'which'",
        LiveTable::Contexts,
        "changed",
        "actor_id",
    ),
    ("DELETE FROM contexts WHERE conversation_id = 'news'", LiveTable::Contexts, "missing", ""),
    (
        "INSERT INTO contexts (tenant_id, context_id, conversation_id, actor_id, status, expires_at, updated_at, body) SELECT tenant_id, 'ctx_ffffffffffffffffffffffffffffffff', conversation_id, actor_id, status, expires_at, updated_at, body FROM contexts WHERE conversation_id = 'done'",
        LiveTable::Contexts,
        "unfounded",
        "",
    ),
    ("UPDATE items SET state = 'granted' WHERE conversation_id = 'late'", LiveTable::Items, "changed", "state"),
    (
        "UPDATE items SET body = replace(body, '\"option\":1', '\"option\":2') WHERE conversation_id = 'which'",
        LiveTable::Items,
        "changed",
        "/option",
    ),
    ("DELETE FROM items WHERE conversation_id = 'done'", LiveTable::Items, "missing", ""),
    (
        "UPDATE item_prompts SET item_id = 'cnf_0' WHERE message_id = (SELECT max(message_id) FROM item_prompts WHERE tenant_id = 'a')",
        LiveTable::ItemPrompts,
        "changed",
        "item_id",
    ),
    (
        "INSERT INTO item_prompts (tenant_id, message_id, item_id) VALUES ('a', 'wamid.nobodys', 'cnf_1')",
        LiveTable::ItemPrompts,
        "unfounded",
        "",
    ),
    (
        "UPDATE commands SET body = replace(body, 'succeeded', 'failed') WHERE tenant_id = 'a'",
        LiveTable::Commands,
        "changed",
        "/results/1/outcome",
    ),
    ("UPDATE command_attempts SET command_id = 'another'", LiveTable::CommandAttempts, "changed", "command_id"),
    ("DELETE FROM command_attempts WHERE tenant_id = 'a'", LiveTable::CommandAttempts, "missing", ""),
    (
        "UPDATE messages SET body = replace(body, '\"text\"', '\"image\"') WHERE conversation_id = 'which' AND body LIKE '%\"text\"%'",
        LiveTable::Messages,
        "changed",
        "/kind",
    ),
    (
        "DELETE FROM messages WHERE conversation_id = 'late' AND body LIKE '%expired%'",
        LiveTable::Messages,
        "missing",
        "",
    ),
    (
        "UPDATE principals SET identity_epoch = 7 WHERE tenant_id = 'a'",
        LiveTable::Principals,
        "changed",
        "identity_epoch",
    ),
    (
        "INSERT INTO principals (tenant_id, principal_id, identity_epoch, body) VALUES ('a', 'nobody', 0, '{}')",
        LiveTable::Principals,
        "unfounded",
        "",
    ),
    (
        "INSERT INTO principal_roles (tenant_id, role, principal_id) VALUES ('a', 'owner', 'no one')",
        LiveTable::PrincipalRoles,
        "unfounded",
        "",
    ),
    (
        "UPDATE frames SET body = replace(body, 'address.update', 'address.delete') WHERE tenant_id = 'a'",
        LiveTable::Frames,
        "changed",
        "/frame/slots/active_intent",
    ),
    (
        "UPDATE space_records SET body = replace(body, 'sun', 'fog') WHERE kind = 'signal'",
        LiveTable::SpaceRecords,
        "changed",
        "/value",
    ),
    (
        "UPDATE space_records SET key = 'other' WHERE kind = 'fact' AND key = 'size' AND body LIKE '%:42.0%'",
        LiveTable::SpaceRecords,
        "changed",
        "key",
    ),
    (
        "UPDATE space_records SET body = replace(body, '\"text\":\"Side', '\"text\":\"Far') WHERE kind = 'fact' AND body LIKE '%\"text\":\"Side%'",
        LiveTable::SpaceRecords,
        "changed",
        "/former",
    ),
    (
        "UPDATE space_records SET body = replace(body, 'Main street', 'Wall street') WHERE kind = 'pack'",
        LiveTable::SpaceRecords,
        "changed",
        "/pack/context",
    ),
    ("DELETE FROM space_records WHERE kind = 'item'", LiveTable::SpaceRecords, "missing", ""),
    (
        "INSERT INTO space_records (tenant_id, space_id, kind, record_id, at, live, body) SELECT tenant_id, 'nowhere', kind, record_id, at, live, body FROM space_records WHERE kind = 'signal'",
        LiveTable::SpaceRecords,
        "unfounded",
        "",
    ),
];

fn told(difference: &Difference) -> (&'static str, Vec<String>) {
    match &difference.how {
        How::Missing => ("missing", Vec::new()),
        How::Unfounded => ("unfounded", Vec::new()),
        How::Changed { members, columns } => ("changed", members.iter().chain(columns).cloned().collect()),
        How::Unmade => ("unmade", Vec::new()),
        How::Unreadable => ("unreadable", Vec::new()),
    }
}

#[tokio::test]
async fn every_kind_of_meddling_with_a_row_is_found_and_named() {
    let house = history().await;
    let mut known: Vec<Difference> = replayed(&house, "a").await.differences;
    assert!(known.is_empty(), "{known:#?}");
    for (sql, table, how, place) in CASES {
        assert!(house.meddle(sql).await > 0, "nothing to meddle with: {sql}");
        let report = replayed(&house, "a").await;
        let new: Vec<&Difference> = report.differences.iter().filter(|it| !known.contains(it)).collect();
        let found = new.iter().any(|difference| {
            let (told_how, places) = told(difference);
            let there = place.is_empty() || places.iter().any(|found| found == place);
            let named = how == "unfounded" || (difference.stream_id.is_some() && difference.artifact_id.is_some());
            difference.table == Some(table) && told_how == how && there && named
        });
        assert!(found, "{sql}: {new:#?}");
        known = report.differences;
    }
    assert!(replayed(&house, "s").await.is_equal(), "another tenant has no part in it");
}

#[tokio::test]
async fn what_was_erased_is_no_difference_and_hides_none() {
    let house = history().await;
    let before = replayed(&house, "a").await;
    let rows = |report: &ReplayReport| report.underivable.values().sum::<u64>();
    house.meddle("DELETE FROM log_payloads WHERE conversation_id = 'late'").await;
    let erased = replayed(&house, "a").await;
    assert!(erased.is_equal(), "{:#?}", erased.differences);
    assert!(erased.erased > before.erased + 5 && rows(&erased) > rows(&before) + 4, "{erased:?}");
    // The rows may go as well.
    for sql in [
        "DELETE FROM item_prompts WHERE item_id IN (SELECT item_id FROM items WHERE conversation_id = 'late')",
        "DELETE FROM contexts WHERE conversation_id = 'late'",
        "DELETE FROM items WHERE conversation_id = 'late'",
        "DELETE FROM messages WHERE conversation_id = 'late'",
        "DELETE FROM conversations WHERE conversation_id = 'late'",
    ] {
        house.meddle(sql).await;
    }
    let gone = replayed(&house, "a").await;
    assert!(gone.is_equal() && rows(&gone) < rows(&erased), "{:#?}", gone.differences);
    // Without one of its messages a conversation can no longer tell how its context stands, but it can tell of commands.
    let of_done = "DELETE FROM log_payloads WHERE conversation_id = 'done' AND payload LIKE '%message_received%'
                   AND payload LIKE '%confirmed%'";
    assert_eq!(house.meddle(of_done).await, 1);
    let doubtful = replayed(&house, "a").await;
    assert!(doubtful.is_equal(), "{:#?}", doubtful.differences);
    assert_eq!(doubtful.underivable.get(&LiveTable::Messages), Some(&1));
    assert_eq!(doubtful.underivable.get(&LiveTable::Contexts), Some(&1));
    house.meddle("UPDATE commands SET body = replace(body, 'succeeded', 'failed') WHERE tenant_id = 'a'").await;
    house.meddle("UPDATE contexts SET actor_id = 'eve' WHERE conversation_id = 'which'").await;
    let found = replayed(&house, "a").await;
    let tables: Vec<Option<LiveTable>> = found.differences.iter().map(|difference| difference.table).collect();
    assert_eq!(tables.len(), 2, "{:#?}", found.differences);
    assert!(tables.contains(&Some(LiveTable::Commands)) && tables.contains(&Some(LiveTable::Contexts)));
}

#[tokio::test]
async fn what_a_deletion_erased_licenses_nothing_else() {
    let house = history().await;
    let cases = [
        // The deleted fact has its value again.
        ("UPDATE space_records SET body = replace(body, '\"value\":null', '\"value\":\"nowhere 1\"') WHERE kind = 'fact'", "changed"),
        // Another fact of that space has another value: it is none of those that were deleted.
        ("UPDATE space_records SET body = replace(body, '\"blue\"', '\"grey\"') WHERE space_id = 'forgets'", "changed"),
        // A fact that nobody ever wrote poses as a deleted one.
        (
            "INSERT INTO space_records (tenant_id, space_id, kind, record_id, at, live, body) SELECT tenant_id, space_id,
             kind, 'fct_00000000000000000000000000000001', at, live, body FROM space_records
             WHERE space_id = 'forgets' AND kind = 'fact' AND body LIKE '%\"cause\":\"deleted\"%'",
            "unfounded",
        ),
        ("UPDATE space_records SET body = replace(body, 'red', 'blue') WHERE space_id = 'erased' AND kind = 'fact'", "changed"),
    ];
    for (number, (sql, how)) in cases.into_iter().enumerate() {
        assert!(house.meddle(sql).await > 0, "{sql}");
        let found = replayed(&house, "a").await.differences;
        assert_eq!(found.len(), number + 1, "{sql}: {found:#?}");
        assert!(found.iter().any(|difference| told(difference).0 == how), "{sql}: {found:#?}");
    }
}

#[tokio::test]
async fn rows_whose_time_is_over_may_be_gone_and_no_others() {
    let house = history().await;
    let messages = replayed(&house, "a").await.equal[&LiveTable::Messages];
    // Long enough for rows, and not for what the log says of them.
    house.wait(60 * 24 * 60 * 60);
    assert!(!house.purge("a").await.is_empty());
    let report = replayed(&house, "a").await;
    assert!(report.is_equal(), "{:#?}", report.differences);
    assert_eq!((report.disposed[&LiveTable::Messages], report.equal.get(&LiveTable::Messages)), (messages, None));
    assert!(report.counted.is_empty(), "{:?}", report.counted);
    // Those are excused that the record names, and no others, however many were erased.
    let contexts = report.disposed[&LiveTable::Contexts];
    let later = house.opened(&house.handler("a").await, "later").await;
    assert_eq!(replayed(&house, "a").await.disposed[&LiveTable::Contexts], contexts);
    assert!(house.meddle("DELETE FROM contexts WHERE conversation_id = 'later'").await > 0, "{later}");
    let report = replayed(&house, "a").await;
    assert!(report.differences.iter().any(|difference| difference.how == How::Missing), "{:#?}", report.differences);
}

/// What one person's erasure took was never missed, so it excuses nothing: a row of somebody else's that goes is told, however
/// many went before.
#[tokio::test]
async fn what_an_erasure_took_excuses_no_row_of_others() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for conversation in ["gone-1", "gone-2", "stays"] {
        let (context, mut binding) = house.confirmed(&client, conversation).await;
        binding["attempt_id"] = json!(crate::house::fresh_attempt());
        client.post(&format!("/v1/contexts/{context}/commands"), binding).await.expect(201);
    }
    let other = json!({"conversation_id": "others", "actor_id": "somebody-else"});
    client.post("/v1/contexts", other).await.expect(201);
    let admin = house.client("a", CredentialKind::Admin, None, None).await;
    crate::privacy::erase(&admin, &json!({"actor_id": "customer"}), false).await.expect(201);
    let report = replayed(&house, "a").await;
    assert!(report.is_equal() && report.disposed.is_empty() && report.counted.is_empty(), "{report:#?}");
    assert_eq!(house.meddle("DELETE FROM contexts WHERE actor_id = 'somebody-else'").await, 1);
    let report = replayed(&house, "a").await;
    assert_eq!((report.different, told(&report.differences[0]).0), (1, "missing"), "{:#?}", report.differences);
}
