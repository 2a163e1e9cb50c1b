//! Turns with the tree and without it: the processor's time of each, in this process and in PostgreSQL's.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cscp::committer::{Committer, Limits, RulesInForce, Submission};
use cscp::domain::canonical::{Digest, Purpose, commit, keyed};
use cscp::domain::id::{Channel, ConversationId, MessageId, PrincipalId, TenantId};
use cscp::domain::message::{Direction, MessageEvent, MessageKind};
use cscp::domain::operation::Operation;
use cscp::domain::time::Clock;
use cscp::packs::PackSource;
use cscp::service::transparency::{NoGuard, Signer, Transparency};
use cscp::storage::postgres::{PostgresSettings, PostgresStore};
use cscp::storage::sqlite::SqliteStore;
use cscp::storage::{Store, Tenant};
use cscp::system::{SystemClock, SystemEntropy};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::postgres;

/// How many talk at once.
const CLIENTS: u64 = 32;
/// How many conversations there are.
const CONVERSATIONS: u64 = 500;
/// Clock ticks of the kernel in a second.
const TICKS: u32 = 100;

const NOTHING_WAITS_SQLITE: &str =
    "CREATE TRIGGER nothing_waits BEFORE INSERT ON log_outbox BEGIN SELECT RAISE(IGNORE); END";
const NOTHING_WAITS_POSTGRES: &str = "
    CREATE FUNCTION nothing_waits() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER nothing_waits BEFORE INSERT ON log_outbox FOR EACH ROW EXECUTE FUNCTION nothing_waits()";

/// A database with a log in it.
pub(crate) struct Kept {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tenant: Arc<Tenant>,
    _folder: TempDir,
}

/// What some turns took.
struct Took {
    cpu: Duration,
    wall: Duration,
    median: Duration,
}

/// Both databases, in turns; keeps the last one on SQLite with its tree.
pub(crate) async fn measure(turns: u64, rounds: usize) -> Kept {
    println!("\n{turns} turns by {CLIENTS} at once, {rounds} rounds; medians");
    println!("| database | tree | CPU a turn, µs | turns/s | median turn, ms |");
    println!("|---|---|---|---|---|");
    let mut kept = None;
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        let off = on_sqlite(turns, false).await.0;
        let (on, left) = on_sqlite(turns, true).await;
        kept = Some(left);
        pairs.push((off, on));
    }
    tell("SQLite", turns, &mut pairs);
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        if let (Some(off), Some(on)) = (on_postgres(turns, false).await, on_postgres(turns, true).await) {
            pairs.push((off, on));
        }
    }
    if !pairs.is_empty() {
        tell("PostgreSQL", turns, &mut pairs);
    }
    kept.unwrap()
}

fn tell(name: &str, turns: u64, pairs: &mut [(Took, Took)]) {
    pairs.sort_by_key(|(off, on)| on.cpu.as_nanos() * 1_000 / off.cpu.as_nanos());
    let (off, on) = &pairs[pairs.len() / 2];
    let count = f64::from(u32::try_from(turns).unwrap());
    for (tree, took) in [("off", off), ("on", on)] {
        println!(
            "| {name} | {tree} | {:.0} | {:.0} | {:.2} |",
            took.cpu.as_secs_f64() * 1e6 / count,
            count / took.wall.as_secs_f64(),
            took.median.as_secs_f64() * 1e3
        );
    }
    let more = |of: fn(&Took) -> Duration| (of(on).as_secs_f64() / of(off).as_secs_f64() - 1.0) * 100.0;
    println!(
        "{name}: the tree adds {:.1} % of CPU and {:.1} % to the median turn",
        more(|t| t.cpu),
        more(|t| t.median)
    );
}

async fn on_sqlite(turns: u64, tree: bool) -> (Took, Kept) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.db");
    let store = SqliteStore::open(&file, Arc::new(SystemClock)).await.unwrap();
    if !tree {
        let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
        sqlx::raw_sql(NOTHING_WAITS_SQLITE).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
    let store: Arc<dyn Store> = Arc::new(store);
    let (took, tenant) = turn(Arc::clone(&store), turns, tree, own_cpu).await;
    (took, Kept { store, tenant, _folder: folder })
}

