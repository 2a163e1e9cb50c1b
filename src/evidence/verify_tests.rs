//! Every kind of change of a chain is found at the right entry.

use super::*;
use crate::domain::canonical::Digest;
use crate::domain::event::{About, Event, ReadRecord, Recorded, StreamKey};
use crate::domain::id::{Entropy, Ids};
use crate::domain::policy::PolicyRef;
use crate::domain::time::Timestamp;
use crate::evidence::entry::append;

struct Counter(u8);
impl Entropy for Counter {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 = self.0.wrapping_add(1);
        [self.0; 32]
    }
}

fn chain(length: u8) -> (StreamHead, Vec<LogEntry>) {
    let mut source = Counter(0);
    let mut ids = Ids::new(Timestamp::from_micros(1_700_000_000_000_000), &mut source);
    let tenant = TenantId::new("t").unwrap();
    let policy = PolicyRef { pack_id: "basic".to_owned(), version: "1.0.0".to_owned(), hash: "sha256:x".to_owned() };
    let mut head = StreamHead::new(ids.stream());
    let read = |n: u8| ReadRecord {
        operation: format!("test {n}"),
        key_id: "k".to_owned(),
        viewer_id: None,
        detail: None,
        conversation_id: None,
        context_id: None,
        command_id: None,
        space_id: None,
        pack_id: None,
        ids: Vec::new(),
        ids_digest: None,
        refused: false,
        records: 0,
    };
    let entries = (0..length).map(|n| {
        let recorded = Recorded {
            stream: StreamKey::Access("k".to_owned()),
            about: About::default(),
            event: Event::ReadRecorded { read: read(n) },
        };
        let at = Timestamp::from_micros(1_700_000_000_000_000 + i64::from(n));
        append(&mut head, &tenant, &recorded, &policy, at, &mut ids).entry
    });
    let entries = entries.collect();
    (head, entries)
}

fn check(head: &StreamHead, entries: &[LogEntry]) -> Result<ChainCheck, Broken> {
    let mut chain = ChainCheck::new(head.stream_id.clone());
    let tenant_id = TenantId::new("t").unwrap();
    entries.iter().try_for_each(|entry| chain.next(&tenant_id, entry, &Erasures::default()))?;
    chain.finish(head)?;
    Ok(chain)
}

#[test]
fn an_untouched_chain_verifies_and_so_does_one_without_some_payloads() {
    let (head, mut entries) = chain(5);
    assert!(check(&head, &entries).is_ok());
    entries[2].body = None;
    let chain = check(&head, &entries).unwrap();
    assert_eq!((chain.erased(), chain.missing()), (0, 1), "nothing says why it is gone");
}

#[test]
fn what_is_missing_is_explained_by_a_deletion_after_it_and_by_nothing_else() {
    let (head, entries) = chain(6);
    let of_kinds = |kinds: [&str; 6]| {
        let mut entries = entries.clone();
        for (entry, kind) in entries.iter_mut().zip(kinds) {
            entry.header.kind = kind.trim_start_matches('-').to_owned();
            entry.body = entry.body.take().filter(|_| !kind.starts_with('-'));
        }
        let mut chain = ChainCheck::new(head.stream_id.clone());
        for entry in &entries {
            chain.account(entry, None, &Erasures::default());
        }
        (chain.erased(), chain.missing())
    };
    let (written, gone, observed) = ("fact.written", "-fact.written", "-observation.read");
    assert_eq!(of_kinds([written, gone, FACT_DELETED, written, written, written]), (1, 0));
    assert_eq!(of_kinds([written, observed, FACT_DELETED, gone, written, written]), (1, 1));
    assert_eq!(of_kinds([written, "-environment.set", FACT_DELETED, gone, written, written]), (0, 2));
    assert_eq!(of_kinds([gone, observed, gone, SPACE_ERASED, written, gone]), (3, 1));
    assert_eq!(of_kinds([gone, "-fact_space.erased", written, written, written, written]), (0, 2));
}

#[test]
fn every_kind_of_change_is_found_at_the_right_entry() {
    type Tamper = fn(&mut Vec<LogEntry>);
    let (head, entries) = chain(5);
    let cases: [(&str, Tamper, u64, Fault); 9] = [
        ("delete", |e| drop(e.remove(2)), 4, Fault::Sequence),
        ("truncate", |e| drop(e.pop()), 5, Fault::Head),
        ("repeat", |e| e.insert(2, e[1].clone()), 2, Fault::Sequence),
        ("swap", |e| e.swap(1, 2), 3, Fault::Sequence),
        ("link", |e| e[3].prev_hash = Digest::ZERO, 4, Fault::Link),
        ("time", |e| e[3].header.at = Timestamp::from_micros(0), 4, Fault::Hash),
        ("tenant", |e| e[3].header.tenant_id = TenantId::new("u").unwrap(), 4, Fault::Foreign),
        ("payload", |e| e[1].body.as_mut().unwrap().payload.push(' '), 2, Fault::Payload),
        ("salt", |e| e[1].body.as_mut().unwrap().salt = Digest::ZERO, 2, Fault::Payload),
    ];
    for (name, tamper, seq, fault) in cases {
        let mut changed = entries.clone();
        tamper(&mut changed);
        let broken = check(&head, &changed).unwrap_err();
        assert_eq!((broken.seq, broken.fault), (seq, fault), "{name}");
    }
}

#[test]
fn a_change_with_every_later_hash_recomputed_shows_at_the_head() {
    let (head, mut entries) = chain(4);
    entries[1].header.kind = "access.other".to_owned();
    for index in 1..entries.len() {
        entries[index].prev_hash = entries[index - 1].entry_hash;
        entries[index].entry_hash =
            entry_hash(&entries[index].prev_hash, &entries[index].header, &entries[index].payload_commitment);
    }
    entries[1].body = None;
    assert_eq!(check(&head, &entries).unwrap_err().fault, Fault::Head);
}

/// A deletion that says what went with it explains that, and nothing else.
#[test]
fn a_deletion_explains_the_payloads_that_it_names() {
    let (head, entries) = chain(6);
    let range = |first, last| ErasedRange { stream_id: head.stream_id.clone(), first, last };
    let check = |gone: &[usize], since: u64, payloads: Vec<ErasedRange>| {
        let mut chain = ChainCheck::new(head.stream_id.clone());
        for (place, entry) in entries.iter().enumerate() {
            let mut entry = entry.clone();
            entry.header.kind = if place == 3 { FACT_DELETED } else { "fact.written" }.to_owned();
            entry.body = entry.body.filter(|_| !gone.contains(&place));
            let account = (since, payloads.clone());
            chain.account(&entry, (place == 4).then_some(&account), &Erasures::default());
        }
        (chain.erased(), chain.undetermined(), chain.missing())
    };
    assert_eq!(check(&[0, 1], 4, vec![range(1, 2)]), (2, 0, 0));
    assert_eq!(check(&[0, 1, 2], 4, vec![range(1, 2)]), (2, 0, 1), "one more is gone");
    assert_eq!(check(&[0, 1], 4, vec![range(1, 1)]), (1, 0, 1), "another one is gone");
    assert_eq!(check(&[0, 5], 4, vec![range(1, 9)]), (1, 0, 1), "nothing is erased in advance");
    assert_eq!(check(&[0, 1], 5, vec![range(1, 1)]), (2, 1, 0), "an earlier deletion did not say what went");
}
