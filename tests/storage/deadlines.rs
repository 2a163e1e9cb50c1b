//! Deadlines by the database's own clock, many at once: whoever waits for a lock past a deadline is too late, whether
//! the one who held it changed the row or not (S3). What checks and waits in one statement lets late ones through.

use std::sync::Arc;
use std::time::Duration;

use cscp::committer::{Busy, Limits, Submission};
use cscp::domain::operation::Operation;
use cscp::domain::time::Clock as _;
use cscp::storage::postgres::PostgresStore;
use cscp::storage::{Locking, Want};
use cscp::system::SystemClock;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinSet;

use crate::harness::{House, ManualClock, code};
use crate::place::Place;
use crate::postgres::setting;
use crate::server::{settings, sql};
use crate::waiting::pass;

/// Deadlines that pass at the same time.
const AT_ONCE: usize = 40;
/// From the question to its deadline, in seconds: the shortest there is.
const WINDOW: u32 = 1;

/// How often that many pass. An ordinary run has fewer: see `.ci/README.md`.
fn rounds() -> usize {
    setting("CSCP_TEST_DEADLINES").and_then(|number| number.parse::<usize>().ok()).unwrap_or(120).div_ceil(AT_ONCE)
}

/// The harness's clock says what the machine's does: messages are sent now, and the database judges.
fn catch_up(clock: &ManualClock) {
    clock.pass(SystemClock.now().as_micros() - clock.now().as_micros());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_who_waited_past_the_deadline_is_in_time() {
    let Some(settings) = settings().await else { return };
    let (clock, store) = (ManualClock::new(), Arc::new(PostgresStore::open(settings.clone()).await.unwrap()));
    let house = House::over(Place::Server(settings.url.clone()), store, clock, Limits::default(), 1_000_000);
    catch_up(&house.clock);
    house.create_tenants().await;
    let mut late = 0;
    for round in 0..rounds() {
        late += too_late(&house, round).await;
    }
    assert_eq!(late, rounds() * AT_ONCE, "every one of them was too late");
}

/// Puts as many questions as there is room for, has them all answered while somebody holds their conversations, and
/// lets go when the deadlines are over; says how many were told that they were too late.
async fn too_late(house: &House, round: usize) -> usize {
    catch_up(&house.clock);
    let mut contexts = Vec::new();
    for n in 0..AT_ONCE {
        let (name, conversation) = (format!("{round}.{n}"), format!("talk-{n}"));
        let hello = house.message(&format!("wamid.{name}"), &json!({"text": "hello", "conversation_id": conversation}));
        contexts.push((name, conversation, house.context_of(hello).await));
    }
    let mut taps = Vec::new();
    for (name, conversation, context_id) in contexts {
        let (_, buttons) = house.ask_within(&context_id, &format!("command-{name}"), Some(WINDOW)).await;
        let members = json!({"button_id": buttons[0], "conversation_id": conversation});
        taps.push(house.message(&format!("wamid.tap.{name}"), &members));
    }
    let deadline = house.store.begin().await.unwrap().now().await.unwrap().plus_seconds(WINDOW);
    let operations: Vec<Operation> = taps.into_iter().map(|tap| Operation::Ingest(Box::new(tap))).collect();
    let wants: Vec<Want> = operations.iter().map(|operation| house.want(operation)).collect();
    let mut held = house.store.begin().await.unwrap();
    held.load(&wants, Locking::Wait).await.unwrap();
    let mut answers = JoinSet::new();
    for operation in operations {
        let (committer, tenant) = (house.committer.clone(), Arc::clone(&house.tenant));
        answers.spawn(async move {
            loop {
                let submission = Submission { tenant: Arc::clone(&tenant), operation: operation.clone(), claim: None };
                match committer.submit(submission).await {
                    Ok(done) => break code(&done.result.unwrap()),
                    Err(Busy::Contended) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
    while held.now().await.unwrap() <= deadline {
        pass(Duration::from_millis(20)).await;
    }
    // Committed, it has changed rows that others wait for; dropped, it has not.
    if round.is_multiple_of(2) {
        held.commit().await.unwrap();
    } else {
        drop(held);
    }
    answers.join_all().await.into_iter().filter(|code| *code == "expired").count()
}

/// What most programs do: one statement that looks at the clock and at the row, and then waits for the row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_statement_that_checks_and_waits_lets_late_ones_through() {
    let Some(settings) = settings().await else { return };
    sql(&settings, "CREATE TABLE questions (id integer PRIMARY KEY, state text, until timestamptz)").await;
    let mut holder = PgConnection::connect(&settings.url).await.unwrap();
    let mut clients = Vec::new();
    for id in 1..=20 {
        clients.push((id, PgConnection::connect(&settings.url).await.unwrap()));
    }
    let questions = "INSERT INTO questions SELECT n, 'open', clock_timestamp() + interval '400 milliseconds'
                         FROM generate_series(1, 20) AS n";
    sqlx::raw_sql(questions).execute(&mut holder).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT FROM questions FOR UPDATE").execute(&mut holder).await.unwrap();
    let mut grants = JoinSet::new();
    for (id, mut connection) in clients {
        grants.spawn(async move {
            let grant = "UPDATE questions SET state = 'granted'
                         WHERE id = $1 AND state = 'open' AND until > clock_timestamp()
                         RETURNING clock_timestamp() > until";
            let late: Option<bool> = sqlx::query_scalar(grant).bind(id).fetch_optional(&mut connection).await.unwrap();
            late == Some(true)
        });
    }
    pass(Duration::from_millis(600)).await;
    sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();
    let late = grants.join_all().await.into_iter().filter(|late| *late).count();
    assert!(late > 0, "nobody was late: this shows nothing");
}
