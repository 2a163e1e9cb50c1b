//! One thread of turns: in a closed loop, or as they arrive.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use crate::arrivals::Arrivals;
use crate::body::second;
use crate::cast::Cast;
use crate::pause;
use crate::random::Random;
use crate::stage::Stage;
use crate::turn::play;

/// How the turns of one thread begin.
#[derive(Debug)]
pub(crate) enum Loop {
    /// So many at once, each followed by the next.
    Closed(u32),
    /// As they arrive, at most so many at once.
    Open(Arrivals, u32),
}

/// When.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) begin: Instant,
    pub(crate) until: Instant,
}

/// Plays turns until the time is over, and those that were begun to their end.
pub(crate) fn work(stage: &Rc<Stage>, cast: Cast, how: Loop, span: Span) -> Result<(), String> {
    // One thread for all of it: what a turn shares with another needs no lock.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let cast = Rc::new(RefCell::new(cast));
    let local = LocalSet::new();
    match how {
        Loop::Closed(clients) => {
            for _ in 0..clients {
                let (stage, cast) = (Rc::clone(stage), Rc::clone(&cast));
                local.spawn_local(async move {
                    while Instant::now() < span.until {
                        turn(&stage, &cast, Instant::now()).await;
                    }
                });
            }
            runtime.block_on(local);
        }
        Loop::Open(arrivals, at_once) => {
            let (due, arrived) = unbounded_channel();
            let bell = std::thread::spawn(move || ring(arrivals, span, &due));
            runtime.block_on(local.run_until(open(stage, &cast, arrived, at_once, span.until)));
            bell.join().map_err(|_| "the thread that counts time has failed".to_owned())?;
        }
    }
    Ok(())
}

/// Says when each turn is due: a thread of its own, which can wait for a moment precisely.
fn ring(arrivals: Arrivals, span: Span, due: &UnboundedSender<Instant>) {
    for at in arrivals.map(|after| span.begin + after).take_while(|at| *at < span.until) {
        pause::until(at);
        if due.send(at).is_err() {
            return;
        }
    }
}

async fn open(
    stage: &Rc<Stage>,
    cast: &Rc<RefCell<Cast>>,
    mut arrived: UnboundedReceiver<Instant>,
    at_once: u32,
    until: Instant,
) {
    let places = Arc::new(Semaphore::new(usize::try_from(at_once).unwrap_or(1)));
    while let Some(due) = arrived.recv().await {
        let place = if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            place
        } else {
            if Instant::now() >= stage.counted_from {
                stage.tally.borrow_mut().counts.waited += 1;
            }
            let waiting = Arc::clone(&places).acquire_owned();
            let Ok(Ok(place)) = tokio::time::timeout_at(until.into(), waiting).await else {
                stage.tally.borrow_mut().counts.not_begun += 1;
                continue;
            };
            place
        };
        let (stage, cast) = (Rc::clone(stage), Rc::clone(cast));
        tokio::task::spawn_local(async move {
            turn(&stage, &cast, due).await;
            drop(place);
        });
    }
    drop(places.acquire_many(at_once).await);
}

/// One turn of whoever is next.
async fn turn(stage: &Rc<Stage>, cast: &Rc<RefCell<Cast>>, due: Instant) {
    let next = cast.borrow_mut().next(&mut stage.random.borrow_mut(), second());
    let Some(next) = next else {
        // There are as many people as turns at once, so this does not happen; were it to, it must be seen.
        stage.tally.borrow_mut().counts.not_begun += 1;
        tokio::task::yield_now().await;
        return;
    };
    let person = next.person;
    stage.live.under_way.fetch_add(1, Ordering::Relaxed);
    let played = play(stage, next, due).await;
    stage.live.under_way.fetch_sub(1, Ordering::Relaxed);
    match played {
        Ok(asked) => cast.borrow_mut().finished(person, asked),
        Err(_) => cast.borrow_mut().failed(person),
    }
}

/// A sequence of its own for each use and thread of one seed.
pub(crate) fn sequence(seed: u64, purpose: u64, thread: u32) -> Random {
    let mut mixed = Random::new(seed ^ (purpose << 32) ^ u64::from(thread));
    Random::new(mixed.below(u64::MAX))
}
