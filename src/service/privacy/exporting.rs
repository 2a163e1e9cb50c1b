//! Exports everything that is stored about a person, page by page.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::going::Fading;
use super::super::recording::{Looked, Unrecorded};
use super::super::{Caller, Service, ServiceError};
use super::Selector;
use super::subject::Subject;
use crate::evidence::artifact::without_secrets;
use crate::storage::{Found, Place, Table};

/// Records searched for one page. This limits the time of a page, which may be empty.
const LOOKED_AT: u32 = 1_000;

/// The order of tables in an export.
const ORDER: [Table; 9] = [
    Table::Principals,
    Table::Contexts,
    Table::Items,
    Table::Commands,
    Table::Frames,
    Table::Messages,
    Table::SpaceRecords,
    Table::Claims,
    Table::LogPayloads,
];

/// Where a page begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportPlace {
    table: usize,
    after: Option<Place>,
}

/// A record about the person.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exported {
    pub kind: &'static str,
    /// The record, without secrets of the server.
    pub record: Value,
}

/// A page of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    pub items: Vec<Exported>,
    /// Where the next page begins; none at the end.
    pub next: Option<ExportPlace>,
}

impl Service {
    /// Everything that is stored about a person, page by page, in bounded memory.
    pub async fn export_subject(
        &self,
        caller: &Caller,
        selector: &Selector,
        from: ExportPlace,
    ) -> Result<Unrecorded<Export>, ServiceError> {
        let page = self.export_page(caller, selector, from).await?;
        let people = self.people_named(caller, selector).await?;
        let looked = Looked { records: page.items.len(), ..Looked::at("privacy.export", people) };
        Ok(Unrecorded::new(page, looked))
    }

    async fn export_page(
        &self,
        caller: &Caller,
        selector: &Selector,
        from: ExportPlace,
    ) -> Result<Export, ServiceError> {
        let tenant_id = &caller.tenant.tenant_id;
        let subject = self.subject(tenant_id, selector).await?;
        let Some(table) = ORDER.get(from.table).copied() else { return Ok(Export { items: Vec::new(), next: None }) };
        let needles = subject.identifiers.needles();
        if needles.is_empty() {
            return Ok(Export { items: Vec::new(), next: None });
        }
        let fading = Fading::of(self.store.as_ref(), tenant_id).await?;
        let page = self.store.search(tenant_id, table, &needles, from.after.as_ref(), LOOKED_AT).await?;
        let found = page.found.into_iter().filter(|found| !fading.hides(table, found));
        let items = found.filter_map(|found| exported(table, &found, &subject)).collect();
        let next = match page.next {
            Some(after) => Some(ExportPlace { table: from.table, after: Some(after) }),
            None if from.table + 1 < ORDER.len() => Some(ExportPlace { table: from.table + 1, after: None }),
            None => None,
        };
        Ok(Export { items, next })
    }
}

fn exported(table: Table, found: &Found, subject: &Subject) -> Option<Exported> {
    let record: Value = serde_json::from_str(&found.body).ok()?;
    let named = subject.identifiers.occur_in(&record) || found.place.iter().any(|part| subject.identifiers.name(part));
    named.then(|| Exported { kind: table.word(), record: without_secrets(record) })
}
