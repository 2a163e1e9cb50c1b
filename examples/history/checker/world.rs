//! What the clients know and share: conversations, questions, commands, and the ids that collide on purpose.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use super::clock::SECOND;
use super::contract::Promises;
use super::random::Random;
use super::record::{Call, Kind, Spec};

/// People who write; each is in several conversations.
pub(crate) const PEOPLE: usize = 4;
/// People in each conversation.
const IN_EACH: usize = 2;
/// How many of the last questions, commands, calls and ids are remembered.
const REMEMBERED: usize = 96;
/// In every so-manyth conversation time is left for deadlines to pass and for bare answers to be possible.
const SLOW_EVERY: usize = 3;
/// How long a question waits there for each next step.
const SLOW: i64 = SECOND * 6 / 5;
/// About so many questions are asked about each command.
const ASKED_EACH: u64 = 3;
/// So many commands are asked about at once.
const AT_ONCE: u64 = 6;
/// Of so many questions one is gone on with.
const DRAWS: usize = 12;
/// Of a hundred commands so many need no approval, where the tenant's rules know both kinds.
const PLAIN: u64 = 60;

/// A conversation and a person in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) conversation: usize,
    pub(crate) person: usize,
}

/// A context as it was last heard of.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) place: Place,
    pub(crate) id: String,
    pub(crate) revision: u64,
}

/// How far a question has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Asked,
    Shown,
    Granted,
    Ended,
}

impl Step {
    /// What has come further is gone on with rather than what has not: commands are to be bound, not only asked about.
    fn worth(self) -> u8 {
        match self {
            Self::Ended => 0,
            Self::Asked => 1,
            Self::Shown => 2,
            Self::Granted => 3,
        }
    }
}

/// A question that was asked.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) context: String,
    pub(crate) place: Place,
    pub(crate) spec: Option<Spec>,
    pub(crate) yes: String,
    pub(crate) no: String,
    pub(crate) prompt: Option<String>,
    pub(crate) yes_message: Option<String>,
    pub(crate) step: Step,
    /// When it came to this step.
    pub(crate) since: i64,
}

/// A command that was bound.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) spec: Spec,
    pub(crate) attempt: String,
    pub(crate) call: Rc<Call>,
    /// When its owner's time to report is over.
    pub(crate) report_by: Option<i64>,
}

/// What the tenant's rules ask for, as it was found out by asking.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    /// Commands that need no approval.
    pub(crate) plain: Vec<&'static str>,
    /// Commands that need one.
    pub(crate) approved: Vec<&'static str>,
    /// Who may say yes to those, as names of principals.
    pub(crate) approvers: Vec<String>,
}

/// Everything that the clients of one round share.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) random: Random,
    ids: Random,
    /// Begins the names of everybody in this run.
    pub(crate) run: String,
    /// Begins the names of everything in this round.
    prefix: String,
    pub(crate) conversations: usize,
    counter: u64,
    asked: u64,
    pub(crate) rules: Rules,
    pub(crate) promises: Promises,
    pub(crate) contexts: Vec<Context>,
    pub(crate) questions: VecDeque<Question>,
    pub(crate) commands: VecDeque<Command>,
    /// Commands whose owner has died.
    pub(crate) orphans: Vec<Command>,
    pub(crate) dead: BTreeSet<String>,
    pub(crate) calls: VecDeque<Rc<Call>>,
    pub(crate) attempts: VecDeque<String>,
    pub(crate) prompts: VecDeque<String>,
    pub(crate) messages: VecDeque<String>,
    pub(crate) claims: VecDeque<String>,
}

/// Keeps the last ones only.
pub(crate) fn keep<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() >= REMEMBERED {
        all.pop_front();
    }
    all.push_back(one);
}

/// What a world is made of.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) run: String,
    pub(crate) seed: u64,
    pub(crate) conversations: usize,
    pub(crate) rules: Rules,
    pub(crate) promises: Promises,
}

