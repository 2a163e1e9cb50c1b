//! The evidence that turns left: verified where it is, taken home, and verified there.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cscp::committer::{Committer, Limits, RulesInForce};
use cscp::domain::id::{Ids, StreamId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::domain::speaking::SpeaksFor;
use cscp::domain::time::Clock;
use cscp::evidence::auditing::{Auditor, Trusted};
use cscp::evidence::entry::LogEntry;
use cscp::evidence::erasures::Erasures;
use cscp::evidence::verify::{ChainCheck, Looked, look};
use cscp::packs::PackSource;
use cscp::service::exporting::{Payloads, Selection};
use cscp::service::transparency::{NoGuard, Signer, Transparency};
use cscp::service::{BundleCheck, Caller, NewKey, Service, verify_tenant};
use cscp::system::{SystemClock, SystemEntropy};

use crate::turns::Kept;

pub(crate) async fn measure(kept: &Kept) {
    let began = Instant::now();
    let report = verify_tenant(kept.store.as_ref(), &kept.tenant.tenant_id).await.unwrap();
    let database = began.elapsed();
    assert!(report.is_sound(), "{report:?}");
    println!("\n| what | entries/s | of {} entries |", report.entries);
    println!("|---|---|---|");
    let rate = |time: Duration, entries: u64| f64::from(u32::try_from(entries).unwrap()) / time.as_secs_f64();
    println!("| verify a database | {:.0} | chains, frames, tree |", rate(database, report.entries));
    let (one, all) = in_memory(kept).await;
    println!("| chains in memory, on one processor | {:.0} | no database |", rate(one, report.entries));
    println!("| chains in memory, on all processors | {:.0} | no database |", rate(all, report.entries));
    for payloads in [Payloads::Visible, Payloads::Full] {
        let began = Instant::now();
        let bundle = export(kept, payloads).await;
        let exporting = began.elapsed();
        let began = Instant::now();
        let mut check = BundleCheck::new(Trusted::default());
        check.feed(&bundle);
        let report = check.finish();
        let verifying = began.elapsed();
        assert!(report.is_sound(), "{report:?}");
        let began = Instant::now();
        let mut auditor = Auditor::new(Trusted::default());
        for line in bundle.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n') {
            auditor.line(line);
        }
        assert!(auditor.finish().is_sound());
        let alone = began.elapsed();
        let (entries, size) = (report.entries, bundle.len() / usize::try_from(report.entries).unwrap());
        println!("| export, payloads {payloads:?} | {:.0} | {size} bytes each |", rate(exporting, entries));
        println!("| verify that bundle | {:.0} | {} payloads |", rate(verifying, entries), report.proven);
        println!("| the same on one processor | {:.0} | |", rate(alone, entries));
    }
}

/// The verification of the chains without the database: entries are loaded before the clock starts. On one processor,
/// and looked at side by side as pages are.
async fn in_memory(kept: &Kept) -> (Duration, Duration) {
    let tenant_id = &kept.tenant.tenant_id;
    let (mut entries, erasures) = (Vec::new(), Erasures::default());
    loop {
        let from = u64::try_from(entries.len()).unwrap();
        let page = kept.store.logged(tenant_id, from, 1_000).await.unwrap();
        if page.is_empty() {
            break;
        }
        entries.extend(page.into_iter().map(|(_, entry)| entry));
    }
    let timed = |threads: usize| {
        let began = Instant::now();
        let looks = |part: &[LogEntry]| part.iter().map(|entry| look(tenant_id, entry)).collect::<Vec<_>>();
        let looked: Vec<Looked> = std::thread::scope(|scope| {
            let share = entries.len().div_ceil(threads);
            let parts: Vec<_> = entries.chunks(share).map(|part| scope.spawn(move || looks(part))).collect();
            parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
        });
        let mut chains: HashMap<&StreamId, ChainCheck> = HashMap::new();
        for (entry, looked) in entries.iter().zip(&looked) {
            let stream_id = &entry.header.stream_id;
            let chain = chains.entry(stream_id).or_insert_with(|| ChainCheck::new(stream_id.clone()));
            chain.take(entry, looked, &erasures).unwrap();
        }
        began.elapsed()
    };
    (timed(1), timed(std::thread::available_parallelism().map_or(1, std::num::NonZero::get)))
}

async fn export(kept: &Kept, payloads: Payloads) -> Vec<u8> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let rules = RulesInForce::from(Arc::new(PackSource::Shipped.load().unwrap()));
    let store = Arc::clone(&kept.store);
    let (committer, writer) =
        Committer::new(Arc::clone(&store), rules.clone(), Box::new(SystemEntropy), Limits::default());
    let writing = tokio::spawn(writer.run());
    let signer = Signer::new("bench.example".to_owned(), vec![[4; 32]]);
    let log = Transparency::new(Arc::clone(&store), Arc::clone(&clock), Some(signer), Arc::new(NoGuard));
    let service = Service::new(store, committer.clone(), rules, clock, Box::new(SystemEntropy));
    let service = service.with_log(Arc::new(log));
    let mut source = SystemEntropy;
    let mut ids = Ids::new(SystemClock.now(), &mut source);
    let scopes: BTreeSet<Scope> = [Scope::EvidenceRead, Scope::OocRaw].into();
    let id = kept.tenant.tenant_id.clone();
    let key = NewKey::mint(
        id,
        CredentialKind::Auditor,
        Some(scopes.clone()),
        None,
        String::new(),
        SystemClock.now(),
        &mut ids,
    );
    let caller = Caller {
        tenant: Arc::clone(&kept.tenant),
        key_id: key.record.key_id,
        kind: CredentialKind::Auditor,
        scopes,
        principal_id: None,
        speaks_for: SpeaksFor::default(),
    };
    let mut export = service.export(&caller, Selection { payloads, ..Selection::default() }).await.unwrap();
    let mut bundle = Vec::new();
    while let Some(lines) = export.next().await.unwrap() {
        bundle.extend(lines);
    }
    committer.stop();
    writing.await.unwrap();
    bundle
}
