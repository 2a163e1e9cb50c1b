//! A change of the record behind the program's back is found, and the right entry is named (S11).

use cscp::service::verify_tenant;
use serde_json::json;

use crate::harness::House;

async fn house_with_history() -> House {
    let house = House::new().await;
    let context_id = house.context().await;
    for n in 0..5 {
        let (_, buttons) = house.ask(&context_id, &format!("k{n}")).await;
        house.post(&format!("wamid.{n}"), json!({"button_id": buttons[0]})).await;
        house.answer(House::bind(&context_id, &format!("k{n}"), "one")).await.unwrap();
    }
    house
}

/// Changes the database itself. Statements are written in SQLite's words.
async fn tamper(house: &House, sql: &'static str) {
    assert!(house.changed(sql).await > 0, "{sql}");
}

#[tokio::test]
async fn every_way_of_changing_the_log_is_found() {
    let cases = [
        ("UPDATE log_entries SET type = 'context.closed' WHERE seq = 7", 7),
        ("UPDATE log_entries SET at = at + 1 WHERE seq = 7", 7),
        ("UPDATE log_entries SET policy_hash = 'sha256:0' WHERE seq = 7", 7),
        ("UPDATE log_entries SET prev_hash = zeroblob(32) WHERE seq = 7", 7),
        ("UPDATE log_entries SET entry_hash = zeroblob(32) WHERE seq = 7", 7),
        ("UPDATE log_entries SET payload_commitment = zeroblob(32) WHERE seq = 7", 7),
        ("UPDATE log_payloads SET payload = replace(payload, 'ana', 'eve') WHERE seq = 7", 7),
        ("UPDATE log_payloads SET salt = zeroblob(32) WHERE seq = 7", 7),
        ("DELETE FROM log_entries WHERE seq = 7", 8),
        ("UPDATE streams SET seq = seq - 1", 0),
        ("UPDATE streams SET head_hash = zeroblob(32)", 0),
    ];
    // Before the entries have their place in the log, and after.
    for ((sql, seq), logged) in cases.into_iter().flat_map(|case| [(case, false), (case, true)]) {
        let house = house_with_history().await;
        let tenant = &house.tenant.tenant_id;
        if logged {
            house.sequenced().await;
        }
        assert!(verify_tenant(house.store.as_ref(), tenant).await.unwrap().broken.is_empty());
        tamper(&house, sql).await;
        let report = verify_tenant(house.store.as_ref(), tenant).await.unwrap();
        assert_eq!(report.broken.len(), 1, "{sql}");
        if seq > 0 {
            assert_eq!(report.broken[0].1.seq, seq, "{sql}");
        }
    }
}

#[tokio::test]
async fn a_frame_that_was_changed_or_taken_away_is_found() {
    for sql in [
        "UPDATE frames SET body = replace(body, 'ana', 'eve') WHERE command_id = 'k2'",
        "DELETE FROM frames WHERE command_id = 'k2'",
    ] {
        let house = house_with_history().await;
        tamper(&house, sql).await;
        let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
        assert_eq!(report.broken.len(), 1, "{sql}");
        assert!(report.broken[0].1.to_string().contains("frame"), "{sql}");
    }
}

/// By these columns queries and exports select, and erasures find what goes: one that is changed hides an entry.
#[tokio::test]
async fn a_payload_or_a_stream_under_another_name_is_found() {
    const OF: &str = "context_id IS NOT NULL AND seq = 7";
    let columns = ["conversation_id", "context_id", "command_id", "correlation_id", "space_id", "fact_uid"];
    let filed =
        columns.into_iter().map(|column| (format!("UPDATE log_payloads SET {column} = 'other' WHERE {OF}"), "indexed"));
    let none = ["conversation_id", "context_id"];
    let none =
        none.into_iter().map(|column| (format!("UPDATE log_payloads SET {column} = NULL WHERE {OF}"), "indexed"));
    let named = [
        ("UPDATE log_payloads SET at = at + 1 WHERE context_id IS NOT NULL AND seq = 7", "indexed"),
        ("UPDATE streams SET key = 'other' WHERE kind = 'conversation'", "name"),
        ("UPDATE streams SET kind = 'access' WHERE kind = 'conversation'", "name"),
        ("UPDATE streams SET kind = 'erased', key = stream_id WHERE kind = 'conversation'", "name"),
        ("UPDATE streams SET last_at = last_at - 1 WHERE kind = 'conversation'", "head"),
    ];
    let cases = filed.chain(none).chain(named.map(|(sql, word)| (sql.to_owned(), word)));
    for (sql, word) in cases {
        let house = house_with_history().await;
        house.sequenced().await;
        tamper(&house, sql.clone().leak()).await;
        let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
        assert_eq!(report.broken.len(), 1, "{sql}: {report:?}");
        assert!(report.broken[0].1.to_string().contains(word), "{sql}: {report:?}");
    }
}

#[tokio::test]
async fn an_erased_payload_leaves_the_chain_whole() {
    let house = house_with_history().await;
    tamper(&house, "DELETE FROM log_payloads WHERE seq IN (3, 4)").await;
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert_eq!((report.broken.len(), report.erased, report.missing), (0, 0, 2));
}