impl World {
    /// The world of one round: nothing in it has a name that another round used.
    pub(crate) fn new(setting: &Setting, round: u64, born: i64) -> Self {
        let Setting { run, seed, conversations, rules, promises } = setting.clone();
        Self {
            random: Random::new(seed ^ (round << 32)),
            // Attempts have to be as unlike those of any other run as random ones: the time is in them, too.
            ids: Random::new(seed.rotate_left(17) ^ born.unsigned_abs()),
            prefix: format!("{run}-{round}"),
            run,
            conversations,
            counter: 0,
            asked: 0,
            rules,
            promises,
            contexts: Vec::new(),
            questions: VecDeque::new(),
            commands: VecDeque::new(),
            orphans: Vec::new(),
            dead: BTreeSet::new(),
            calls: VecDeque::new(),
            attempts: VecDeque::new(),
            prompts: VecDeque::new(),
            messages: VecDeque::new(),
            claims: VecDeque::new(),
        }
    }

    /// A number from 0 up to and without `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        usize::try_from(self.random.below(end)).unwrap_or(0)
    }

    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.random.percent(share)
    }

    /// One of several things.
    pub(crate) fn one<'o, T>(&mut self, of: &'o [T]) -> Option<&'o T> {
        let at = self.below(of.len());
        of.get(at)
    }

    /// A name that nothing else has.
    pub(crate) fn fresh(&mut self, what: &str) -> String {
        self.counter += 1;
        format!("{}-{what}{}", self.prefix, self.counter)
    }

    /// One of the names that were used already, in so many cases of a hundred; otherwise a fresh one.
    pub(crate) fn name(&mut self, what: &str, shared: u32, used: fn(&mut Self) -> &mut VecDeque<String>) -> String {
        let count = used(self).len();
        if count > 0 && self.percent(shared) {
            let at = self.below(count);
            if let Some(name) = used(self).get(at) {
                return name.clone();
            }
        }
        let name = self.fresh(what);
        keep(used(self), name.clone());
        name
    }

    /// A random UUID of version 4.
    pub(crate) fn uuid(&mut self) -> String {
        let mut bytes = [0; 16];
        for half in bytes.chunks_mut(8) {
            // Never the largest number, which is no loss.
            half.copy_from_slice(&self.ids.below(u64::MAX).to_be_bytes());
        }
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// An attempt: a fresh one, or in so many cases of a hundred one that was used for whatever.
    pub(crate) fn attempt(&mut self, shared: u32) -> String {
        let count = self.attempts.len();
        if count > 0 && self.percent(shared) {
            let at = self.below(count);
            if let Some(attempt) = self.attempts.get(at).filter(|attempt| !self.dead.contains(*attempt)) {
                return attempt.clone();
            }
        }
        let attempt = self.uuid();
        keep(&mut self.attempts, attempt.clone());
        attempt
    }

    pub(crate) fn place(&mut self) -> Place {
        let conversation = self.below(self.conversations);
        let person = (conversation + self.below(IN_EACH)) % PEOPLE;
        Place { conversation, person }
    }

    pub(crate) fn conversation(&self, place: Place) -> String {
        format!("{}-c{}", self.prefix, place.conversation)
    }

    pub(crate) fn actor(&self, place: Place) -> String {
        person(&self.run, place.person)
    }

    pub(crate) fn context(&self, place: Place) -> Option<&Context> {
        self.contexts.iter().find(|context| context.place == place)
    }

    /// Takes note of how a context stands.
    pub(crate) fn heard_of(&mut self, place: Place, id: &str, revision: u64) {
        let known = self.contexts.iter_mut().find(|context| context.place == place);
        match known {
            Some(context) => id.clone_into(&mut context.id),
            None => self.contexts.push(Context { place, id: id.to_owned(), revision }),
        }
        if let Some(context) = self.contexts.iter_mut().find(|context| context.id == id) {
            context.revision = revision;
        }
    }

    /// A command that several clients ask about at the same time.
    pub(crate) fn spec(&mut self) -> Spec {
        self.asked += 1;
        let number = self.asked / ASKED_EACH + self.random.below(AT_ONCE);
        let mut spec = self.spec_of(number);
        if number > 0 && self.percent(4) {
            spec.key = self.spec_of(number - 1).key;
        }
        if self.percent(4) {
            let at = self.below(self.commands.len());
            if let Some(bound) = self.commands.get(at) {
                spec.key.clone_from(&bound.spec.key);
            }
        }
        if self.percent(3) {
            spec = self.changed(&spec);
        }
        spec
    }

    fn spec_of(&self, number: u64) -> Spec {
        let Rules { plain, approved, .. } = &self.rules;
        // The number decides: everybody who asks about a command means the same one.
        let is_plain = approved.is_empty() || (number.wrapping_mul(37) % 100 < PLAIN && !plain.is_empty());
        let names = if is_plain { plain } else { approved };
        let at = usize::try_from(number).unwrap_or(0) % names.len().max(1);
        let name = names.get(at).copied().unwrap_or("address.update").to_owned();
        let prefix = &self.prefix;
        let target = target(&name, number, "home");
        Spec { command_id: format!("{prefix}-cmd{number}"), key: format!("{prefix}-key{number}"), name, target }
    }

    /// The same command to be done to something else.
    pub(crate) fn changed(&mut self, spec: &Spec) -> Spec {
        let number = 1_000_000 + self.random.below(1_000);
        let target = if self.promises.make(super::contract::Promise::WholeTarget) && self.percent(50) {
            spec.target.replace("\"home\"", "\"work\"")
        } else {
            target(&spec.name, number, "home")
        };
        Spec { target, ..spec.clone() }
    }

    /// One of the questions: of a few that are drawn the one that has come furthest and has not ended, where time is
    /// left to it if that is wanted there.
    pub(crate) fn question(&mut self, now: i64) -> Option<Question> {
        let count = self.questions.len();
        let mut best: Option<Question> = None;
        for _ in 0..DRAWS {
            let at = self.below(count);
            let Some(question) = self.questions.get(at) else { continue };
            let ripe = question.place.conversation % SLOW_EVERY != 0 || now - question.since > SLOW;
            let further = best.as_ref().is_none_or(|best| question.step.worth() > best.step.worth());
            if ripe && further {
                best = Some(question.clone());
            }
        }
        if self.percent(10) {
            let at = self.below(count);
            return self.questions.get(at).cloned();
        }
        best
    }

    /// Questions of a context have ended with it, or for a newer one.
    pub(crate) fn end_questions(&mut self, context: &str, but: &str, granted_too: bool) {
        for question in self.questions.iter_mut().filter(|question| question.context == context && question.id != but) {
            if granted_too || question.step != Step::Granted {
                question.step = Step::Ended;
            }
        }
    }

    /// A context that cannot be used any more is forgotten: the next message opens another one.
    pub(crate) fn forget(&mut self, context: &str) {
        self.contexts.retain(|known| known.id != context);
        self.end_questions(context, "", true);
    }

    /// A question comes to its next step.
    pub(crate) fn comes(&mut self, id: &str, step: Step, now: i64, change: impl FnOnce(&mut Question)) {
        if let Some(question) = self.questions.iter_mut().find(|question| question.id == id) {
            if question.step != Step::Ended {
                (question.step, question.since) = (step, now);
            }
            change(question);
        }
    }
}

/// The name of one of the people.
pub(crate) fn person(run: &str, number: usize) -> String {
    format!("{run}-p{number}")
}

/// What a command is done to. Its members are in order.
pub(crate) fn target(name: &str, number: u64, note: &str) -> String {
    match name {
        "address.update" => format!(r#"{{"address_id":"a{number}","note":"{note}"}}"#),
        "payment.send" => format!(r#"{{"amount":"{number}.00","note":"{note}","payee":"p{number}"}}"#),
        "refund.issue" => format!(r#"{{"amount":"{number}.00","note":"{note}","order_id":"o{number}"}}"#),
        _ => format!(r#"{{"note":"{note}","order_id":"o{number}"}}"#),
    }
}
