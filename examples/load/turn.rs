//! The turns: what somebody says, and everything that a webhook handler does because of it.
//!
//! It follows the handler in `examples/whatsapp_webhook`: a question is registered before it is sent, a command is
//! bound before it is executed, a reply is registered before it is sent.

use std::rc::Rc;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::answer::{Answer, Expected, is_other_bound};
use crate::body::{self, Place, Words, second};
use crate::cast::{Person, Question, Turn};
use crate::sample::Binding;
use crate::stage::{Line, Lost, Stage};
use crate::tally::{Kind, micros};
use crate::wire::Request;

const MESSAGES: &str = "/v1/messages";
/// One in this many is done twice.
const TWICE_EVERY: u64 = 20;
/// Of a hundred taps, so many come without the quoted prompt: 8 of 22 among recorded ones.
const TAPS_WITHOUT_QUOTE: u32 = 36;
/// Sent, delivered and read: a webhook hears three times of each message of the business.
const STATUSES: u64 = 3;

/// Plays a turn that was meant to begin at `due`. Gives the question that it ended with, if it was asked one.
pub(crate) async fn play(stage: &Rc<Stage>, turn: Turn, due: Instant) -> Result<Option<Question>, Lost> {
    let number = stage.turns.get();
    stage.turns.set(number + 1);
    let place =
        Place { conversation_id: stage.names.conversation(turn.person), actor_id: stage.names.actor(turn.person) };
    let line = Line::new(stage, due, number);
    line.count(|tally| tally.delays.record(micros(due.elapsed())));
    let scene = Scene { line, place, person: turn.person, due };
    let played = match turn.answers {
        None => scene.say(format!("{}-{number}", stage.prefix)).await,
        Some(question) => scene.answer(&question, number).await.map(|()| None),
    };
    if played.is_err() {
        scene.line.count(|tally| tally.counts.given_up += 1);
    }
    played
}

struct Scene {
    line: Line,
    place: Place,
    person: Person,
    due: Instant,
}

impl Scene {
    /// Something is said, and a question follows or not.
    async fn say(&self, name: String) -> Result<Option<Question>, Lost> {
        let asks = self.percent(self.line.stage.mix.questions);
        let text = if asks { "please send it to my home address" } else { "and when does it arrive?" };
        let said = body::message(&self.place, &heard(&name), Words::Text(text));
        let ordinary = Expected::Verdict { code: "not_an_answer", item: "" };
        let first = self.message(Kind::Message, &said, ordinary).await?;
        if self.twice() {
            self.message(Kind::Duplicate, &said, Expected::Duplicate { verdict: &first.seen.verdict }).await?;
        }
        if !asks {
            self.ended();
            return Ok(None);
        }
        let context_id = first.seen.context.unwrap_or_default().context_id;
        self.ask(name, context_id).await.map(Some)
    }

    async fn ask(&self, name: String, context_id: String) -> Result<Question, Lost> {
        let path = format!("/v1/contexts/{context_id}/confirmations");
        let (body, claim) = (body::question(&name), format!("ask-{name}"));
        let request = Request { claim: Some(&claim), ..Request::post(&path, &body) };
        let asked = self.line.call(Kind::Ask, request, Expected::Asked).await?.seen;
        let item = &asked.confirmation_id;
        if self.twice() {
            let again = self.line.call(Kind::AskAgain, request, Expected::AskedAgain { item }).await?;
            if again.seen.button_ids != asked.button_ids {
                return Err(self.line.wrong(Kind::AskAgain, "other buttons for the same key"));
            }
        }
        let path = format!("/v1/confirmations/{item}/prompt-message");
        let body = body::prompt(&prompt(&name));
        let attach = Request { method: "PUT", ..Request::post(&path, &body) };
        self.line.call(Kind::Prompt, attach, Expected::Open { item }).await?;
        let second = second();
        self.ended();
        // The call that sent it has told what the first status would tell; the other two say it again.
        if !self.line.stage.mix.drop_statuses {
            for _ in 1..STATUSES {
                self.line.call(Kind::Status, attach, Expected::Open { item }).await?;
            }
        }
        let mut buttons = asked.button_ids.into_iter();
        let (yes, no) = (buttons.next().unwrap_or_default(), buttons.next().unwrap_or_default());
        Ok(Question { name, context_id, confirmation_id: asked.confirmation_id, yes, no, second })
    }

