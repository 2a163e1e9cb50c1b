//! Who speaks next, and where: conversations, the people in them, and the questions that wait for an answer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::random::Random;

/// A question older than this is given up: policy lets it expire soon after.
const FORGOTTEN: Duration = Duration::from_secs(200);
/// So often a place is drawn before one is searched for.
const DRAWS: u32 = 16;

/// A person in a conversation. Whoever had an answer go wrong is replaced by somebody new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Person {
    /// Whether it is one of the crowd in the hot conversation.
    pub(crate) hot: bool,
    /// The place among these, counted over all threads.
    pub(crate) number: u32,
    /// How often the place has changed hands.
    pub(crate) generation: u32,
}

/// A question that was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    /// The name of the exchange: of its messages, its command, its keys.
    pub(crate) name: String,
    pub(crate) context_id: String,
    pub(crate) confirmation_id: String,
    pub(crate) yes: String,
    pub(crate) no: String,
    /// The second in which the prompt was sent; a bare answer of the same second counts for nothing.
    pub(crate) second: i64,
}

/// A turn to play.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) person: Person,
    /// The question to answer; none when something new is said.
    pub(crate) answers: Option<Question>,
}

/// People of one temperature.
#[derive(Debug)]
struct Crowd {
    hot: bool,
    /// Places of this thread: every `step`th one from `first`.
    first: u32,
    step: u32,
    places: u32,
    /// Places whose person is in a turn or was asked something.
    taken: HashSet<u32>,
    generations: HashMap<u32, u32>,
    asked: VecDeque<(Person, Question, Instant)>,
}

/// How many there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Conversations.
    pub(crate) conversations: u32,
    /// How many turns may be under way at once: so many people there have to be.
    pub(crate) at_once: u32,
    /// How many turns of a hundred go to one conversation.
    pub(crate) hot_share: u32,
    /// How many threads share the people.
    pub(crate) threads: u32,
}

/// The people of one thread.
#[derive(Debug)]
pub(crate) struct Cast {
    size: Size,
    cold: Crowd,
    hot: Crowd,
}

impl Cast {
    /// The part of one thread, counted from 0.
    pub(crate) fn new(size: Size, thread: u32) -> Self {
        let crowd = |hot, people: u32| Crowd {
            hot,
            first: thread,
            step: size.threads,
            places: people.saturating_sub(thread).div_ceil(size.threads),
            taken: HashSet::new(),
            generations: HashMap::new(),
            asked: VecDeque::new(),
        };
        // A conversation with more than one person in it is where people are lacking otherwise.
        let cold = crowd(false, size.conversations.max(size.at_once));
        let hot = crowd(true, if size.hot_share > 0 { size.at_once } else { 0 });
        Self { size, cold, hot }
    }

    /// The next turn; none if everybody is busy. `second` is the wall clock's.
    pub(crate) fn next(&mut self, random: &mut Random, second: i64) -> Option<Turn> {
        let hot = random.percent(self.size.hot_share);
        let (first, other) = if hot { (&mut self.hot, &mut self.cold) } else { (&mut self.cold, &mut self.hot) };
        first.next(random, second).or_else(|| other.next(random, second))
    }

    /// Somebody has finished a turn, and was asked something in it or not.
    pub(crate) fn finished(&mut self, person: Person, asked: Option<Question>) {
        let crowd = self.crowd(person);
        match asked {
            Some(question) => crowd.asked.push_back((person, question, Instant::now())),
            None => drop(crowd.taken.remove(&person.number)),
        }
    }

    /// What was answered in a turn was not what had to be: nobody knows where this person stands.
    pub(crate) fn failed(&mut self, person: Person) {
        self.crowd(person).replace(person);
    }

    fn crowd(&mut self, person: Person) -> &mut Crowd {
        if person.hot { &mut self.hot } else { &mut self.cold }
    }
}

impl Crowd {
    fn next(&mut self, random: &mut Random, second: i64) -> Option<Turn> {
        while let Some((person, ..)) = self.asked.front().filter(|(.., since)| since.elapsed() > FORGOTTEN).cloned() {
            self.asked.pop_front();
            self.replace(person);
        }
        // People answer before they say something new. With nobody else left, also within the same second.
        if self.asked.front().is_some_and(|(_, question, _)| second > question.second) {
            return self.answer();
        }
        match self.idle(random) {
            Some(person) => {
                self.taken.insert(person.number);
                Some(Turn { person, answers: None })
            }
            None => self.answer(),
        }
    }

    fn answer(&mut self) -> Option<Turn> {
        let (person, question, _) = self.asked.pop_front()?;
        Some(Turn { person, answers: Some(question) })
    }

    fn idle(&self, random: &mut Random) -> Option<Person> {
        if self.taken.len() >= usize::try_from(self.places).unwrap_or(usize::MAX) {
            return None;
        }
        let draw = |random: &mut Random| u32::try_from(random.below(self.places.into())).unwrap_or(0);
        let number = |place: u32| self.first + place * self.step;
        let free = |place: &u32| !self.taken.contains(&number(*place));
        let drawn = (0..DRAWS).map(|_| draw(random)).find(free);
        let from = draw(random);
        let place = drawn.or_else(|| (from..self.places).chain(0..from).find(free))?;
        let generation = self.generations.get(&number(place)).copied().unwrap_or(0);
        Some(Person { hot: self.hot, number: number(place), generation })
    }

