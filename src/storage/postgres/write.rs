//! Writing, set by set, in one statement: whatever the batch's size, the database is asked once.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgRow;

use super::assembly::With;
use super::columns::Rows as _;
use super::identity;
use super::rows::number;
use super::session::Session;
use super::tables::{
    Claims, Commands, Contexts, Conversations, Entries, Frames, Heads, Items, Messages, PARTS, Payloads, Prompts,
};
use crate::domain::context::ContextRecord;
use crate::domain::event::LastQuestion;
use crate::domain::id::{CommandId, ContextId, ConversationId, CorrelationId, SpaceId, TenantId};
use crate::domain::item::{ItemState, PendingItem};
use crate::domain::principal::Principal;
use crate::domain::time::Timestamp;
use crate::evidence::entry::Appended;
use crate::storage::{Row, StorageError, StoredClaim, Writes};

/// The rows of a batch, table by table.
#[derive(Default)]
struct Batch<'a> {
    heads: Heads<'a>,
    conversations: Conversations<'a>,
    contexts: Contexts<'a>,
    items: Items<'a>,
    prompts: BTreeMap<(&'a str, &'a str), &'a str>,
    commands: Commands<'a>,
    messages: Messages<'a>,
    received: Vec<i64>,
    frames: Frames<'a>,
    entries: Entries<'a>,
    payloads: Payloads<'a>,
    claims: BTreeMap<(&'a str, &'a [u8; 32]), &'a StoredClaim>,
    principals: Vec<(&'a TenantId, &'a Principal)>,
}

/// Writes a batch. Nothing is written when one statement fails: the transaction is dropped.
pub(super) async fn write(session: &mut Session, writes: &Writes, now: Timestamp) -> Result<(), StorageError> {
    let batch = Batch::new(writes);
    let heads = writes.heads.len();
    let claims = batch.claims.len();
    let principals = batch.principals.clone();
    if let Some(sql) = batch.statement() {
        let row = session.one(batch.query(sql, now)).await?;
        expect_all(&row, heads, claims)?;
    }
    identity::write(session, &principals).await
}

/// Every head was there, and no claim was somebody else's.
fn expect_all(row: &PgRow, heads: usize, claims: usize) -> Result<(), StorageError> {
    if usize::try_from(number(row, "heads")?) != Ok(heads) {
        return Err(StorageError::Inconsistent { table: "streams", what: "a head that was locked is gone".to_owned() });
    }
    // Another process answered a request with the same key while this one was being decided.
    if usize::try_from(number(row, "claims")?) != Ok(claims) {
        return Err(StorageError::Conflict);
    }
    Ok(())
}

fn text<T: serde::Serialize>(value: &T) -> String {
    // Every stored type writes as JSON; a body that did not would be refused when it is read.
    serde_json::to_string(value).unwrap_or_default()
}