    /// The question is answered, and what was agreed to is done.
    async fn answer(&self, question: &Question, number: u64) -> Result<(), Lost> {
        let agrees = !self.percent(self.line.stage.mix.declines);
        let prompt = prompt(&question.name);
        let words = self.words(question, &prompt, agrees);
        let said = body::message(&self.place, &answered(&question.name), words);
        let item = &question.confirmation_id;
        if !agrees {
            self.message(Kind::No, &said, Expected::Verdict { code: "declined", item }).await?;
            self.reply(number).await?;
            self.ended();
            return Ok(());
        }
        let kind = match words {
            Words::Tap { .. } => Kind::YesTap,
            Words::Quoting { .. } => Kind::YesQuote,
            Words::Text(_) => Kind::YesBare,
        };
        let attempt = if self.twice() {
            self.delivered_twice(kind, question, &said).await?
        } else {
            self.message(kind, &said, Expected::Verdict { code: "confirmed", item }).await?;
            let own = attempt("try", &question.name);
            self.bind(Kind::Bind, question, &own, Expected::Bound { attempt: &own, item }).await?
        };
        self.record(question, &attempt).await?;
        self.reply(number).await?;
        self.line.count(|tally| tally.counts.commands += 1);
        self.ended();
        if self.twice() { self.late_tap(question, number).await } else { Ok(()) }
    }

    fn words<'q>(&self, question: &'q Question, prompt: &'q str, agrees: bool) -> Words<'q> {
        let mix = &self.line.stage.mix;
        let (text, title) = if agrees { ("sim", "Sim") } else { ("não", "Não") };
        let ripe = second() > question.second && self.line.stage.names.is_alone(self.person);
        if ripe && self.percent(mix.bare) {
            Words::Text(text)
        } else if self.percent(mix.quotes) {
            Words::Quoting { text, prompt }
        } else {
            let button = if agrees { &question.yes } else { &question.no };
            Words::Tap { title, button, prompt: (!self.percent(TAPS_WITHOUT_QUOTE)).then_some(prompt) }
        }
    }

    /// The yes reaches two workers at once. Both learn that it confirms, both try to bind: one may.
    async fn delivered_twice(&self, kind: Kind, question: &Question, said: &str) -> Result<String, Lost> {
        let item = &question.confirmation_id;
        let expected = Expected::Delivered { code: "confirmed", item };
        let (one, other) =
            tokio::join!(self.message(kind, said, expected), self.message(Kind::Duplicate, said, expected));
        let (one, other) = (one?, other?);
        let retried = one.retried || other.retried;
        if !retried && one.seen.duplicate == other.seen.duplicate {
            return Err(self.line.wrong(Kind::Duplicate, "not one of two deliveries was the first"));
        }
        let attempts = [attempt("try", &question.name), attempt("race", &question.name)];
        let expected = |attempt| Expected::BoundOrNot { attempt, item };
        let (one, other) = tokio::join!(
            self.try_bind(Kind::Bind, question, &attempts[0], expected(&attempts[0])),
            self.try_bind(Kind::BindRace, question, &attempts[1], expected(&attempts[1]))
        );
        let (one, other) = (one?, other?);
        let [first, second] = attempts;
        let (attempt, winner) = match (is_other_bound(&one), is_other_bound(&other)) {
            (false, true) => (first, one),
            (true, false) => (second, other),
            (false, false) => return Err(self.line.wrong(Kind::BindRace, "both attempts were bound")),
            (true, true) => return Err(self.line.wrong(Kind::BindRace, "no attempt was bound")),
        };
        self.keep(question, &attempt, &winner);
        Ok(attempt)
    }

    async fn bind(
        &self,
        kind: Kind,
        question: &Question,
        attempt: &str,
        expected: Expected<'_>,
    ) -> Result<String, Lost> {
        let bound = self.try_bind(kind, question, attempt, expected).await?;
        self.keep(question, attempt, &bound);
        if self.twice() {
            let frame = &bound.seen.context_ref.context_frame_id;
            self.try_bind(Kind::BindAgain, question, attempt, Expected::BoundBefore { attempt, frame }).await?;
        }
        Ok(attempt.to_owned())
    }

