//! An erasure that ends anywhere, as if its process had been killed, is finished by asking again with the same key.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use cscp::committer::Limits;
use cscp::domain::id::{AttemptId, CommandId, Ids, PrincipalId};
use cscp::domain::message::message_key;
use cscp::domain::operation::{AttachPrompt, CredentialKind, Operation, PutPrincipal};
use cscp::domain::principal::{Alias, AliasKind, PrincipalKind};
use cscp::domain::scope::Scope;
use cscp::domain::speaking::SpeaksFor;
use cscp::service::privacy::{Erase, Erased, Selector};
use cscp::service::{Caller, Service, ServiceError, verify_tenant};
use cscp::storage::{LiveTable, Store};
use cscp::system::SystemEntropy;
use serde_json::json;

use crate::doubt::{Cut, Fate};
use crate::harness::House;
use crate::meddled::Meddled;
use crate::passing::Passing;
use crate::replay::expect_replayed;

const NUMBER: &str = "+5511900000017";
/// What marks everything of the person's own.
const MARK: &str = "CANARY7f3a";

fn alias() -> Alias {
    Alias { kind: AliasKind::Phone, value: NUMBER.to_owned() }
}

/// Somebody with two conversations and a registration, and somebody else in whose conversation they are named.
async fn house() -> House {
    let house = House::new().await;
    let registration = PutPrincipal {
        principal_id: PrincipalId::new(MARK).unwrap(),
        kind: PrincipalKind::Person,
        roles: Vec::new(),
        person_id: None,
        aliases: vec![alias()],
        maturity: None,
        locale: None,
        if_revision: None,
    };
    house.answer(Operation::PutPrincipal(registration)).await.unwrap();
    for n in 0..2 {
        let conversation = format!("chat-{n}");
        let said = |text: &str| json!({"actor_id": MARK, "conversation_id": conversation, "text": text});
        let first = house.message(&format!("wamid.{MARK}.{n}"), &said("hello there"));
        let context_id = house.context_of(first).await;
        let command = format!("{MARK}-{n}");
        let (_, buttons) = house.ask(&context_id, &command).await;
        let mut tap = said("Yes");
        tap["button_id"] = json!(buttons[0]);
        house.post(&format!("wamid.{MARK}.yes.{n}"), tap).await;
        house.answer(House::bind(&context_id, &command, "one")).await.unwrap();
    }
    let mut about = house.message("wamid.other", &json!({"actor_id": "bob", "conversation_id": "bobs", "text": "hi"}));
    about.extensions.insert("friend".to_owned(), json!(NUMBER));
    house.answer(Operation::Ingest(Box::new(about))).await.unwrap();
    house
}

fn service(house: &House, store: Arc<dyn Store>) -> (Service, Caller) {
    let committer = House::committer_over(Arc::clone(&store), Limits::default(), 5_000_000);
    let rules = crate::rules::shipped();
    let clock = Arc::<crate::harness::ManualClock>::clone(&house.clock);
    let service = Service::new(store, committer, rules, clock, Box::new(SystemEntropy));
    let mut source = SystemEntropy;
    let caller = Caller {
        tenant: Arc::clone(&house.tenant),
        key_id: Ids::new(house.tenant.created_at, &mut source).key(),
        kind: CredentialKind::Admin,
        scopes: BTreeSet::from(Scope::ALL),
        principal_id: None,
        speaks_for: SpeaksFor::default(),
    };
    (service, caller)
}

async fn erase(house: &House, store: Arc<dyn Store>) -> Result<Erased, ServiceError> {
    let (service, caller) = service(house, store);
    let named = json!({"alias": {"kind": "phone", "value": NUMBER}});
    let asked = Erase { selector: Selector::Alias(alias()), named, key: "one-key".to_owned(), reason: None };
    service.erase_subject(&caller, &asked).await
}

/// Rows that name the person.
async fn left(house: &House) -> Vec<String> {
    let rows = crate::rows::rows(&house.place).await.into_iter();
    let traces = [MARK, "5511900000017", "chat-0", "chat-1"];
    rows.filter(|row| traces.iter().any(|trace| row.contains(trace))).collect()
}