/// A count or a sequence number; none comes near the end of what fits.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl<'a> Batch<'a> {
    fn new(writes: &'a Writes) -> Self {
        let mut batch = Self::default();
        for (tenant_id, key, head) in &writes.heads {
            batch.heads.add((
                tenant_id.as_str(),
                key.kind(),
                key.key(),
                head.stream_id.as_str(),
                whole(head.seq),
                head.hash.as_bytes(),
                head.at.map(Timestamp::as_micros),
            ));
        }
        // Ended contexts come first, see the statement.
        let contexts = || writes.rows.iter().filter_map(|(tenant, row)| Some((tenant.as_str(), context(row)?)));
        for open in [false, true] {
            let wanted = contexts().filter(|(_, context)| context.state.status().is_open() == open);
            wanted.for_each(|(tenant, context)| batch.add_context(tenant, context));
        }
        for (tenant_id, row) in &writes.rows {
            batch.add_row(tenant_id, row);
        }
        for (tenant_id, key, claim) in &writes.claims {
            // The last word counts, as it does where rows are written one after the other.
            batch.claims.insert((tenant_id.as_str(), key.as_bytes()), claim);
        }
        for entry in &writes.entries {
            batch.add_entry(entry);
        }
        batch
    }

    /// The statement for the tables that there are rows for; none if there are none.
    fn statement(&self) -> Option<String> {
        let filled = [
            !self.heads.is_empty(),
            !self.conversations.is_empty(),
            !self.contexts.is_empty(),
            !self.items.is_empty(),
            !self.prompts.is_empty(),
            !self.commands.is_empty(),
            !self.messages.is_empty(),
            !self.frames.is_empty(),
            !self.entries.is_empty(),
            !self.payloads.is_empty(),
            !self.claims.is_empty(),
            !self.entries.is_empty(),
        ];
        let mut with = With::default();
        PARTS.iter().zip(filled).filter(|(_, filled)| *filled).for_each(|((name, part), _)| with.add(name, part));
        let heads = if filled[0] { "(SELECT count(*) FROM heads)" } else { "0::int8" };
        let claims = if filled[10] { "(SELECT count(*) FROM claims_written)" } else { "0::int8" };
        let counts = format!("SELECT {heads} AS heads, {claims} AS claims");
        filled.contains(&true).then(|| with.then("write.batch", &counts))
    }

    fn query(self, sql: String, now: Timestamp) -> super::session::Query<'a> {
        let (mut prompts, mut claims) = (Prompts::default(), Claims::default());
        for ((tenant, message_id), item_id) in self.prompts {
            prompts.add((tenant, message_id, item_id));
        }
        for ((tenant, key), claim) in self.claims {
            let space = claim.space_id.as_ref().map(SpaceId::as_str);
            claims.add((tenant, key, claim.expires_at.as_micros(), space, text(claim)));
        }
        let query = self.conversations.bind(self.heads.bind(sqlx::query(AssertSqlSafe(sql))));
        let query = prompts.bind(self.items.bind(self.contexts.bind(query)));
        let query = self.frames.bind(self.messages.bind(self.commands.bind(query)));
        claims.bind(self.payloads.bind(self.entries.bind(query))).bind(now.as_micros()).bind(self.received)
    }

    fn add_row(&mut self, tenant_id: &'a TenantId, row: &'a Row) {
        let tenant = tenant_id.as_str();
        match row {
            Row::Conversation(id, conversation) => {
                let last = match &conversation.last_question {
                    Some(LastQuestion::Item(item_id)) => Some(item_id.as_str()),
                    Some(LastQuestion::Other) | None => None,
                };
                self.conversations.add((tenant, id.as_str(), last, text(conversation)));
            }
            // A tombstone is made of the message that was there.
            Row::Context(_) | Row::ErasedMessage(_) => {}
            Row::Item(item) => self.add_item(tenant, item),
            Row::Command(command) => {
                let updated_at = command.results.last().map_or(command.bound_at, |result| result.at);
                self.commands.add((
                    tenant,
                    command.command_id.as_str(),
                    command.idempotency_key.as_str(),
                    command.context_id.as_str(),
                    command.conversation_id.as_str(),
                    updated_at.as_micros(),
                    text(command),
                ));
            }
            Row::Message(message) => {
                let key = message.message_key.as_bytes();
                let keep_until = message.keep_until.as_micros();
                self.messages.add((tenant, key, message.conversation_id.as_str(), keep_until, text(message)));
                self.received.push(message.received_at.as_micros());
            }
            Row::Principal(principal) => self.principals.push((tenant_id, principal)),
            Row::Frame(stored) => {
                let frame = &stored.frame;
                self.frames.add((
                    tenant,
                    frame.context_frame_id.as_str(),
                    frame.context_id.as_str(),
                    frame.command_id.as_str(),
                    frame.created_at.as_micros(),
                    text(stored),
                ));
            }
        }
    }

    fn add_context(&mut self, tenant: &'a str, context: &'a ContextRecord) {
        self.contexts.add((
            tenant,
            context.context_id.as_str(),
            context.conversation_id.as_str(),
            context.actor_id.as_str(),
            context.state.status().as_str(),
            context.expires_at.as_micros(),
            context.updated_at.as_micros(),
            text(context),
        ));
    }

    fn add_item(&mut self, tenant: &'a str, item: &'a PendingItem) {
        self.items.add((
            tenant,
            item.item_id.as_str(),
            item.kind().as_str(),
            state_column(&item.state),
            item.context_id.as_str(),
            item.conversation_id.as_str(),
            item.actor_id.as_str(),
            whole(item.identity_epoch),
            item.command().map(|command| command.command_id.as_str()),
            item.asked_at.as_micros(),
            item.expires_at.as_micros(),
            item.nonce_digest.as_bytes(),
            text(item),
        ));
        for message_id in item.prompts.iter().filter_map(|prompt| prompt.message_id.as_ref()) {
            self.prompts.entry((tenant, message_id.as_str())).or_insert(item.item_id.as_str());
        }
    }

    fn add_entry(&mut self, Appended { entry, about }: &'a Appended) {
        let header = &entry.header;
        let (tenant, stream) = (header.tenant_id.as_str(), header.stream_id.as_str());
        let (seq, at) = (whole(header.seq), header.at.as_micros());
        self.entries.add((
            tenant,
            stream,
            seq,
            i64::from(header.v),
            header.artifact_id.as_str(),
            &header.kind,
            at,
            &header.policy_hash,
            entry.payload_commitment.as_bytes(),
            entry.prev_hash.as_bytes(),
            entry.entry_hash.as_bytes(),
        ));
        let Some(body) = &entry.body else { return };
        self.payloads.add((
            tenant,
            stream,
            seq,
            at,
            about.conversation_id.as_ref().map(ConversationId::as_str),
            about.context_id.as_ref().map(ContextId::as_str),
            about.command_id.as_ref().map(CommandId::as_str),
            about.correlation_id.as_ref().map(CorrelationId::as_str),
            about.space_id.as_ref().map(SpaceId::as_str),
            about.of_fact(),
            body.salt.as_bytes(),
            &body.payload,
        ));
    }
}

fn context(row: &Row) -> Option<&ContextRecord> {
    match row {
        Row::Context(context) => Some(context),
        _ => None,
    }
}

/// The word by which an item's state is searched.
fn state_column(state: &ItemState) -> &'static str {
    match state {
        ItemState::Open => "open",
        ItemState::Granted { .. } => "granted",
        ItemState::Refused { .. } => "refused",
        ItemState::Selected { .. } => "selected",
        ItemState::Spent { .. } => "spent",
        ItemState::Expired { .. } => "expired",
        ItemState::Voided { .. } => "voided",
    }
}
