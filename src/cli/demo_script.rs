//! The demo's conversation: typical failures of other systems, one by one.

use reqwest::Method;
use serde_json::json;

use super::Failure;
use super::demo::{Role, Stage, message};
use super::demo_play::{Play, learned, print_text, said, scene, word};

const MAY_I: &str = "may I execute it?";
const MINUTES: u32 = 60;

/// Plays the conversation and prints it.
pub(super) async fn play(stage: &Stage) -> Result<(), Failure> {
    let mut play = Play::new(stage);
    play.cancelling_an_order().await?;
    play.the_wrong_question().await?;
    play.the_changed_target().await?;
    play.the_stale_yes().await?;
    play.the_yes_taken_back().await?;
    play.the_worker_that_dies().await?;
    play.what_an_operator_sees().await
}

impl Play<'_> {
    async fn cancelling_an_order(&mut self) -> Result<(), Failure> {
        scene("1. A destructive command wants more than a bare yes");
        self.post("\"cancel order 123, please\"", json!({"text": "cancel order 123, please"})).await?;
        let target = json!({"order_id": "123"});
        let asked = self.ask("cmd-1", "order.cancel", &target, "Cancel order 123?").await?;
        self.post("\"yes\"", json!({"text": "yes"})).await?;
        self.tap(&asked, "taps [Yes]").await?;
        scene("2. A double tap, and two workers at once");
        self.tap(&asked, "taps [Yes] again").await?;
        let (one, two) = tokio::join!(
            self.bind("worker 1", "cmd-1", "order.cancel", &target),
            self.bind("worker 2", "cmd-1", "order.cancel", &target)
        );
        let (one, two) = (one?, two?);
        Self::show_binding("worker 1", MAY_I, &one);
        Self::show_binding("worker 2", MAY_I, &two);
        let winner = if matches!(one, (201, _)) { "worker 1" } else { "worker 2" };
        self.report(winner, "cmd-1", "order cancelled").await
    }

    async fn the_wrong_question(&mut self) -> Result<(), Failure> {
        scene("3. A yes to the wrong question");
        let target = json!({"address_id": "home"});
        let asked = self.ask("cmd-2", "address.update", &target, "Deliver to your home address from now on?").await?;
        self.post("\"yes\", quoting an older message", json!({"text": "yes", "reply_to": "wamid.in.1"})).await?;
        said("the bot", "Would you like our newsletter?");
        let other = json!({"direction": "outbound", "text": "Would you like our newsletter?"});
        let event = message(self.stage, "out-newsletter", other);
        self.stage.done(Role::Handler, Method::POST, "/v1/messages", event).await?;
        self.post("\"yes\"", json!({"text": "yes"})).await?;
        self.post("\"yes, but only next month\"", json!({"text": "yes, but only next month", "reply_to": asked.wamid}))
            .await?;
        self.post("\"yes\", quoting the question", json!({"text": "yes", "reply_to": asked.wamid})).await.map(drop)
    }

    async fn the_changed_target(&mut self) -> Result<(), Failure> {
        scene("4. What would be done is not what was agreed to");
        let office = self.bind("worker 1", "cmd-2", "address.update", &json!({"address_id": "office"})).await?;
        Self::show_binding("worker 1", "may I send it to the office?", &office);
        let home = self.bind("worker 1", "cmd-2", "address.update", &json!({"address_id": "home"})).await?;
        Self::show_binding("worker 1", "may I send it home?", &home);
        self.report("worker 1", "cmd-2", "address changed").await
    }

    async fn the_stale_yes(&mut self) -> Result<(), Failure> {
        scene("5. A stale yes");
        let target = json!({"amount": "82000", "payee": "ACME"});
        let asked = self.ask("cmd-3", "payment.send", &target, "Pay 82,000 to ACME?").await?;
        said("", "… six minutes later …");
        self.stage.clock.pass(6 * MINUTES);
        self.tap(&asked, "taps [Yes]").await?;
        let refused = self.bind("worker 1", "cmd-3", "payment.send", &target).await?;
        Self::show_binding("worker 1", MAY_I, &refused);
        let path = format!("/v1/confirmations/{}", asked.confirmation_id);
        let (_, item) = self.stage.call(Role::Handler, Method::GET, &path, None).await?;
        learned(&format!("the confirmation is {}", word(&item, "/state")));
        Ok(())
    }

    async fn the_yes_taken_back(&mut self) -> Result<(), Failure> {
        scene("6. Yes… no, wait");
        let target = json!({"order_id": "456"});
        let asked = self.ask("cmd-4", "order.cancel", &target, "Cancel order 456?").await?;
        self.tap(&asked, "taps [Yes]").await?;
        self.post("\"no, wait\"", json!({"text": "no, wait"})).await?;
        let refused = self.bind("worker 1", "cmd-4", "order.cancel", &target).await?;
        Self::show_binding("worker 1", MAY_I, &refused);
        self.tap(&asked, "taps [Yes] again").await.map(drop)
    }

    async fn the_worker_that_dies(&mut self) -> Result<(), Failure> {
        scene("7. A worker dies between bind and execute");
        let target = json!({"order_id": "789"});
        let asked = self.ask("cmd-5", "order.cancel", &target, "Cancel order 789?").await?;
        self.tap(&asked, "taps [Yes]").await?;
        let bound = self.bind("worker 1", "cmd-5", "order.cancel", &target).await?;
        Self::show_binding("worker 1", MAY_I, &bound);
        said("", "… worker 1 dies. Was the order cancelled before that? This server cannot know …");
        let refused = self.bind("worker 2", "cmd-5", "order.cancel", &target).await?;
        Self::show_binding("worker 2", MAY_I, &refused);
        said("", "… six minutes later …");
        self.stage.clock.pass(6 * MINUTES);
        self.list_unknown("worker 2").await?;
        let repeated = self.bind("worker 1", "cmd-5", "order.cancel", &target).await?;
        Self::show_binding("worker 1", "is back, and asks again: may I execute it?", &repeated);
        let taken = self.take_over("worker 2", "worker 1", "cmd-5", "order.cancel", &target).await?;
        Self::show_binding(
            "worker 2",
            "asked the order system about key-cmd-5, which never heard of it: I take over",
            &taken,
        );
        self.report("worker 2", "cmd-5", "order cancelled").await
    }

    async fn what_an_operator_sees(&mut self) -> Result<(), Failure> {
        scene("8. What an operator sees, and why the bot did that");
        let body = json!({"query": "show active context", "conversation_id": "conv-ana", "locale": "en"});
        let shown = self.stage.done(Role::Operator, Method::POST, "/v1/ooc/query", body).await?;
        said("operator", "show active context");
        print_text(word(&shown, "/text"));
        said("operator", "explain command cmd-1");
        let path = "/v1/ooc/commands/cmd-1/explanation";
        let (_, explained) = self.stage.call(Role::Operator, Method::GET, path, None).await?;
        print_text(word(&explained, "/text"));
        println!();
        Ok(())
    }
}
