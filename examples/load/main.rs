//! Load for one or several running servers: conversations that are played as a webhook handler would, each answer
//! checked.
//!
//! `cargo run --release --example load -- --url http://127.0.0.1:8080 --key cscp_… --clients 64 --seconds 10`
//!
//! README.md beside this file explains every option and every number that is printed.

mod answer;
mod arrivals;
mod body;
mod cast;
mod check;
mod histogram;
mod live;
mod machine;
mod options;
mod pause;
mod postgres;
mod preload;
mod random;
mod report;
mod sample;
mod stage;
mod tally;
mod turn;
mod watch;
mod wire;
mod worker;

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::Parser;
use cscp::domain::time::Clock;
use cscp::system::SystemClock;

use arrivals::Arrivals;
use cast::{Cast, Names, Size};
use live::Live;
use options::Options;
use report::Report;
use sample::{Binding, Sample};
use stage::Stage;
use tally::{Tally, sum};
use watch::Watched;
use wire::Server;
use worker::{Loop, Span, sequence, work};

/// How many acknowledged bindings are looked up afterwards.
const LOOKED_UP: u32 = 1_000;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("load: {what}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let addresses = options.addresses()?;
    let shown = options.progress || std::io::stderr().is_terminal();
    let threads = options.threads.min(options.at_once());
    let size = Size {
        conversations: options.conversations,
        at_once: options.at_once(),
        hot_share: options.hot_share,
        threads,
    };
    // A name that no earlier run used.
    let names = Names::new(&format!("{:x}", SystemClock.now().as_micros()), size);
    let servers = |key: &str| Rc::new(addresses.iter().map(|address| Server::new(address, key)).collect::<Vec<_>>());
    let mut watched = Watched::new(&options.watch)?;
    // Once before anything happens, so that a wrong address is a mistake and not a lost run.
    alone(watched.begin())?;

    // Connections belong to the runtime that opened them, so each of these takes fresh ones.
    let preloaded = alone(async {
        let servers = servers(&options.key);
        check::answers(&servers).await?;
        match options.preload {
            0 => Ok(None),
            count => preload::preload(&servers, &names, count, shown).await.map(Some),
        }
    })?;

    let live = Arc::new(Live::new(shown));
    let begin = Instant::now();
    let warmup = Duration::from_secs(options.warmup);
    let counted_from = begin + warmup;
    let span = Span { begin, until: counted_from + Duration::from_secs(options.seconds) };
    let (ended, end) = mpsc::channel();
    let display = shown.then(|| {
        let live = Arc::clone(&live);
        std::thread::spawn(move || live.show(warmup, &end))
    });
    let worker =
        Worker { options: options.clone(), addresses: addresses.clone(), names, size, live, counted_from, span };
    let workers: Vec<_> = (0..threads).map(|thread| worker.clone().spawn(thread)).collect();
    pause::until(counted_from);
    alone(watched.begin())?;
    let (mut tally, mut bindings) = (Tally::default(), Vec::new());
    for worker in workers {
        let (counted, bound) = worker.join().map_err(|_| "a thread has failed".to_owned())??;
        tally.add(counted);
        bindings.extend(bound);
    }
    let seconds = counted_from.elapsed().as_secs_f64();
    alone(watched.end())?;
    drop(ended);
    if let Some(display) = display {
        display.join().map_err(|_| "the display has failed".to_owned())?;
    }
    let auditors = options.verify_key.as_deref().map(&servers);
    let checked = alone(check::look_up(servers(&options.key), auditors, bindings))?;
    let report = Report { options, tally: &tally, seconds, watched: &watched, preloaded, checked: &checked };
    if let Err(error) = write!(std::io::stdout(), "{report}") {
        return Err(format!("the report could not be written: {error}"));
    }
    if let Some(path) = &options.json {
        let text = format!("{:#}\n", report.json());
        std::fs::write(path, text).map_err(|error| format!("the result could not be written: {error}"))?;
    }
    verdict(&tally, checked.is_right())
}

/// Whether the run is worth anything: refusals for want of room are a result, wrong answers are not.
fn verdict(tally: &Tally, checked: bool) -> Result<(), String> {
    match sum(&tally.wrong) {
        0 if !checked => Err("what was acknowledged is not what is there".to_owned()),
        0 if tally.requests() == 0 => Err("nothing was answered".to_owned()),
        0 => Ok(()),
        wrong => Err(format!("{wrong} answers were not the expected ones")),
    }
}

/// Runs something on this thread.
fn alone<T>(what: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    tokio::task::LocalSet::new().block_on(&runtime, what)
}

/// What a thread needs to know.
#[derive(Clone)]
struct Worker {
    options: Options,
    addresses: Vec<String>,
    names: Names,
    size: Size,
    live: Arc<Live>,
    counted_from: Instant,
    span: Span,
}

type Worked = Result<(Tally, Vec<Binding>), String>;

impl Worker {
    fn spawn(self, thread: u32) -> JoinHandle<Worked> {
        std::thread::spawn(move || self.work(thread))
    }

    fn work(self, thread: u32) -> Worked {
        let (options, threads) = (&self.options, self.size.threads);
        let share = |of: u32| of.saturating_sub(thread).div_ceil(threads);
        let how = match options.rate {
            Some(rate) => {
                let arrivals = Arrivals::new(sequence(options.seed, 1, thread), rate / f64::from(threads));
                Loop::Open(arrivals, share(options.max_inflight))
            }
            None => Loop::Closed(share(options.clients)),
        };
        let size = usize::try_from(share(LOOKED_UP)).unwrap_or(0);
        let stage = Rc::new(Stage {
            servers: self.addresses.iter().map(|address| Server::new(address, &options.key)).collect(),
            prefix: format!("{}-{thread}", self.names.run()),
            names: self.names,
            mix: options.mix.clone(),
            random: RefCell::new(sequence(options.seed, 2, thread)),
            tally: RefCell::default(),
            sample: RefCell::new(Sample::new(size, sequence(options.seed, 3, thread))),
            live: self.live,
            counted_from: self.counted_from,
            retries: options.retries,
            turns: Cell::new(0),
        });
        work(&stage, Cast::new(self.size, thread), how, self.span)?;
        let bindings = stage.sample.borrow_mut().take();
        Ok((stage.tally.take(), bindings))
    }
}
