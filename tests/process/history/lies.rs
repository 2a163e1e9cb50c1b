//! Every lie is found, by the rule that it breaks; the truth breaks none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::proxy::{HONEST, Lie, lying};
use super::{asking_lies, binding_lies, keeping_lies};
use crate::checker::{Outcome, Patience, Plan, RULES, run};
use crate::folder::{Folder, TENANT};
use crate::postgres::{say, setting};
use crate::server::Server;

/// Long enough for any lie to be told and shown; a run ends when its lie is found.
const ENOUGH: u64 = 8_000;
/// How often a lie is told that was not found.
const TRIES: u32 = 5;
/// So many lies are told at the same time.
const AT_ONCE: usize = 3;

fn all_lies() -> Vec<Lie> {
    [asking_lies::LIES, binding_lies::LIES, keeping_lies::LIES].concat()
}

/// What is played against one server.
pub(super) fn plan(address: &str, key: &str, operations: u64, round: u64) -> Plan {
    Plan {
        addresses: vec![address.to_owned()],
        key: key.to_owned(),
        seed: 7,
        operations,
        round,
        clients: 12,
        conversations: 9,
        patience: Patience { answer: Duration::from_secs(10), servers: Duration::from_mins(1) },
        stop: Arc::new(AtomicBool::new(false)),
    }
}

/// Plays through a liar until it is caught; gives how often it lied, too.
async fn played(server: String, key: String, lie: Lie, operations: u64) -> (Outcome, u32) {
    let (address, memory) = lying(&server, lie).await;
    let plan = plan(&address.to_string(), &key, operations, lie.round);
    let played = tokio::task::spawn_blocking(move || {
        let stop = Arc::clone(&plan.stop);
        let caught = |outcome: &Outcome| outcome.violations.iter().any(|violation| violation.rule == lie.rule);
        run(&plan, move |outcome| stop.store(caught(outcome), Ordering::Relaxed))
    });
    let outcome = played.await.unwrap().unwrap_or_else(|error| panic!("{}: {error}", lie.name));
    let lies = memory.lock().unwrap().lies;
    (outcome, lies)
}

fn found(outcome: &Outcome) -> Vec<&'static str> {
    let mut rules: Vec<&str> = outcome.violations.iter().map(|violation| violation.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

#[test]
fn there_is_a_lie_for_every_rule() {
    let lies = all_lies();
    for rule in RULES {
        assert!(
            lies.iter().any(|lie| lie.rule == rule.name),
            "nothing shows that {} can fail: {}",
            rule.name,
            rule.sentence
        );
    }
    for lie in lies {
        assert!(RULES.iter().any(|rule| rule.name == lie.rule), "{}: there is no rule {}", lie.name, lie.rule);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_lie_is_found_by_its_rule_and_the_truth_breaks_none() {
    let folder = Folder::with_database();
    folder.done(&["tenant", "create", TENANT, "--policy", "operational"]);
    let (key, server) = (folder.key("admin"), Server::start(&folder));
    let mut executed = 0;
    for _ in 0..TRIES {
        let (honest, _) = played(server.base.clone(), key.clone(), HONEST, 3_000).await;
        assert!(honest.violations.is_empty(), "{:#?}", honest.violations);
        executed += honest.executed;
        // On a busy machine more questions end before they are answered.
        if executed > 10 {
            break;
        }
    }
    assert!(executed > 10, "hardly anything was executed");
    let mut waiting: Vec<(Lie, u32)> = all_lies().into_iter().map(|lie| (lie, 1)).collect();
    waiting.retain(|(lie, _)| setting("CSCP_TEST_LIE").is_none_or(|only| lie.name.contains(&only)));
    let mut telling = tokio::task::JoinSet::new();
    let (mut missed, mut told) = (Vec::new(), 0);
    loop {
        while telling.len() < AT_ONCE
            && let Some((lie, tries)) = waiting.pop()
        {
            let (server, key) = (server.base.clone(), key.clone());
            telling.spawn(async move { (lie, tries, played(server, key, lie, ENOUGH * u64::from(tries)).await) });
        }
        let Some(played) = telling.join_next().await else { break };
        let (lie, tries, (outcome, lies)) = played.unwrap();
        let found = found(&outcome);
        // What a lie has to meet is left to chance: on a busy machine it is told once more, and longer.
        if !found.contains(&lie.rule) && tries < TRIES {
            waiting.push((lie, tries + 1));
            continue;
        }
        if !found.contains(&lie.rule) {
            missed.push(format!(
                "{} ({lies} times): {} was not broken, but {found:?}; {:#?}",
                lie.name, lie.rule, outcome.counts
            ));
        }
        told += 1;
    }
    server.stop().await;
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    say(&format!("{told} lies of a server, each found by the rule that it breaks"));
}
