//! Statements put together from fixed texts: what a batch has nothing for is left out. The database pays for each part
//! of a statement when it begins it, whether there is work for that part or not. The texts of one statement number
//! their parameters alike, and all are bound, so that a part means the same with and without its neighbours.

/// The parts that are wanted, one after the other; none if there is none.
pub(super) fn joined(parts: &[(bool, &'static str)], between: &'static str) -> Option<String> {
    let wanted: Vec<&'static str> = parts.iter().filter(|(wanted, _)| *wanted).map(|(_, part)| *part).collect();
    (!wanted.is_empty()).then(|| wanted.join(between))
}

/// Named queries in front of a statement.
#[derive(Default)]
pub(super) struct With(String);

impl With {
    /// Adds one: its name, with columns and hints, and its text.
    pub(super) fn add(&mut self, name: &'static str, query: &str) {
        self.0.push_str(if self.0.is_empty() { "\nWITH " } else { ", " });
        self.0.push_str(name);
        self.0.push_str(" (");
        self.0.push_str(query);
        self.0.push(')');
    }

    pub(super) fn then(self, name: &'static str, query: &str) -> String {
        format!("-- postgres: {name}{}\n{query}", self.0)
    }
}
