//! The cases: what was there before, and the dearest request over it.

use cscp::state_layer::decide::MAX_WRITE_FACTS;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::{based, ladder, large, message, plain, small, words};
use crate::measure::Measure;
use crate::server::Server;
use crate::turns::{erasures, turns};

/// What one case does.
type Case = for<'a> fn(&'a Measure<'a>) -> BoxFuture<'a, ()>;

macro_rules! cases {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), (|measure| Box::pin($name(measure))) as Case)),*] };
}

/// Runs those with this word in their names.
pub(crate) async fn all(server: &Server, word: Option<&str>) {
    let measure = Measure::begin(server, server.caller("loud", "handler")).await;
    let cases = cases![
        messages,
        principals,
        turns,
        erasures,
        dependencies,
        rooted,
        waiting,
        circles,
        values,
        one_key,
        alike,
        tasks,
        working_set,
        history,
        full,
        packs,
        claimed,
    ];
    for (name, case) in cases {
        if word.is_none_or(|word| name.contains(word)) {
            case(&measure).await;
        }
    }
}

fn path(space: &str, rest: &str) -> String {
    format!("/v1/fact-spaces/{space}{rest}")
}

/// Writes facts, as many at a time as may be.
async fn fill(measure: &Measure<'_>, space: &str, body: &Value) {
    for facts in body["facts"].as_array().unwrap().chunks(MAX_WRITE_FACTS) {
        measure.caller.send(Method::POST, &path(space, "/facts/batch"), &json!({ "facts": facts })).await;
    }
}

/// The uid of a key.
async fn uid(measure: &Measure<'_>, space: &str, key: &str) -> String {
    let fact = measure.caller.send(Method::GET, &path(space, &format!("/current/{key}")), &Value::Null).await.body;
    fact["uid"].as_str().or(fact["fact"]["uid"].as_str()).unwrap_or("none").to_owned()
}

async fn supersede(measure: &Measure<'_>, name: &str, space: &str, key: &str) {
    let uid = uid(measure, space, key).await;
    let body = json!({"value": "another value"});
    measure.request(name, Method::POST, &path(space, &format!("/facts/{uid}/supersede")), &body).await;
}

async fn delete(measure: &Measure<'_>, name: &str, space: &str, key: &str) {
    let uid = uid(measure, space, key).await;
    measure.request(name, Method::DELETE, &path(space, &format!("/facts/{uid}")), &Value::Null).await;
}

async fn erase(measure: &Measure<'_>, name: &str, space: &str) {
    measure.request(name, Method::DELETE, &path(space, ""), &Value::Null).await;
}

async fn messages(measure: &Measure<'_>) {
    for (name, conversations) in [("1,000 messages, 1,000 conversations", 1_000), ("1,000 messages, 1 conversation", 1)]
    {
        let run = format!("batch{conversations}");
        let messages: Vec<Value> = (0..1_000).map(|number| message(&run, number, number % conversations)).collect();
        measure.request(name, Method::POST, "/v1/messages/batch", &json!({ "messages": messages })).await;
    }
}

async fn principals(measure: &Measure<'_>) {
    let alias = |n: usize| json!({"kind": "bsuid", "value": format!("{n:0>200}")});
    let body = json!({"kind": "person", "aliases": (0..32).map(alias).collect::<Vec<_>>(), "person_id": "one"});
    for n in 0..100 {
        measure.caller.send(Method::PUT, &format!("/v1/principals/p{n}"), &body).await;
    }
    measure.request("principal, 32 aliases, 100 of one person", Method::PUT, "/v1/principals/p100", &body).await;
}

async fn dependencies(measure: &Measure<'_>) {
    let at = path("ladder", "/facts/batch");
    for (name, facts, bases) in [("ladder1", 500, 64), ("ladder2", MAX_WRITE_FACTS, 4), ("ladder3", 12, 64)] {
        let at = at.replace("ladder", name);
        let label = format!("{facts} facts, each on the {bases} before");
        measure.request(&label, Method::POST, &at, &ladder(facts, bases)).await;
    }
    for space in ["ladder1", "ladder2", "ladder3"] {
        supersede(measure, &format!("  supersede the first ({space})"), space, "k0").await;
        delete(measure, &format!("  delete the second ({space})"), space, "k1").await;
        erase(measure, &format!("  delete the space ({space})"), space).await;
    }
}