    async fn try_bind(
        &self,
        kind: Kind,
        question: &Question,
        attempt: &str,
        expected: Expected<'_>,
    ) -> Result<Answer, Lost> {
        let path = format!("/v1/contexts/{}/commands", question.context_id);
        let (asked, answered) = (heard(&question.name), answered(&question.name));
        let body = body::binding(&question.name, attempt, [&asked, &answered]);
        self.line.call(kind, Request::post(&path, &body), expected).await
    }

    fn keep(&self, question: &Question, attempt: &str, bound: &Answer) {
        self.line.stage.sample.borrow_mut().offer(Binding {
            command: question.name.clone(),
            attempt: attempt.to_owned(),
            confirmation: question.confirmation_id.clone(),
            frame: bound.seen.context_ref.context_frame_id.clone(),
        });
    }

    async fn record(&self, question: &Question, attempt: &str) -> Result<(), Lost> {
        let path = format!("/v1/commands/{}/results", question.name);
        let claim = format!("result-{attempt}");
        let request = Request { claim: Some(&claim), ..Request::post(&path, body::SUCCEEDED) };
        let expected = |again| Expected::Recorded { command: &question.name, again };
        self.line.call(Kind::Result, request, expected(false)).await?;
        if self.twice() {
            self.line.call(Kind::ResultAgain, request, expected(true)).await?;
        }
        Ok(())
    }

    /// What the business says in return. Nothing is asked by it.
    async fn reply(&self, number: u64) -> Result<(), Lost> {
        if self.line.stage.mix.drop_replies {
            return Ok(());
        }
        let body = body::reply(&self.place, &format!("reply-{}-{number}", self.line.stage.prefix));
        let expected = Expected::Verdict { code: "registered", item: "" };
        self.line.call(Kind::Reply, Request::post(MESSAGES, &body), expected).await.map(drop)
    }

    /// Somebody taps the button once more, long after: a turn of its own.
    async fn late_tap(&self, question: &Question, number: u64) -> Result<(), Lost> {
        let late = Line::new(&self.line.stage, Instant::now(), number);
        let scene = Scene { line: late, place: self.place.clone(), person: self.person, due: Instant::now() };
        let words = Words::Tap { title: "Sim", button: &question.yes, prompt: None };
        let said = body::message(&self.place, &format!("wamid.late.{}", question.name), words);
        scene.message(Kind::LateTap, &said, Expected::TooLate { item: &question.confirmation_id }).await?;
        scene.ended();
        Ok(())
    }

    async fn message(&self, kind: Kind, said: &str, expected: Expected<'_>) -> Result<Answer, Lost> {
        let answer = self.line.call(kind, Request::post(MESSAGES, said), expected).await?;
        self.line.count(|tally| tally.counts.webhook_events += 1);
        Ok(answer)
    }

    /// The turn has come to its end, and what the business said in it will be heard of three times.
    fn ended(&self) {
        let took = micros(self.due.elapsed());
        self.line.count(|tally| {
            tally.turns.record(took);
            tally.counts.turns += 1;
            tally.counts.statuses += STATUSES;
            tally.counts.webhook_events += STATUSES;
        });
        self.line.stage.live.turn();
    }

    fn percent(&self, share: u32) -> bool {
        self.line.stage.random.borrow_mut().percent(share)
    }

    fn twice(&self) -> bool {
        self.line.stage.random.borrow_mut().below(TWICE_EVERY) == 0
    }
}

/// The id of the message that began an exchange.
fn heard(name: &str) -> String {
    format!("wamid.{name}")
}

/// The id of the prompt.
fn prompt(name: &str) -> String {
    format!("wamid.out.{name}")
}

/// The id of the answer.
fn answered(name: &str) -> String {
    format!("wamid.yes.{name}")
}

/// A worker's name for its try: a UUID, and the same again in a repetition. A handler takes a random one.
fn attempt(worker: &str, command: &str) -> String {
    let digest = Sha256::digest(format!("{worker} {command}"));
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
