//! Assembles statements from fixed texts and leaves out the parts that a batch has no rows for: PostgreSQL spends time
//! on each part when it starts a statement, even without rows. All parts number their parameters alike and all
//! parameters are bound, so a part means the same with and without the others.

/// The wanted parts, one after the other; none if there is none.
pub(super) fn joined(parts: &[(bool, &'static str)], between: &'static str) -> Option<String> {
    let wanted: Vec<&'static str> = parts.iter().filter(|(wanted, _)| *wanted).map(|(_, part)| *part).collect();
    (!wanted.is_empty()).then(|| wanted.join(between))
}

/// Named queries in front of a statement.
#[derive(Default)]
pub(super) struct With(String);

impl With {
    /// Adds a query: its name, with columns and hints, and its text.
    pub(super) fn add(&mut self, name: &str, query: &str) {
        self.0.push_str(if self.0.is_empty() { "\nWITH " } else { ", " });
        self.0.push_str(name);
        self.0.push_str(" (");
        self.0.push_str(query);
        self.0.push(')');
    }

    pub(super) fn then(self, query: &str) -> String {
        format!("{}\n{query}", self.0)
    }
}