    fn replace(&mut self, person: Person) {
        self.generations.insert(person.number, person.generation + 1);
        self.taken.remove(&person.number);
    }
}

/// Names of one run: no other run has used them, so that one database can be measured twice.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    run: String,
    conversations: u32,
    people: u32,
}

impl Names {
    /// The names of a run.
    pub(crate) fn new(run: &str, size: Size) -> Self {
        let people = size.conversations.max(size.at_once);
        Self { run: run.to_owned(), conversations: size.conversations, people }
    }

    /// What begins the name of everything in this run.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// The conversation in which somebody is.
    pub(crate) fn conversation(&self, person: Person) -> String {
        if person.hot {
            format!("load-{}-hot", self.run)
        } else {
            format!("load-{}-{}", self.run, person.number % self.conversations)
        }
    }

    /// Somebody.
    pub(crate) fn actor(&self, person: Person) -> String {
        let temperature = if person.hot { "hot-" } else { "" };
        format!("load-{}-{temperature}{}.{}", self.run, person.number, person.generation)
    }

    /// Whether nobody else asks anything in somebody's conversation: only then can a bare answer mean one thing.
    pub(crate) fn is_alone(&self, person: Person) -> bool {
        !person.hot && self.conversations >= self.people
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { conversations: 10, at_once: 4, hot_share: 50, threads: 1 };

    fn asked(second: i64) -> Question {
        Question { second, ..Question::default() }
    }

    #[test]
    fn nobody_is_in_two_turns_at_once() {
        let (mut cast, mut random) = (Cast::new(SIZE, 0), Random::new(1));
        let people: Vec<Person> = std::iter::from_fn(|| cast.next(&mut random, 0)).map(|turn| turn.person).collect();
        assert_eq!(people.len(), 14);
        assert!(people.iter().enumerate().all(|(at, person)| !people[..at].contains(person)));
        cast.finished(people[3], None);
        assert_eq!(cast.next(&mut random, 0).unwrap().person, people[3]);
        assert!(cast.next(&mut random, 0).is_none());
    }

    #[test]
    fn who_was_asked_answers_in_a_later_second_or_when_nobody_else_is_left() {
        let size = Size { conversations: 2, at_once: 2, hot_share: 0, threads: 1 };
        let (mut cast, mut random) = (Cast::new(size, 0), Random::new(1));
        let first = cast.next(&mut random, 7).unwrap().person;
        cast.finished(first, Some(asked(7)));
        let second = cast.next(&mut random, 7).unwrap();
        assert!(second.answers.is_none() && second.person != first);
        let third = cast.next(&mut random, 7).unwrap();
        assert!(third.answers.is_some() && third.person == first);
        cast.finished(first, Some(asked(7)));
        cast.finished(second.person, None);
        assert!(cast.next(&mut random, 8).unwrap().answers.is_some());
    }

    #[test]
    fn whoever_failed_is_replaced() {
        let size = Size { conversations: 1, at_once: 1, hot_share: 0, threads: 1 };
        let (mut cast, mut random) = (Cast::new(size, 0), Random::new(1));
        let person = cast.next(&mut random, 0).unwrap().person;
        cast.failed(person);
        let next = cast.next(&mut random, 0).unwrap().person;
        assert_eq!((next.number, next.generation), (person.number, 1));
        let names = Names::new("r", size);
        assert_ne!(names.actor(person), names.actor(next));
        assert_eq!(names.conversation(person), names.conversation(next));
    }

    #[test]
    fn threads_share_the_people_out() {
        let size = Size { conversations: 10, at_once: 4, hot_share: 0, threads: 3 };
        let mut numbers = Vec::new();
        for thread in 0..3 {
            let (mut cast, mut random) = (Cast::new(size, thread), Random::new(1));
            numbers.extend(std::iter::from_fn(|| cast.next(&mut random, 0)).map(|turn| turn.person.number));
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn the_hot_conversation_gets_its_share() {
        let size = Size { conversations: 1_000, at_once: 4, hot_share: 30, threads: 1 };
        let (mut cast, mut random, mut hot) = (Cast::new(size, 0), Random::new(1), 0);
        for _ in 0..10_000 {
            let person = cast.next(&mut random, 0).unwrap().person;
            hot += u32::from(person.hot);
            cast.finished(person, None);
        }
        assert!((2_800..3_200).contains(&hot), "{hot}");
    }

    #[test]
    fn a_bare_answer_needs_a_conversation_of_ones_own() {
        let person = Person { hot: false, number: 3, generation: 0 };
        assert!(Names::new("r", SIZE).is_alone(person));
        assert!(!Names::new("r", SIZE).is_alone(Person { hot: true, ..person }));
        let crowded = Size { conversations: 2, ..SIZE };
        assert!(!Names::new("r", crowded).is_alone(person));
        assert_eq!(Names::new("r", crowded).conversation(person), "load-r-1");
    }
}
