//! One webhook handler's conversation, step by step, over as many servers as it takes: a message, a question, a tap,
//! and two workers that both want to execute.

use crate::caller::{Answer, Caller, Sent, binding, hello, question, tap};
use crate::ledger::Ledger;

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Hello,
    Ask,
    Tap,
    Bind,
}

/// A conversation that goes on until the server is gone, and afterwards with the next one.
#[derive(Debug)]
pub(crate) struct Talk {
    name: String,
    number: u32,
    step: Step,
    context_id: String,
    button: String,
    /// Requests of this step that were not answered yet. They are sent again as they are.
    open: Vec<Sent>,
    /// What was acknowledged.
    pub(crate) ledger: Ledger,
    /// Requests that a server took to its grave.
    pub(crate) unknown: usize,
}

impl Talk {
    pub(crate) fn new(name: &str) -> Self {
        let open = vec![hello(&format!("wamid.{name}.0.hello"), name)];
        let (context_id, button) = (String::new(), String::new());
        let ledger = Ledger::default();
        Self { name: name.to_owned(), number: 0, step: Step::Hello, context_id, button, open, ledger, unknown: 0 }
    }

    /// Goes on until a request gets no answer.
    pub(crate) async fn go_on(&mut self, caller: &Caller) {
        while self.one_step(caller).await {}
    }

    /// Goes on for so many steps, each of which has to be answered.
    pub(crate) async fn take_steps(&mut self, caller: &Caller, steps: usize) {
        for _ in 0..steps {
            assert!(self.one_step(caller).await, "{}: no answer", self.name);
        }
    }

    /// Sends what is open; returns whether everything was answered.
    pub(crate) async fn one_step(&mut self, caller: &Caller) -> bool {
        let sent = std::mem::take(&mut self.open);
        let answers = match sent.as_slice() {
            [one] => vec![caller.try_send(one).await],
            [one, two] => {
                let (one, two) = tokio::join!(caller.try_send(one), caller.try_send(two));
                vec![one, two]
            }
            _ => panic!("a step is one or two requests"),
        };
        for (sent, answer) in sent.into_iter().zip(answers) {
            match answer {
                // Whether it was done is not known: that is what this answer says.
                Ok(answer) if answer.status != 503 => self.acknowledge(sent, &answer),
                _ => {
                    self.unknown += 1;
                    self.open.push(sent);
                }
            }
        }
        let all = self.open.is_empty();
        if all {
            self.advance();
        }
        all
    }

    fn acknowledge(&mut self, sent: Sent, answer: &Answer) {
        match self.step {
            Step::Hello => {
                assert!(answer.is_done(), "{sent:?}: {answer:?}");
                answer.text("/context/context_id").clone_into(&mut self.context_id);
                self.ledger.turn(sent, answer);
            }
            Step::Ask => {
                assert_eq!(answer.status, 201, "{sent:?}: {answer:?}");
                answer.text("/button_ids/0").clone_into(&mut self.button);
            }
            Step::Tap => {
                assert_eq!(answer.text("/verdict/code"), "confirmed", "{sent:?}: {answer:?}");
                self.ledger.turn(sent, answer);
            }
            Step::Bind => self.ledger.attempt(sent, answer),
        }
    }

    fn advance(&mut self) {
        let (name, command) = (&self.name, format!("{}.{}", self.name, self.number));
        (self.step, self.open) = match self.step {
            Step::Hello => (Step::Ask, vec![question(&self.context_id, &command)]),
            Step::Ask => (Step::Tap, vec![tap(&format!("wamid.{command}.tap"), name, &self.button)]),
            Step::Tap => {
                let attempt = |worker: &str| binding(&self.context_id, &command, worker);
                (Step::Bind, vec![attempt("worker-1"), attempt("worker-2")])
            }
            Step::Bind => {
                self.ledger.expect_one_winner(&command);
                self.number += 1;
                (Step::Hello, vec![hello(&format!("wamid.{name}.{}.hello", self.number), name)])
            }
        };
    }
}
