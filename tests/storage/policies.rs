//! Published policies: every version is kept, none is lost between two who publish at once, and a batch ends under the
//! rules that it began with.

use std::sync::Arc;

use cscp::committer::{Committer, Limits, RulesInForce, Submission};
use cscp::domain::operation::{Answer, Operation};
use cscp::domain::policy::PolicyRef;
use cscp::domain::time::Timestamp;
use cscp::packs::PackSource;
use cscp::storage::PolicySet;
use serde_json::json;

use crate::harness::{House, ManualClock, SeededEntropy};
use crate::meddled::Meddled;

fn set(name: &str) -> PolicySet {
    let text = |text: &str| text.to_owned();
    let pack = PolicyRef { pack_id: text(name), version: text("1.0.0"), hash: format!("sha256:{name}") };
    let files = vec![(text("a.yaml"), format!("{name}: 'ação \u{1}'\n")), (text("lexicons/b.yaml"), String::new())];
    PolicySet { hash: format!("sha256:set-{name}"), packs: vec![pack], files }
}

#[tokio::test]
async fn versions_are_counted_kept_and_read_back() {
    let house = House::new().await;
    let store = &house.store;
    assert_eq!(store.policies_version().await.unwrap(), 0);
    assert_eq!(store.policy_versions(None, 10).await.unwrap(), []);
    let at = |n: i64| Timestamp::from_micros(1_767_225_600_123_456 + n);
    assert_eq!(store.publish_policies(Some(&set("one")), Some("first"), at(1)).await.unwrap(), 1);
    assert_eq!(store.publish_policies(None, None, at(2)).await.unwrap(), 2);
    assert_eq!(store.publish_policies(Some(&set("two")), None, at(3)).await.unwrap(), 3);
    assert_eq!(store.policies_version().await.unwrap(), 3);
    assert_eq!(store.policy_set(1).await.unwrap(), Some(set("one")));
    assert_eq!(store.policy_set(2).await.unwrap(), None);
    assert_eq!(store.policy_set(3).await.unwrap(), Some(set("two")));
    for missing in [0, 4, u64::MAX] {
        store.policy_set(missing).await.expect_err("read as none, it would put other packs in force");
    }
    let versions = store.policy_versions(None, 10).await.unwrap();
    assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!((versions[0].note.as_deref(), versions[2].note.as_deref()), (None, Some("first")));
    assert_eq!((versions[1].hash.as_ref(), &versions[1].packs), (None, &vec![]));
    assert_eq!((versions[2].hash.as_deref(), &versions[2].packs), (Some("sha256:set-one"), &set("one").packs));
    assert_eq!(versions[2].published_at, at(1));
    let page = store.policy_versions(Some(3), 1).await.unwrap();
    assert_eq!(page, [versions[1].clone()]);
}

#[tokio::test]
async fn of_many_who_publish_at_once_each_gets_a_version_and_none_is_lost() {
    const PUBLISHERS: u64 = 12;
    let house = House::new().await;
    let beside = house.place.open(Arc::<ManualClock>::clone(&house.clock), 2).await;
    let publishing = (0..PUBLISHERS).map(|n| {
        let store = if n % 2 == 0 { Arc::clone(&house.store) } else { Arc::clone(&beside) };
        tokio::spawn(async move {
            let set = set(&n.to_string());
            (store.publish_policies(Some(&set), None, Timestamp::from_micros(1)).await.unwrap(), set)
        })
    });
    let mut versions = Vec::new();
    for publishing in publishing.collect::<Vec<_>>() {
        let (version, set) = publishing.await.unwrap();
        assert_eq!(beside.policy_set(version).await.unwrap(), Some(set));
        versions.push(version);
    }
    versions.sort_unstable();
    assert_eq!(versions, (1..=PUBLISHERS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_batch_ends_under_the_rules_that_it_began_with() {
    let house = House::new().await;
    let first = crate::rules::shipped();
    let files = PackSource::Shipped.files().unwrap().to_paths().into_iter();
    let newer = files.map(|(path, text)| (path, text.replace("version: 1.2.0", "version: 2.0.0"))).collect();
    let newer = Arc::new(PackSource::Published(newer).load().unwrap());
    let (sender, rules) = RulesInForce::replaceable(first);
    // They are replaced while the batch waits for its locks.
    let store = Meddled::store(&house.store, move |_, transaction| {
        sender.send_replace(Arc::clone(&newer));
        transaction
    });
    let (committer, writer) = Committer::new(store, rules, Box::new(SeededEntropy(5)), Limits::default());
    tokio::spawn(writer.run());
    for (id, version) in [("wamid.1", "1.2.0"), ("wamid.2", "2.0.0")] {
        let message = house.message(id, &json!({"text": "hello there", "conversation_id": id}));
        let operation = Operation::Ingest(Box::new(message));
        let submission = Submission { tenant: Arc::clone(&house.tenant), operation, claim: None };
        let Answer::Turn { context: Some(context), .. } = committer.submit(submission).await.unwrap().result.unwrap()
        else {
            panic!("no context was opened");
        };
        assert_eq!(context.policy.version, version);
    }
}