async fn rooted(measure: &Measure<'_>) {
    let roots = json!({"facts": (0..64).map(|n| based(n, std::iter::empty())).collect::<Vec<_>>()});
    for (space, facts, bases) in [("rooted2", 9, 64), ("rooted3", 599, 1), ("rooted4", 9_500, 1)] {
        fill(measure, space, &roots).await;
        for from in (64..facts + 64).step_by(500) {
            let many =
                (from..(from + 500).min(facts + 64)).map(|n| based(n, (0..bases).map(|base| format!("k{base}"))));
            fill(measure, space, &json!({"facts": many.collect::<Vec<_>>()})).await;
        }
        let label = format!("{facts} × {bases}");
        supersede(measure, &format!("supersede a root, {label} upon it"), space, "k0").await;
        if bases > 1 {
            let all = (0..64).map(|n| json!({"key": format!("k{n}"), "value": "new"}));
            let all = json!({"facts": all.collect::<Vec<_>>()});
            let at = path(space, "/facts/batch");
            measure.request(&format!("  replace all roots, {label}"), Method::POST, &at, &all).await;
        }
        delete(measure, &format!("  delete a root, {label} upon it"), space, "k0").await;
    }
}

async fn waiting(measure: &Measure<'_>) {
    let name = |n: usize| format!("{n:x>250}");
    for (space, facts, each) in [("waiting1", 170, 64), ("waiting2", 9, 64), ("waiting3", MAX_WRITE_FACTS, 4)] {
        let at = path(space, "/facts/batch");
        let many = (0..facts).map(|n| based(n, (0..each).map(|base| name((n + base) % 500))));
        let many = json!({"facts": many.collect::<Vec<_>>()});
        let label = format!("{facts} × {each} long names that nothing answers to");
        measure.request(&label, Method::POST, &at, &many).await;
        let answers = (0..MAX_WRITE_FACTS).map(|n| json!({"key": name(n), "value": "there"}));
        let answers = json!({"facts": answers.collect::<Vec<_>>()});
        measure.request("  150 facts, what those wait for among them", Method::POST, &at, &answers).await;
    }
}

async fn circles(measure: &Measure<'_>) {
    let chain = (0..MAX_WRITE_FACTS).map(|n| json!({"key": format!("c{n}"), "value": n.to_string(), "supersedes": format!("c{}", n + 1), "depends_on": [format!("d{n}")]}));
    let body = json!({"facts": chain.collect::<Vec<_>>()});
    measure.request("150 names, each of the next", Method::POST, &path("circles", "/facts/batch"), &body).await;
    let same =
        (0..MAX_WRITE_FACTS).map(|_| json!({"key": "same", "id": "same", "value": "x", "depends_on": ["same2"]}));
    let body = json!({"facts": same.collect::<Vec<_>>()});
    measure.request("150 facts of one key and label", Method::POST, &path("circles2", "/facts/batch"), &body).await;
    let again = json!({"facts": (0..MAX_WRITE_FACTS).map(|n| json!({"key": format!("s{n}"), "value": "x", "depends_on": ["same", "same2"]})).collect::<Vec<_>>()});
    measure.request("  150 facts on that label", Method::POST, &path("circles2", "/facts/batch"), &again).await;
}

async fn values(measure: &Measure<'_>) {
    for (space, count, bytes) in [("values2", 32, 16_000), ("values3", MAX_WRITE_FACTS, 3_490)] {
        let at = path(space, "/facts/batch");
        let label = format!("{count} values of {bytes} bytes");
        measure.request(&label, Method::POST, &at, &large(0..count, bytes)).await;
        measure.request(&format!("  again, {label}"), Method::POST, &at, &large(0..count, bytes)).await;
        delete(measure, "  delete one of them", space, "large_1").await;
        erase(measure, "  delete the space", space).await;
    }
    let number = "9".repeat(16_000);
    let facts = (0..32).map(|n| json!({"key": format!("total_derived_{n}"), "value": format!("{number} {n}"), "source": {"type": "derived"}}));
    let body = json!({"facts": facts.collect::<Vec<_>>()});
    measure.request("32 values of 16,000 digits", Method::POST, &path("digits", "/facts/batch"), &body).await;
    let facts = (0..32).map(|n| json!({"key": format!("a{n}"), "value": vec![n; 2_000]}));
    let body = json!({"facts": facts.collect::<Vec<_>>()});
    measure.request("32 values of 2,000 numbers", Method::POST, &path("numbers", "/facts/batch"), &body).await;
}

