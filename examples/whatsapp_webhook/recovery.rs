//! What a process that died left behind: bound commands on which nobody reported in time. Nobody but this side can find
//! out whether they were executed, so cscp only lists them.
//!
//! For each: the order system is asked first, under the command's idempotency key. What it did is recorded. What it did
//! not do is taken over, if the journal says what it was, and executed. The rest is for an operator.

use serde_json::json;

use crate::cscp::{Failure, Unavailable, Unreported};
use crate::journal::Intent;
use crate::shop::{COMMAND, Shop, command_body, random_attempt, settled};
use crate::tasks::Task;

/// How commands whose execution was unknown ended in one look.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// They had been executed; their results were recorded.
    pub(crate) recorded: usize,
    /// They had not; they were taken over and executed.
    pub(crate) executed: usize,
    /// It could not be found out, or nothing here says what they were: an operator has to look.
    pub(crate) left: usize,
}

enum Ended {
    Recorded,
    Executed,
    Left,
    /// A delivery is working on it at this moment, or somebody else was faster.
    InHand,
}

impl Shop {
    /// Looks once, and ends what can be ended.
    pub(crate) async fn recover(&self) -> Result<Recovered, Unavailable> {
        let mut recovered = Recovered::default();
        for command in self.cscp.unreported().await? {
            match self.end(&command).await? {
                Ended::Recorded => recovered.recorded += 1,
                Ended::Executed => recovered.executed += 1,
                Ended::Left => recovered.left += 1,
                Ended::InHand => {}
            }
        }
        Ok(recovered)
    }

    async fn end(&self, command: &Unreported) -> Result<Ended, Unavailable> {
        if command.command_name != COMMAND {
            return Ok(Ended::Left);
        }
        let task = self.known(&command.command_id);
        // A delivery that holds the task is about to execute or to report.
        let Ok(mut task) = task.as_ref().map(|task| task.try_lock()).transpose() else { return Ok(Ended::InHand) };
        let Ok(outcome) = self.orders.outcome(&command.idempotency_key).await else { return Ok(Ended::Left) };
        match (outcome, task.as_deref_mut()) {
            (Some(succeeded), task) => self.record(command, succeeded, task).await,
            (None, Some(task)) => self.take_over(command, task).await,
            (None, None) => Ok(Ended::Left),
        }
    }

    /// It was executed. Who did it is not known, so the report names no attempt.
    async fn record(
        &self,
        command: &Unreported,
        succeeded: bool,
        task: Option<&mut Task>,
    ) -> Result<Ended, Unavailable> {
        let reported = self.cscp.report(&command.command_id, None, succeeded).await;
        settled(reported, "result not recorded")?;
        if let Some(task) = task {
            task.executed = Some(succeeded);
            task.reported = true;
            self.note_end(&command.command_id, succeeded).await;
        }
        Ok(Ended::Recorded)
    }

    /// It was not executed. The new attempt is in the journal before cscp hears of it.
    async fn take_over(&self, command: &Unreported, task: &mut Task) -> Result<Ended, Unavailable> {
        let attempt_id = random_attempt()?;
        let intent = Intent {
            command_id: command.command_id.clone(),
            context_id: task.context_id.clone(),
            order_id: task.order_id.clone(),
            attempt_id: attempt_id.clone(),
        };
        self.intend(intent).await?;
        let mut body = command_body(&command.command_id, &task.order_id);
        body["attempt_id"] = json!(attempt_id);
        body["replaces_attempt_id"] = json!(command.execution.attempt_id);
        body["downstream_checked"] = json!(true);
        let bound = match self.cscp.take_over(&command.command_id, &body).await {
            Ok(bound) => bound,
            Err(Failure::Unavailable(why)) => return Err(why),
            Err(Failure::Refused(refusal)) => {
                tracing::info!(code = refusal.name(), "command not taken over");
                return Ok(Ended::InHand);
            }
        };
        task.attempt_id = Some(attempt_id);
        if !bound.execute {
            return Ok(Ended::InHand);
        }
        self.cancel(&command.command_id, task, &bound.context_ref).await;
        self.report(&command.command_id, task).await?;
        Ok(Ended::Executed)
    }
}
