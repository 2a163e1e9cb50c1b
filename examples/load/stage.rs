//! Where turns are played: the servers, the clock that says what counts, and one way to send a request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::answer::{Answer, Expected};
use crate::cast::Names;
use crate::live::Live;
use crate::options::Mix;
use crate::pause::stay_away;
use crate::random::Random;
use crate::sample::Sample;
use crate::tally::{Kind, Tally, micros};
use crate::wire::{Request, Server};

/// How long the first retry waits; each further one twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// What the turns of one thread share.
pub(crate) struct Stage {
    pub(crate) servers: Vec<Server>,
    pub(crate) names: Names,
    pub(crate) mix: Mix,
    pub(crate) random: RefCell<Random>,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) sample: RefCell<Sample>,
    pub(crate) live: Arc<Live>,
    /// Turns that begin earlier are not counted.
    pub(crate) counted_from: Instant,
    pub(crate) retries: u32,
    /// Told apart in names: every thread has a prefix of its own.
    pub(crate) prefix: String,
    pub(crate) turns: Cell<u64>,
}

/// A request was not answered as it had to be; it is in the tally, and the turn ends.
#[derive(Debug)]
pub(crate) struct Lost;

/// The requests of one turn.
pub(crate) struct Line {
    pub(crate) stage: Rc<Stage>,
    /// Whether the turn counts.
    pub(crate) counted: bool,
    /// The server that the next request goes to: one after the other.
    next: Cell<usize>,
    /// When the turn was meant to begin: the first request is measured from there.
    due: Cell<Option<Instant>>,
}

impl Line {
    /// The requests of a turn that was meant to begin at `due`.
    pub(crate) fn new(stage: &Rc<Stage>, due: Instant, number: u64) -> Self {
        let next = usize::try_from(number).unwrap_or(0);
        // By when it begins: a turn that was due in the warm-up and waited since is work of this time, with its wait.
        let counted = Instant::now() >= stage.counted_from;
        Self { stage: Rc::clone(stage), counted, next: Cell::new(next), due: Cell::new(Some(due)) }
    }

    fn server(&self) -> &Server {
        let next = self.next.get();
        self.next.set(next.wrapping_add(1));
        &self.stage.servers[next % self.stage.servers.len()]
    }

    /// Changes the tally, if this turn counts.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Tally)) {
        if self.counted {
            change(&mut self.stage.tally.borrow_mut());
        }
    }

    /// One request: sent again where that may help, measured, and its answer checked.
    pub(crate) async fn call(&self, kind: Kind, request: Request<'_>, expected: Expected<'_>) -> Result<Answer, Lost> {
        let began = self.due.take().unwrap_or_else(Instant::now);
        let mut wait = FIRST_WAIT;
        for attempt in 0..=self.stage.retries {
            match self.server().call(&request).await {
                Ok(response) if matches!(response.status, 429 | 503) => {
                    let answer = Answer::read(&response, false);
                    self.count(|tally| tally.refused(kind, &answer.describe()));
                    self.stage.live.refused.fetch_add(1, Ordering::Relaxed);
                    wait = response.retry_after.map_or(wait, Duration::from_secs);
                }
                Ok(response) => return self.judge(kind, Answer::read(&response, attempt > 0), expected, began),
                Err(error) => {
                    self.count(|tally| tally.broken(error.kind().to_string()));
                    self.stage.live.broken.fetch_add(1, Ordering::Relaxed);
                }
            }
            if attempt < self.stage.retries {
                stay_away(wait.min(LONGEST_WAIT)).await;
                wait *= 2;
            }
        }
        Err(Lost)
    }

    fn judge(&self, kind: Kind, answer: Answer, expected: Expected<'_>, began: Instant) -> Result<Answer, Lost> {
        if !expected.is(&answer) {
            return Err(self.wrong(kind, &format!("{} instead of {}", answer.describe(), expected.describe())));
        }
        let took = began.elapsed();
        self.count(|tally| tally.right(kind, took));
        self.stage.live.request(micros(took));
        Ok(answer)
    }

    /// An answer, or two together, that had to be another.
    pub(crate) fn wrong(&self, kind: Kind, what: &str) -> Lost {
        // Wrong is wrong, also while nothing is measured yet.
        self.stage.tally.borrow_mut().wrong(kind, what);
        self.stage.live.wrong.fetch_add(1, Ordering::Relaxed);
        Lost
    }
}