async fn one_key(measure: &Measure<'_>) {
    let at = path("onekey", "/facts/batch");
    let facts = (0..32).map(|n| json!({"key": "same", "value": words(n, 16_000)}));
    let body = json!({"facts": facts.collect::<Vec<_>>()});
    measure.request("32 values of one key, 16,000 bytes", Method::POST, &at, &body).await;
    for people in [500, 30, 16] {
        let at = path(&format!("disputed{people}"), "/facts/batch");
        let said = |n: usize, key: usize| {
            let source = json!({"type": "user", "identity": format!("person {n}")});
            json!({"key": format!("same{key}"), "value": format!("v {n}"), "source": source})
        };
        let facts = (0..2 * people.min(75)).map(|n| said(n % people, n / people));
        let body = json!({"facts": facts.collect::<Vec<_>>()});
        measure.request(&format!("{people} people each disagree about two keys"), Method::POST, &at, &body).await;
        measure.request("  and once more", Method::POST, &at, &body).await;
    }
}

async fn alike(measure: &Measure<'_>) {
    let at = path("alike", "/facts/batch");
    let facts = (0..32).map(|n| json!({"key": format!("alike_word{}_{n}", n / 8), "value": words(n / 8, 16_000)}));
    let body = json!({"facts": facts.collect::<Vec<_>>()});
    measure.request("32 values of keys with common words", Method::POST, &at, &body).await;
    let at = path("quoting", "/facts/batch");
    let quoted = |n: usize| format!("alpha{} beta gamma delta {n}", n % 60);
    let facts = (0..MAX_WRITE_FACTS).map(|n| {
        let text: Vec<String> = (0..600).map(|m| quoted((n + m) % 500)).collect();
        json!({"key": format!("q{n}"), "value": if n < 120 { quoted(n) } else { text.join(" ") }})
    });
    let body = json!({"facts": facts.collect::<Vec<_>>()});
    measure.request("30 texts that quote 120 others", Method::POST, &at, &body).await;
    for repeated in ["x ", "12 ", "R$ 12,00 ", "not ", "10/10/2026 "] {
        let facts = (0..8).map(|n| json!({"key": format!("r{n}"), "value": repeated.repeat(16_000 / repeated.len())}));
        let (at, body) =
            (path(&format!("repeated{}", repeated.len()), "/facts/batch"), json!({"facts": facts.collect::<Vec<_>>()}));
        measure.request(&format!("8 texts of {repeated:?} alone"), Method::POST, &at, &body).await;
    }
}

async fn tasks(measure: &Measure<'_>) {
    for n in 0..500 {
        let item = json!({"content": words(n, 15_000), "task_id": "task", "promote_as": format!("promoted_{n}")});
        measure.caller.send(Method::PUT, &path("task", &format!("/working-set/item{n}")), &item).await;
    }
    let item = json!({"content": "x", "task_id": "other"});
    measure
        .request("one item beside 500 of 15,000 bytes", Method::PUT, &path("task", "/working-set/item0"), &item)
        .await;
    measure
        .request(
            "close a task of 499 items of 15,000 bytes",
            Method::POST,
            &path("task", "/tasks/task/close"),
            &json!({}),
        )
        .await;
    for n in 0..149 {
        let item = json!({"content": format!("small {n}"), "task_id": "small", "promote_as": format!("slot_{n}")});
        measure.caller.send(Method::PUT, &path("tasks", &format!("/working-set/item{n}")), &item).await;
    }
    let close = path("tasks", "/tasks/small/close");
    measure.request("close a task of 149 small items", Method::POST, &close, &json!({})).await;
    delete(measure, "  delete a fact that it left", "task", "promoted_7").await;
    erase(measure, "  delete the space that it leaves", "task").await;
}