async fn on_postgres(turns: u64, tree: bool) -> Option<Took> {
    let url = postgres::database().await?;
    let store = PostgresStore::open(PostgresSettings::new(&url)).await.unwrap();
    if !tree {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(NOTHING_WAITS_POSTGRES).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
    let store: Arc<dyn Store> = Arc::new(store);
    let took = turn(Arc::clone(&store), turns, tree, || own_cpu() + postgres_cpu()).await.0;
    store.close().await;
    Some(took)
}

/// Writes so many turns while nobody sequences.
pub(crate) async fn written(store: Arc<dyn Store>, turns: u64) -> Arc<Tenant> {
    turn(store, turns, false, || Duration::ZERO).await.1
}

async fn turn(store: Arc<dyn Store>, turns: u64, tree: bool, cpu: fn() -> Duration) -> (Took, Arc<Tenant>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let tenant = Arc::new(Tenant {
        tenant_id: TenantId::new("bench").unwrap(),
        environment: "bench".to_owned(),
        policy_pack: None,
        key: Digest::from_bytes([7; 32]),
        enabled: true,
        created_at: clock.now(),
    });
    store.create_tenant(&tenant).await.unwrap();
    let rules = RulesInForce::from(Arc::new(PackSource::Shipped.load().unwrap()));
    let (committer, writer) = Committer::new(Arc::clone(&store), rules, Box::new(SystemEntropy), Limits::default());
    let writing = tokio::spawn(writer.run());
    let signer = Signer::new("bench.example".to_owned(), vec![[4; 32]]);
    let log = Arc::new(Transparency::new(Arc::clone(&store), clock, Some(signer), Arc::new(NoGuard)));
    let (stop, stopped) = oneshot::channel::<()>();
    let sequencing = tree.then(|| {
        let log = Arc::clone(&log);
        tokio::spawn(async move { log.sequence_until("bench", async { drop(stopped.await) }).await })
    });
    let (began, before) = (Instant::now(), cpu());
    let clients = (0..CLIENTS).map(|client| {
        let (committer, tenant) = (committer.clone(), Arc::clone(&tenant));
        tokio::spawn(async move {
            let mut times = Vec::new();
            for number in (client..turns).step_by(usize::try_from(CLIENTS).unwrap()) {
                let operation = Operation::Ingest(Box::new(message(&tenant, number)));
                let began = Instant::now();
                let submission = Submission { tenant: Arc::clone(&tenant), operation, claim: None };
                committer.submit(submission).await.unwrap().result.unwrap();
                times.push(began.elapsed());
            }
            times
        })
    });
    let mut times = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        times.extend(client.await.unwrap());
    }
    let wall = began.elapsed();
    if let Some(sequencing) = sequencing {
        stop.send(()).unwrap();
        sequencing.await.unwrap();
        // What still waits belongs to the cost.
        while log.sequence_once().await.unwrap() > 0 {}
    }
    let cpu = cpu().saturating_sub(before);
    committer.stop();
    writing.await.unwrap();
    times.sort();
    (Took { cpu, wall, median: times[times.len() / 2] }, tenant)
}

fn message(tenant: &Tenant, number: u64) -> MessageEvent {
    let id = format!("wamid.{number}");
    let salt = Digest::from_bytes([3; 32]);
    let conversation = number % CONVERSATIONS;
    MessageEvent {
        message_id: MessageId::new(&id).unwrap(),
        channel: Channel::new("whatsapp").unwrap(),
        conversation_id: ConversationId::new(format!("conv-{conversation}")).unwrap(),
        actor_id: PrincipalId::new(format!("person-{conversation}")).unwrap(),
        sent_at: SystemClock.now(),
        direction: Direction::Inbound,
        kind: MessageKind::Text,
        text: Some("quero mudar o endereço da entrega".to_owned()),
        button_id: None,
        reply_to: None,
        forwarded: false,
        transcript: None,
        system: None,
        expects_reply: true,
        prompt_for: None,
        locale: None,
        correlation_id: None,
        extensions: serde_json::Map::new(),
        body_digest: keyed(&tenant.key, Purpose::Request, id.as_bytes()),
        content_digest: commit(Purpose::Message, &salt, id.as_bytes()),
        content_salt: salt,
    }
}

/// Processor time out of a `stat` of the kernel: of the process, and of children that have ended.
fn ticks(stat: &str) -> Option<u32> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<u32>().ok()).sum()
}

fn own_cpu() -> Duration {
    let ticks = fs::read_to_string("/proc/self/stat").ok().and_then(|stat| ticks(&stat)).unwrap_or(0);
    Duration::from_secs_f64(f64::from(ticks) / f64::from(TICKS))
}

/// Of all processes that are called postgres: nobody else should use one meanwhile.
fn postgres_cpu() -> Duration {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    let sum: u32 = stats.filter(|stat| stat.contains("(postgres)")).filter_map(|stat| ticks(&stat)).sum();
    Duration::from_secs_f64(f64::from(sum) / f64::from(TICKS))
}
