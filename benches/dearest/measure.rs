//! One request after the other, and what each took.

use std::time::Instant;

use reqwest::Method;
use serde_json::Value;

use crate::bodies::message;
use crate::server::{Answer, Caller, Server};

/// Messages of which the median is an ordinary one.
const ORDINARY: u64 = 51;

/// A run of requests by one caller, with nobody else there.
pub(crate) struct Measure<'a> {
    server: &'a Server,
    pub(crate) caller: Caller,
    /// What an ordinary message takes, in milliseconds.
    ordinary: f64,
}

impl<'a> Measure<'a> {
    /// Measures ordinary messages first, and prints the head of the table.
    pub(crate) async fn begin(server: &'a Server, caller: Caller) -> Self {
        let mut times = Vec::new();
        for number in 0..ORDINARY {
            let before = server.worked().await.seconds;
            caller.must(Method::POST, "/v1/messages", &message("ordinary", number, number)).await;
            times.push((server.worked().await.seconds - before) * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let ordinary = times[times.len() / 2];
        println!(
            "| request | answer | under the writer, ms | batches | ratio to a message | steps, mean ms, all within s | whole answer, ms |"
        );
        println!("|---|---|---|---|---|---|---|");
        println!("| an ordinary message | 200 | {ordinary:.2} | 1 | 1 | | |");
        Self { server, caller, ordinary }
    }

    /// Sends a request and prints what it took.
    pub(crate) async fn request(&self, name: &str, method: Method, path: &str, body: &Value) -> Answer {
        self.measured(&self.caller, name, method, path, body).await
    }

    /// The same, by a key of another kind of the same tenant. What is done without the committer is not told of by its metrics.
    pub(crate) async fn request_by(&self, kind: &str, name: &str, method: Method, path: &str, body: &Value) -> Answer {
        let caller = self.server.caller("loud", kind);
        self.measured(&caller, name, method, path, body).await
    }

    async fn measured(&self, caller: &Caller, name: &str, method: Method, path: &str, body: &Value) -> Answer {
        let before = self.server.worked().await;
        let began = Instant::now();
        let answer = caller.send(method, path, body).await;
        let whole = began.elapsed().as_secs_f64() * 1e3;
        let after = self.server.worked().await;
        let (batches, under) = (after.batches - before.batches, (after.seconds - before.seconds) * 1e3);
        let steps = after.steps - before.steps;
        let stepped = if steps > 0.0 {
            let mean = (after.stepping - before.stepping) * 1e3 / steps;
            format!("{steps:.0}, {mean:.1}, {}", after.longest_step(&before))
        } else {
            String::new()
        };
        let code = answer.body["code"].as_str().unwrap_or_default();
        let status = answer.status.as_u16();
        let ratio = under / self.ordinary;
        println!("| {name} | {status} {code} | {under:.1} | {batches:.0} | {ratio:.0} | {stepped} | {whole:.0} |");
        answer
    }
}
