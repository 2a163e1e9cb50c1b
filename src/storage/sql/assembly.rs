//! Assembles statements from fixed texts and leaves out the parts that a batch has no rows for: a database spends time
//! on each part when it starts a statement, even without rows.

/// Named queries in front of a statement.
#[derive(Default)]
pub(in crate::storage) struct With(String);

impl With {
    /// Adds a query: its name, with columns and hints, and its text.
    pub(in crate::storage) fn add(&mut self, name: &str, query: &str) {
        self.0.push_str(if self.0.is_empty() { "WITH " } else { ", " });
        self.0.push_str(name);
        self.0.push_str(" (");
        self.0.push_str(query);
        self.0.push(')');
    }

    pub(in crate::storage) fn then(self, query: &str) -> String {
        format!("{}\n{query}", self.0)
    }
}
