//! Before and after: whether the servers answer at all, and whether what was acknowledged is there, once.

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::answer::Seen;
use crate::pause::stay_away;
use crate::sample::Binding;
use crate::wire::Response;
use crate::wire::{Request, Server};

/// Look-ups at once.
const AT_ONCE: usize = 16;
/// After this long the look-up ends with what it has: evidence may be slow to search, and a run has to end.
const LONGEST: Duration = Duration::from_mins(1);
const TRIES: u32 = 20;
const WAIT: Duration = Duration::from_millis(250);

/// What was found of a sample.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    /// How many acknowledged bindings were drawn.
    pub(crate) sampled: usize,
    /// How many of them were looked up before time was over.
    pub(crate) looked_up: usize,
    /// Of these, how many were found as acknowledged: the same attempt, confirmation and frame.
    pub(crate) found: usize,
    /// Of these, how many stand in the evidence exactly once; none if that was not asked for.
    pub(crate) once: Option<usize>,
    /// What was wrong with the others, at most a few of them.
    pub(crate) wrong: Vec<String>,
}

impl Checked {
    /// Whether all is as acknowledged.
    pub(crate) fn is_right(&self) -> bool {
        self.found == self.looked_up && self.once.is_none_or(|once| once == self.looked_up)
    }
}

/// Fails unless every server answers and takes the key.
pub(crate) async fn answers(servers: &[Server]) -> Result<(), String> {
    for (index, server) in servers.iter().enumerate() {
        let response = server.call(&Request::post("/v1/contexts/query", r#"{"limit":1}"#)).await;
        let response = response.map_err(|error| format!("server {} does not answer: {error}", index + 1))?;
        if response.status != 200 {
            let seen: Seen = serde_json::from_slice(&response.body).unwrap_or_default();
            return Err(format!("server {} answers {} {}", index + 1, response.status, seen.code));
        }
    }
    Ok(())
}

/// Looks bindings up, server by server in turn.
pub(crate) async fn look_up(
    servers: Rc<Vec<Server>>,
    auditors: Option<Rc<Vec<Server>>>,
    bindings: Vec<Binding>,
) -> Result<Checked, String> {
    let once = auditors.as_ref().map(|_| 0);
    let mut checked = Checked { sampled: bindings.len(), once, ..Checked::default() };
    let began = Instant::now();
    let mut waiting = bindings.into_iter().enumerate();
    let mut lanes = tokio::task::JoinSet::new();
    loop {
        while lanes.len() < AT_ONCE && began.elapsed() < LONGEST {
            let Some((number, binding)) = waiting.next() else { break };
            let (servers, auditors) = (Rc::clone(&servers), auditors.clone());
            lanes.spawn_local(async move {
                let found = command(&servers[number % servers.len()], &binding).await;
                let once = match auditors {
                    Some(auditors) => Some(evidence(&auditors[number % auditors.len()], &binding).await),
                    None => None,
                };
                (found, once)
            });
        }
        let Some(lane) = lanes.join_next().await else { break };
        let (found, once) = lane.map_err(|error| error.to_string())?;
        checked.looked_up += 1;
        checked.found += usize::from(found.is_ok());
        if let (Some(sum), Some(Ok(()))) = (&mut checked.once, &once) {
            *sum += 1;
        }
        let wrong = [found.err(), once.and_then(Result::err)];
        checked.wrong.extend(wrong.into_iter().flatten());
        checked.wrong.truncate(10);
    }
    Ok(checked)
}

/// An answer, as soon as the server has one: what was there before a restart has to be there after it.
async fn ask(server: &Server, request: Request<'_>) -> Result<Response, String> {
    let mut why = String::new();
    for _ in 0..TRIES {
        match server.call(&request).await {
            Ok(response) if matches!(response.status, 429 | 503) => why = response.status.to_string(),
            Ok(response) => return Ok(response),
            Err(error) => why = error.kind().to_string(),
        }
        stay_away(WAIT).await;
    }
    Err(format!("no answer when looking up: {why}"))
}

async fn command(server: &Server, binding: &Binding) -> Result<(), String> {
    let path = format!("/v1/commands/{}", binding.command);
    let response = ask(server, Request::get(&path)).await?;
    let seen: Seen = serde_json::from_slice(&response.body).unwrap_or_default();
    if response.status != 200 {
        return Err(format!("an acknowledged binding is answered {} {}", response.status, seen.code));
    }
    let same = seen.attempt_id == binding.attempt
        && seen.confirmation_id == binding.confirmation
        && seen.context_ref.context_frame_id == binding.frame;
    if same { Ok(()) } else { Err("a binding is another than was acknowledged".to_owned()) }
}

#[derive(Deserialize)]
struct Page {
    items: Vec<serde::de::IgnoredAny>,
}

async fn evidence(server: &Server, binding: &Binding) -> Result<(), String> {
    let body = format!(r#"{{"command_id":"{}","type":"command.bound","limit":10}}"#, binding.command);
    let response = ask(server, Request::post("/v1/evidence/query", &body)).await?;
    match serde_json::from_slice::<Page>(&response.body) {
        Ok(page) if response.status == 200 && page.items.len() == 1 => Ok(()),
        Ok(page) => Err(format!("a binding stands {} times in the evidence", page.items.len())),
        Err(_) => Err(format!("the evidence is answered {}", response.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_missing_or_stands_twice_is_not_right() {
        let right = Checked { sampled: 3, looked_up: 3, found: 3, once: Some(3), wrong: Vec::new() };
        assert!(right.is_right() && Checked { once: None, ..right.clone() }.is_right());
        assert!(!Checked { found: 2, ..right.clone() }.is_right());
        assert!(!Checked { once: Some(2), ..right }.is_right());
    }
}
