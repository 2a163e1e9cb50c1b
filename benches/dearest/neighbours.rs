//! A tenant that posts messages, beside one that does its worst.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join, join_all};
use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::{based, ladder, large, message, small};
use crate::server::{Caller, Server};

/// How long each is measured.
const EACH: Duration = Duration::from_secs(8);
/// How many post messages at a time, and how far apart at least.
const POSTING: u64 = 4;
const PACE: Duration = Duration::from_millis(10);
/// How many requests of the other tenant are under way at a time.
const LOUD: u64 = 6;

/// Times of the neighbour's requests, in milliseconds.
struct Times {
    sorted: Vec<f64>,
    refused: usize,
}

impl Times {
    fn at(&self, share: usize) -> f64 {
        self.sorted.get(self.sorted.len() * share / 1_000).or(self.sorted.last()).copied().unwrap_or(0.0)
    }
}

async fn post(caller: &Caller, run: &str) -> Times {
    let number = AtomicU64::new(0);
    let began = Instant::now();
    let one = |person: u64| {
        let number = &number;
        async move {
            let (mut times, mut refused) = (Vec::new(), 0);
            let mut pace = tokio::time::interval(PACE);
            pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            while began.elapsed() < EACH {
                let body = message(run, number.fetch_add(1, Ordering::Relaxed), person);
                let sent = Instant::now();
                let answer = caller.send(Method::POST, "/v1/messages", &body).await;
                times.push(sent.elapsed().as_secs_f64() * 1e3);
                refused += usize::from(!answer.status.is_success());
                pace.tick().await;
            }
            (times, refused)
        }
    };
    let all = join_all((0..POSTING).map(one)).await;
    let refused = all.iter().map(|(_, refused)| refused).sum();
    let mut sorted: Vec<f64> = all.into_iter().flat_map(|(times, _)| times).collect();
    sorted.sort_by(f64::total_cmp);
    Times { sorted, refused }
}

/// What one of the loud tenant's requests is, by its number.
type Worst = for<'a> fn(&'a Caller, u64) -> BoxFuture<'a, u16>;

async fn write(caller: &Caller, space: String, body: Value) -> u16 {
    caller.send(Method::POST, &format!("/v1/fact-spaces/{space}/facts/batch"), &body).await.status.as_u16()
}

async fn messages(caller: &Caller, number: u64) -> u16 {
    let messages: Vec<Value> = (0..500).map(|n| message(&format!("flood{number}"), n, n)).collect();
    caller.send(Method::POST, "/v1/messages/batch", &json!({ "messages": messages })).await.status.as_u16()
}

async fn ladders(caller: &Caller, number: u64) -> u16 {
    write(caller, format!("ladder-{number}"), ladder(500, 64)).await
}

async fn links(caller: &Caller, number: u64) -> u16 {
    write(caller, format!("links-{number}"), ladder(150, 4)).await
}

async fn values(caller: &Caller, number: u64) -> u16 {
    write(caller, format!("values-{}", number % 8), large(0..32, 16_000)).await
}

async fn one_space(caller: &Caller, number: u64) -> u16 {
    let from = usize::try_from(number % 20).unwrap() * 150;
    write(caller, "one-space".to_owned(), small(from..from + 150)).await
}

/// A root on which much stands is replaced, again and again.
async fn roots(caller: &Caller, number: u64) -> u16 {
    let space = format!("roots-{}", number % LOUD);
    if number < LOUD {
        write(caller, space.clone(), json!({"facts": [based(0, std::iter::empty())]})).await;
        let upon: Vec<Value> = (1..480).map(|n| based(n, ["k0".to_owned()].into_iter())).collect();
        let mut status = 0;
        for some in upon.chunks(120) {
            status = write(caller, space.clone(), json!({ "facts": some })).await;
        }
        return status;
    }
    write(caller, space, json!({"facts": [{"key": "k0", "value": number.to_string()}]})).await
}

async fn erased(caller: &Caller, number: u64) -> u16 {
    let space = format!("erased-{}", number / 2 % LOUD);
    if number.is_multiple_of(2) {
        return write(caller, space, large(0..32, 16_000)).await;
    }
    caller.send(Method::DELETE, &format!("/v1/fact-spaces/{space}"), &Value::Null).await.status.as_u16()
}

async fn beside(caller: &Caller, worst: Worst, over: &AtomicBool, next: &AtomicU64) -> BTreeMap<u16, u64> {
    let one = |_| async move {
        let mut answers: BTreeMap<u16, u64> = BTreeMap::new();
        while !over.load(Ordering::Relaxed) {
            let status = worst(caller, next.fetch_add(1, Ordering::Relaxed)).await;
            *answers.entry(status).or_default() += 1;
        }
        answers
    };
    let mut all = BTreeMap::new();
    for (status, count) in join_all((0..LOUD).map(one)).await.into_iter().flatten() {
        *all.entry(status).or_default() += count;
    }
    all
}

/// Prints the neighbour's times beside each of the worst, and the quiet ones before and after.
pub(crate) async fn all(server: &Server) {
    let worst: [(&str, Worst); 8] = [
        ("6 × 500 messages", |caller, number| Box::pin(messages(caller, number))),
        ("500 facts on the 64 before", |caller, number| Box::pin(ladders(caller, number))),
        ("150 facts on the 4 before", |caller, number| Box::pin(links(caller, number))),
        ("values of 512 kB", |caller, number| Box::pin(values(caller, number))),
        ("150 facts into one space", |caller, number| Box::pin(one_space(caller, number))),
        ("roots of 480 facts replaced", |caller, number| Box::pin(roots(caller, number))),
        ("spaces written and deleted", |caller, number| Box::pin(erased(caller, number))),
        ("6 × 500 messages, once more", |caller, number| Box::pin(messages(caller, number + 1_000_000))),
    ];
    let (loud, quiet) = (server.caller("loud", "handler"), server.caller("quiet", "handler"));
    post(&quiet, "warm").await;
    println!("| the other tenant | answers | p50 ms | p99 ms | max ms | refused | p99, quiet before | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, worst) in worst {
        let before = post(&quiet, &format!("{name}.before")).await;
        let (over, next) = (AtomicBool::new(false), AtomicU64::new(0));
        let run = async {
            let times = post(&quiet, name).await;
            over.store(true, Ordering::Relaxed);
            times
        };
        let (times, answers) = join(run, beside(&loud, worst, &over, &next)).await;
        let answers: Vec<String> = answers.iter().map(|(status, count)| format!("{count} × {status}")).collect();
        let quiet = before.at(990);
        println!(
            "| {name} | {} | {:.1} | {:.1} | {:.1} | {} | {quiet:.1} | {:.1} |",
            answers.join(", "),
            times.at(500),
            times.at(990),
            times.at(1_000),
            times.refused,
            times.at(990) / quiet,
        );
    }
}
