//! Opens conversations before anything is measured: many messages in a request, a few requests at once.

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::answer::Seen;
use crate::body::{Place, Words, batch, message};
use crate::cast::{Names, Person};
use crate::pause::stay_away;
use crate::wire::{Request, Server};

/// Messages in a request. A server queues 1,024 for a tenant, so four such requests find room.
const IN_A_BATCH: u32 = 250;
const AT_ONCE: u32 = 4;
const TRIES: u32 = 20;
const WAIT: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
struct Results {
    results: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    #[serde(default)]
    answer: Option<Seen>,
    #[serde(default)]
    problem: Option<Problem>,
}

#[derive(Deserialize)]
struct Problem {
    status: u16,
    code: String,
}

/// Opens the first `count` conversations of a run with a message each. Gives the seconds that it took.
pub(crate) async fn preload(servers: &Rc<Vec<Server>>, names: &Names, count: u32, shown: bool) -> Result<f64, String> {
    let (began, mut shown_at) = (Instant::now(), Instant::now());
    let lanes = AT_ONCE * u32::try_from(servers.len()).unwrap_or(1);
    let (mut first, mut done) = (0, 0);
    while first < count {
        let end = count.min(first.saturating_add(IN_A_BATCH * lanes));
        let firsts: Vec<u32> = (first..end).step_by(usize::try_from(IN_A_BATCH).unwrap_or(1)).collect();
        let mut lanes = tokio::task::JoinSet::new();
        for (lane, first) in firsts.into_iter().enumerate() {
            let (servers, names) = (Rc::clone(servers), names.clone());
            let last = end.min(first + IN_A_BATCH);
            lanes.spawn_local(async move {
                let messages = (first..last).map(|number| opening(&names, number)).collect();
                post(&servers[lane % servers.len()], messages).await
            });
        }
        while let Some(lane) = lanes.join_next().await {
            lane.map_err(|error| error.to_string())??;
        }
        done += end - first;
        first = end;
        if shown && (shown_at.elapsed() > Duration::from_secs(1) || done == count) {
            let rate = f64::from(done) / began.elapsed().as_secs_f64();
            eprintln!("preloaded {done} of {count} conversations, {rate:.0} a second");
            shown_at = Instant::now();
        }
    }
    Ok(began.elapsed().as_secs_f64())
}

fn opening(names: &Names, number: u32) -> String {
    let person = Person { hot: false, number, generation: 0 };
    let place = Place { conversation_id: names.conversation(person), actor_id: names.actor(person) };
    message(&place, &format!("wamid.{}-pre-{number}", names.run()), Words::Text("good morning"))
}

/// Posts messages until each was taken.
async fn post(server: &Server, mut messages: Vec<String>) -> Result<(), String> {
    let mut why = String::new();
    for _ in 0..TRIES {
        let body = batch(&messages);
        match server.call(&Request::post("/v1/messages/batch", &body)).await {
            Ok(response) if response.status == 200 => {
                let results: Results = serde_json::from_slice(&response.body).map_err(|error| error.to_string())?;
                if results.results.len() != messages.len() {
                    return Err("preloading: another number of answers than of messages".to_owned());
                }
                let mut left = Vec::new();
                for (message, result) in messages.into_iter().zip(results.results) {
                    if let Some(again) = judge(message, result)? {
                        left.push(again);
                    }
                }
                if left.is_empty() {
                    return Ok(());
                }
                (messages, why) = (left, "the server is busy".to_owned());
            }
            Ok(response) if matches!(response.status, 429 | 503) => why = format!("answered {}", response.status),
            Ok(response) => return Err(format!("preloading: answered {}", response.status)),
            Err(error) => why = error.kind().to_string(),
        }
        stay_away(WAIT).await;
    }
    Err(format!("preloading: given up after {TRIES} tries: {why}"))
}

/// The message, if it has to be posted again.
fn judge(message: String, result: One) -> Result<Option<String>, String> {
    match (result.answer, result.problem) {
        (Some(seen), None) if seen.verdict.code == "not_an_answer" => Ok(None),
        (None, Some(problem)) if problem.status == 503 => Ok(Some(message)),
        (None, Some(problem)) => Err(format!("preloading: refused, {} {}", problem.status, problem.code)),
        (seen, _) => Err(format!("preloading: {} instead of not_an_answer", seen.unwrap_or_default().verdict.code)),
    }
}
