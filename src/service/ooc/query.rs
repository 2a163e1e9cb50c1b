//! The queries: one table.

use crate::domain::id::{CommandId, ContextId, ConversationId, PrincipalId};
use crate::domain::policy::DetailLevel;

/// What an operator may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// What is this conversation waiting for?
    ShowActiveContext,
    /// Why did the bot do that?
    ExplainCommand,
    /// Which questions are open?
    ListPending,
    /// Which contexts are blocked?
    ListBlocked,
    /// Which bound commands have no report?
    ListUnreported,
    ShowHistory,
}

/// The subject that a query requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryNeeds {
    /// A conversation or a context.
    Place,
    Command,
    /// A conversation, a context or a command.
    Something,
    /// None: without a conversation it covers all of them.
    Nothing,
}

impl QueryNeeds {
    /// The missing parameter, as an error message names it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Place => "conversation_id or context_id",
            Self::Command => "command_id",
            Self::Something => "conversation_id, context_id or command_id",
            Self::Nothing => "nothing",
        }
    }
}

pub(super) struct Row {
    query: Query,
    pub(super) name: &'static str,
    needs: QueryNeeds,
    /// The lowest level that may ask it.
    pub(super) least: DetailLevel,
}

const TABLE: [Row; 6] = [
    Row {
        query: Query::ShowActiveContext,
        name: "show active context",
        needs: QueryNeeds::Place,
        least: DetailLevel::Summary,
    },
    Row {
        query: Query::ExplainCommand,
        name: "explain command",
        needs: QueryNeeds::Command,
        least: DetailLevel::Standard,
    },
    Row { query: Query::ListPending, name: "list pending", needs: QueryNeeds::Nothing, least: DetailLevel::Summary },
    Row { query: Query::ListBlocked, name: "list blocked", needs: QueryNeeds::Nothing, least: DetailLevel::Summary },
    Row {
        query: Query::ListUnreported,
        name: "list unreported",
        needs: QueryNeeds::Nothing,
        least: DetailLevel::Standard,
    },
    Row { query: Query::ShowHistory, name: "show history", needs: QueryNeeds::Something, least: DetailLevel::Standard },
];

impl Query {
    /// Parses a query's name, ignoring case, spaces and underscores.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<String> = text
            .split(|c: char| c == '_' || c.is_whitespace())
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect();
        let typed = words.join(" ");
        TABLE.iter().find(|row| row.name == typed).map(|row| row.query)
    }

    /// Every name, as people type it.
    #[must_use]
    pub fn names() -> [&'static str; TABLE.len()] {
        TABLE.map(|row| row.name)
    }

    pub(super) fn row(self) -> &'static Row {
        // Every query has a row; the test below keeps it so.
        TABLE.iter().find(|row| row.query == self).unwrap_or(&TABLE[0])
    }
}

/// A query with its subject.
#[derive(Debug, Clone, PartialEq)]
pub struct OocRequest {
    pub query: Query,
    pub conversation_id: Option<ConversationId>,
    pub context_id: Option<ContextId>,
    pub command_id: Option<CommandId>,
    pub viewer_id: Option<PrincipalId>,
    /// The language of the answer.
    pub locale: Option<String>,
}

impl OocRequest {
    /// The required parameter that the request lacks.
    #[must_use]
    pub fn missing(&self) -> Option<QueryNeeds> {
        let needs = self.query.row().needs;
        let place = self.conversation_id.is_some() || self.context_id.is_some();
        let met = match needs {
            QueryNeeds::Place => place,
            QueryNeeds::Command => self.command_id.is_some(),
            QueryNeeds::Something => place || self.command_id.is_some(),
            QueryNeeds::Nothing => true,
        };
        (!met).then_some(needs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_is_found_by_its_name_however_it_is_typed() {
        for row in &TABLE {
            assert_eq!(row.query.row().name, row.name);
            assert_eq!(Query::parse(row.name), Some(row.query));
            assert_eq!(Query::parse(&row.name.replace(' ', "_")), Some(row.query));
            assert_eq!(Query::parse(&format!("  {} ", row.name.to_uppercase().replace(' ', "  "))), Some(row.query));
        }
        for unknown in ["", "show", "show active context please", "drop table"] {
            assert_eq!(Query::parse(unknown), None);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut request = OocRequest {
            query: Query::ExplainCommand,
            conversation_id: ConversationId::new("c").ok(),
            context_id: None,
            command_id: None,
            viewer_id: None,
            locale: None,
        };
        assert_eq!(request.missing().map(QueryNeeds::words), Some("command_id"));
        request.query = Query::ShowActiveContext;
        assert_eq!(request.missing(), None);
        request.conversation_id = None;
        assert_eq!(request.missing(), Some(QueryNeeds::Place));
        request.query = Query::ListPending;
        assert_eq!(request.missing(), None);
    }
}