async fn working_set(measure: &Measure<'_>) {
    for n in 0..200 {
        let body = json!({"value": words(n, 16_000)});
        measure.caller.send(Method::PUT, &path("signals", &format!("/environment/s{n}")), &body).await;
    }
    let body = json!({"value": words(7, 16_000)});
    measure
        .request("a signal beside 200 of 16,000 bytes", Method::PUT, &path("signals", "/environment/s0"), &body)
        .await;
}

async fn history(measure: &Measure<'_>) {
    for round in 0..20 {
        let facts = (0..500).map(|n| json!({"key": format!("h{n}"), "value": format!("in round {round} it is {n}")}));
        fill(measure, "history", &json!({"facts": facts.collect::<Vec<_>>()})).await;
    }
    for (name, facts) in [("1 late fact, 10,000 in history", 1), ("150 late facts, 10,000 in history", MAX_WRITE_FACTS)]
    {
        let late = (0..facts)
            .map(|n| json!({"key": format!("late{n}"), "value": "x", "effective_at": "2020-01-01T00:00:00Z"}));
        let body = json!({"facts": late.collect::<Vec<_>>()});
        measure.request(name, Method::POST, &path("history", "/facts/batch"), &body).await;
    }
    delete(measure, "  delete one of them", "history", "h7").await;
    erase(measure, "  delete the space", "history").await;
}

async fn full(measure: &Measure<'_>) {
    for batch in 0..20 {
        fill(measure, "full", &small(batch * 500..batch * 500 + 500)).await;
    }
    let one = json!({"key": "slot_1", "value": "another"});
    measure.request("one fact, 10,000 stand", Method::POST, &path("full", "/facts"), &one).await;
    let said = json!({"fact_space": "full", "text": "actually the value number 77 of the shop is now 12, not 77"});
    measure.request("  an utterance", Method::POST, "/v1/observations", &said).await;
    let said = json!({"fact_space": "full", "text": words(3, 16_000)});
    measure.request("  a long utterance", Method::POST, "/v1/observations", &said).await;
    let at = path("full", "/facts/batch");
    measure.request("  150 facts in the place of others", Method::POST, &at, &small(0..MAX_WRITE_FACTS)).await;
    let late = json!({"key": "late", "value": "x", "effective_at": "2020-01-01T00:00:00Z"});
    measure.request("  one late fact", Method::POST, &path("full", "/facts"), &late).await;
    delete(measure, "  delete one of them", "full", "slot_2").await;
    erase(measure, "  delete the space", "full").await;
    for batch in 0..60 {
        fill(measure, "heavy", &large(batch * 30..batch * 30 + 30, 16_000)).await;
    }
    measure
        .request("one fact, as many of 16,000 bytes stand as may", Method::POST, &path("heavy", "/facts"), &one)
        .await;
    delete(measure, "  delete one of them", "heavy", "large_2").await;
    erase(measure, "  delete the space", "heavy").await;
}

async fn packs(measure: &Measure<'_>) {
    for batch in 0..6 {
        // Nothing in them binds: what does must be shown, whatever the budget.
        fill(measure, "packs", &plain(batch * 30..batch * 30 + 30, 16_000)).await;
    }
    let body = json!({"fact_space": "packs", "query": "address", "token_budget": 200_000, "save_frame": true});
    for _ in 0..20 {
        measure.caller.send(Method::POST, "/v1/context-packs", &body).await;
    }
    measure.request("save a pack of 200,000 tokens", Method::POST, "/v1/context-packs", &body).await;
    delete(measure, "  delete a fact in 21 such packs", "packs", "large_2").await;
    erase(measure, "  delete the space with them", "packs").await;
}

async fn claimed(measure: &Measure<'_>) {
    for batch in 0..40 {
        fill(measure, "claimed", &small(batch * 30..batch * 30 + MAX_WRITE_FACTS)).await;
    }
    delete(measure, "delete a fact, 40 kept answers tell of the space", "claimed", "slot_450").await;
    erase(measure, "  delete the space", "claimed").await;
}