async fn sound(house: &House) -> u64 {
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    report.erased
}

/// A store that ends at its so-and-so-manieth transaction and answers nothing from then on.
fn ending(house: &House, at: u64, fate: Fate) -> Arc<dyn Store> {
    let begun = AtomicU64::new(0);
    Meddled::store(&house.store, move |_, inner| {
        let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
        let fate = match number.cmp(&at) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(fate),
            std::cmp::Ordering::Greater => Some(Fate::NeverArrived),
        };
        Passing::boxed(inner, Cut(fate))
    })
}

#[tokio::test]
async fn an_erasure_that_ends_anywhere_is_finished_by_asking_again() {
    for fate in [Fate::NeverArrived, Fate::AnswerLost] {
        let mut ends = 0;
        for at in 1..50 {
            let house = house().await;
            assert!(left(&house).await.len() > 20);
            if erase(&house, ending(&house, at, fate)).await.is_ok() {
                break;
            }
            ends += 1;
            sound(&house).await;
            let erased = erase(&house, Arc::clone(&house.store)).await.unwrap();
            assert_eq!(left(&house).await, [""; 0], "{fate:?} at {at}");
            assert!(sound(&house).await > 10);
            assert_eq!(erased.shown.state, "completed");
            assert!(erased.shown.counts.get("conversations") == Some(&2), "{fate:?} at {at}: {:?}", erased.shown);
            assert!(erased.shown.counts.get("principals") == Some(&1), "{fate:?} at {at}: {:?}", erased.shown);
        }
        assert!(ends > 4, "there are several transactions: {ends}");
    }
}

/// A name that is claimed and names the person becomes the pseudonym. Two of them become one, and that does not stop the
/// erasure: both records stay, and the pseudonym leads to one of them.
#[tokio::test]
async fn names_that_become_one_pseudonym_do_not_stop_an_erasure() {
    let house = house().await;
    let said = |text: &str| json!({"actor_id": "bob", "conversation_id": "bobs", "text": text});
    let context_id = house.context_of(house.message("wamid.bob", &said("hello there"))).await;
    for (n, before) in ["a", "b"].into_iter().enumerate() {
        let named = format!("wamid.{}", STANDARD_NO_PAD.encode(format!("{before}5511900000017 and more")));
        let command = format!("bobs-{n}");
        let (item_id, buttons) = house.ask(&context_id, &command).await;
        let message = house.message(&named, &json!({}));
        let message_key = message_key(&house.tenant.key, &message.channel, &message.message_id);
        let attach = AttachPrompt {
            item_id,
            message_id: message.message_id,
            channel: message.channel,
            message_key,
            sent_at: None,
        };
        house.answer(Operation::AttachPrompt(attach)).await.unwrap();
        let mut tap = said("Yes");
        tap["button_id"] = json!(buttons[0]);
        house.post(&format!("wamid.bob.{n}"), tap).await;
        let Operation::Bind(mut bind) = House::bind(&context_id, &command, "one") else { panic!("no binding") };
        bind.attempt_id = AttemptId::new(named).unwrap();
        house.answer(Operation::Bind(bind)).await.unwrap();
    }
    erase(&house, Arc::clone(&house.store)).await.unwrap();
    assert_eq!(left(&house).await, [""; 0]);
    sound(&house).await;
    let tenant = &house.tenant.tenant_id;
    let mut attempts = BTreeSet::new();
    for n in 0..2 {
        let command =
            house.store.command(tenant, &CommandId::new(format!("bobs-{n}")).unwrap()).await.unwrap().unwrap();
        attempts.insert(command.attempt_id.as_str().to_owned());
    }
    let attempts: Vec<String> = attempts.into_iter().collect();
    assert_eq!(attempts.len(), 1, "both have the pseudonym: {attempts:?}");
    for table in [LiveTable::CommandAttempts, LiveTable::ItemPrompts] {
        assert_eq!(house.store.live_rows(tenant, table, &attempts).await.unwrap().len(), 1, "{table:?}");
    }
    expect_replayed(&house).await;
}
