//! What only a server that misbehaves could sign: entries that are in the tree and do not fit one another.

use serde_json::json;

use super::*;
use crate::domain::event::{About, Event, ReadRecord, Recorded, StreamKey};
use crate::domain::id::{Entropy, Ids, TenantId};
use crate::domain::policy::PolicyRef;
use crate::domain::time::Timestamp;
use crate::evidence::artifact::artifact;
use crate::evidence::bundle::{self, Writer};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::entry::{LogEntry, StreamHead, append};
use crate::evidence::note::SigningKey;
use crate::evidence::tree::{Growing, Prover, TileSet};

const ORIGIN: &str = "tests.example/test/t";
const START: i64 = 1_700_000_000_000_000;

struct Counter(u8);
impl Entropy for Counter {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 = self.0.wrapping_add(1);
        [self.0; 32]
    }
}

fn key() -> SigningKey {
    SigningKey::from_seed(ORIGIN, [3; 32]).unwrap()
}

/// Appends a look at these seconds each, wherever `heads` says that it goes.
fn looks(seconds: &[i64], mut head: impl FnMut(usize, &mut StreamHead)) -> Vec<LogEntry> {
    let mut source = Counter(0);
    let mut ids = Ids::new(Timestamp::from_micros(START), &mut source);
    let (tenant, policy) = (
        TenantId::new("t").unwrap(),
        PolicyRef { pack_id: "basic".to_owned(), version: "1.0.0".to_owned(), hash: Digest::ZERO.prefixed() },
    );
    let mut at = StreamHead::new(ids.stream());
    let looks = seconds.iter().enumerate().map(|(place, second)| {
        let read = json!({"operation": "look", "key_id": "k", "refused": false, "records": place});
        let read: ReadRecord = serde_json::from_value(read).unwrap();
        let recorded = Recorded {
            stream: StreamKey::Access("k".to_owned()),
            about: About::default(),
            event: Event::ReadRecorded { read },
        };
        head(place, &mut at);
        append(&mut at, &tenant, &recorded, &policy, Timestamp::from_micros(START + second * 1_000_000), &mut ids).entry
    });
    looks.collect()
}

/// The bundle of a log with these entries.
fn bundle(entries: &[LogEntry]) -> Vec<Vec<u8>> {
    let mut growing = Growing::new(0, Vec::new()).unwrap();
    for entry in entries {
        growing.push(&entry.entry_hash);
    }
    let grown = growing.finish();
    let tiles: TileSet = grown.tiles.into_iter().collect();
    let mut prover = Prover::new(&tiles, grown.size);
    let opening: bundle::Line = bundle::Line::Bundle(bundle::Opening {
        format: bundle::FORMAT,
        origin: ORIGIN.to_owned(),
        tenant_id: TenantId::new("t").unwrap(),
        environment: "test".to_owned(),
        created_at: Timestamp::from_micros(START),
        selection: json!({}),
        coverage: bundle::Coverage::Whole,
    });
    let note = Checkpoint::new(ORIGIN, grown.size, grown.root).unwrap().sign(&[key()]).unwrap();
    let mut lines =
        vec![opening, bundle::Line::Keys(vec![key().verifier().to_string()]), bundle::Line::Checkpoint(note)];
    for (leaf, entry) in (0..).zip(entries) {
        let body = entry.body.as_ref().unwrap();
        lines.push(bundle::Line::Entry(bundle::Entry {
            header: String::from_utf8(crate::domain::canonical::canonical(&entry.header)).unwrap(),
            prev_hash: entry.prev_hash.prefixed(),
            payload_commitment: entry.payload_commitment.prefixed(),
            entry_hash: entry.entry_hash.prefixed(),
            leaf_index: leaf,
            proof: prover.inclusion_proof(leaf).unwrap().iter().map(Digest::prefixed).collect(),
            payload: Some(body.payload.clone()),
            salt: Some(body.salt.to_hex()),
            artifact: artifact(entry, "test"),
        }));
    }
    lines.push(bundle::Line::Policy(bundle::Pack { hash: Digest::ZERO.prefixed(), document: None }));
    let mut writer = Writer::default();
    let mut written: Vec<Vec<u8>> = lines.iter().map(|line| writer.line(line).unwrap()).collect();
    written.push(writer.line(&writer.summary(0, Vec::new())).unwrap());
    let end = writer.end(ORIGIN, &[key()]).unwrap();
    written.push(Writer::default().line(&end).unwrap());
    written
}

fn audited(lines: &[Vec<u8>]) -> BundleReport {
    let mut auditor = Auditor::new(Trusted { keys: vec![key().verifier()], ..Trusted::default() });
    for line in lines {
        auditor.line(line.strip_suffix(b"\n").unwrap());
    }
    auditor.finish()
}

fn found(entries: &[LogEntry]) -> Vec<(u64, Flaw)> {
    audited(&bundle(entries)).found.iter().map(|found| (found.line, found.flaw)).collect()
}

#[test]
fn a_log_as_it_is_written_holds() {
    let report = audited(&bundle(&looks(&[0, 0, 1, 5], |_, _| {})));
    assert_eq!((report.found.as_slice(), report.entries, report.proven, report.shown), (&[][..], 4, 4, 0));
    assert_eq!((report.streams, report.size, report.trust), (1, 4, Trust::Given));
}

#[test]
fn entries_in_the_tree_that_do_not_fit_one_another_are_found() {
    let backwards = looks(&[0, 9, 8, 10], |_, _| {});
    assert_eq!(found(&backwards), [(6, Flaw::Time)]);
    let another = looks(&[0, 1, 2, 3], |place, head| {
        if place == 2 {
            head.hash = Digest::ZERO;
        }
    });
    assert_eq!(found(&another), [(6, Flaw::Link)]);
    let skipped = looks(&[0, 1, 2, 3], |place, head| head.seq += u64::from(place == 2));
    assert_eq!(found(&skipped), [(6, Flaw::Gap)]);
    let again = looks(&[0, 1, 2, 3], |place, head| head.seq -= u64::from(place == 2));
    assert_eq!(found(&again), [(6, Flaw::Sequence), (7, Flaw::Link)]);
}

#[test]
fn times_are_compared_as_times() {
    use super::entry::moment;
    let ordered =
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01Z"];
    let moments: Vec<String> = ordered.iter().map(|at| moment(at).unwrap()).collect();
    assert!(moments.is_sorted() && moments.windows(2).all(|pair| pair[0] != pair[1]));
    for at in [
        "",
        "Z",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00.1234567Z",
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00.Z1",
        "12026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.-1Z",
    ] {
        assert_eq!(moment(at), None, "{at}");
    }
}

#[test]
fn a_line_too_much_and_a_line_too_few_are_found() {
    let lines = bundle(&looks(&[0, 1], |_, _| {}));
    for missing in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(missing);
        assert!(!audited(&fewer).is_sound(), "without line {missing}");
        let mut twice = lines.clone();
        twice.insert(missing, lines[missing].clone());
        assert!(!audited(&twice).is_sound(), "line {missing} twice");
    }
    assert!(!audited(&[]).is_sound());
}
