//! The rows of a batch, by table.

use std::collections::{BTreeMap, HashMap};

use super::live_row::{last_item, state_word, updated_at};
use super::sql::{Rows, Scalar, Statement, Value};
use super::write_parts::{
    ALIASES, ATTEMPTS, CHANGED_COMMANDS, CHANGED_ITEMS, CLAIMS, COMMANDS, CONTEXTS, CONVERSATIONS, ENTRIES,
    FORMER_ALIASES, FORMER_ROLES, FRAMES, HEADS, ITEMS, MESSAGES, OUTBOX, PAYLOADS, PRINCIPALS, PROMPTS, Part, ROLES,
};
use super::{Filed, Row, Writes};
use crate::domain::context::ContextRecord;
use crate::domain::id::{PersonId, SpaceId, TenantId};
use crate::domain::item::PendingItem;
use crate::domain::principal::Principal;
use crate::evidence::entry::Appended;

/// The rows of each part.
#[derive(Default)]
pub(super) struct Batch(HashMap<&'static str, Rows>);

impl Batch {
    pub(super) fn of(writes: &Writes) -> Self {
        let mut batch = Self::default();
        for (tenant_id, key, head) in &writes.heads {
            batch.add(
                &HEADS,
                [
                    tenant_id.as_str().into(),
                    key.kind().into(),
                    key.key().into(),
                    head.stream_id.as_str().into(),
                    head.seq.into(),
                    (&head.hash).into(),
                    head.at.into(),
                ],
            );
        }
        let rows = || writes.new_rows.iter().chain(&writes.rewritten).chain(&writes.rows);
        for open in [false, true] {
            for (tenant_id, row) in rows() {
                if let Row::Context(context) = row
                    && context.state.status().is_open() == open
                {
                    batch.add_context(tenant_id, context);
                }
            }
        }
        writes.new_rows.iter().chain(&writes.rewritten).for_each(|(tenant_id, row)| batch.add_row(tenant_id, row));
        writes.rows.iter().for_each(|(tenant_id, row)| batch.change_row(tenant_id, row));
        // The last claim of a key counts, as it would if rows were written one after the other.
        let claims: BTreeMap<_, _> = writes.claims.iter().map(|(tenant, key, of)| ((tenant, key), of)).collect();
        for ((tenant_id, key), claim) in claims {
            let space = claim.space_id.as_ref().map(SpaceId::as_str);
            let (expires_at, body) = (claim.expires_at.into(), json(claim));
            batch.add(&CLAIMS, [tenant_id.as_str().into(), key.into(), expires_at, space.into(), body]);
        }
        writes.entries.iter().for_each(|entry| batch.add_entry(entry));
        batch
    }

    /// The rows of a part, and how many there are; none if there are none.
    pub(super) fn take(&mut self, part: &Part) -> Option<(Value, usize)> {
        self.0.remove(part.name).map(|rows| (rows.len(), rows)).map(|(len, rows)| (Value::Rows(rows), len))
    }

    /// The statement of a part alone, and the number of its rows; none if there are none.
    pub(super) fn statement(&mut self, part: &Part) -> Option<(Statement, usize)> {
        let (rows, number) = self.take(part)?;
        Some((Statement::new(part.name, part.text()).bind(part.name, rows), number))
    }

    fn add<const N: usize>(&mut self, part: &'static Part, row: [Scalar; N]) {
        self.0.entry(part.name).or_insert_with(|| Rows::new(part.columns)).add(row);
    }

    /// A changed row. Rows other than items and commands may also be new: the lock of their stream protects them.
    fn change_row(&mut self, tenant_id: &TenantId, row: &Row) {
        let tenant = tenant_id.as_str().into();
        match row {
            Row::Item(item) => {
                let state = state_word(&item.state).into();
                self.add(&CHANGED_ITEMS, [tenant, item.item_id.as_str().into(), state, json(item)]);
            }
            Row::Command(command) => {
                let (id, unknown_from) = (command.command_id.as_str().into(), command.unknown_from().into());
                let row = [tenant, id, updated_at(command).into(), json(command), unknown_from];
                self.add(&CHANGED_COMMANDS, row);
            }
            _ => self.add_row(tenant_id, row),
        }
    }

    fn add_row(&mut self, tenant_id: &TenantId, row: &Row) {
        let tenant = tenant_id.as_str().into();
        match row {
            Row::Conversation(id, conversation) => {
                let last = last_item(conversation).into();
                self.add(&CONVERSATIONS, [tenant, id.as_str().into(), last, json(conversation)]);
            }
            // Contexts have an order of their own; a tombstone is made from the stored message.
            Row::Context(_) | Row::ErasedMessage(_) => {}
            Row::Item(item) => self.add_item(tenant, item),
            Row::Command(command) => {
                let row = [
                    tenant,
                    command.command_id.as_str().into(),
                    command.idempotency_key.as_str().into(),
                    command.context_id.as_str().into(),
                    command.conversation_id.as_str().into(),
                    updated_at(command).into(),
                    json(command),
                    command.unknown_from().into(),
                ];
                self.add(&COMMANDS, row);
            }
            Row::Attempt(id, command_id) => {
                self.add(&ATTEMPTS, [tenant, id.as_str().into(), command_id.as_str().into()]);
            }
            Row::Prompt(message_id, item_id) => {
                self.add(&PROMPTS, [tenant, message_id.as_str().into(), item_id.as_str().into()]);
            }
            Row::Message(message) => {
                let row = [
                    tenant,
                    (&message.message_key).into(),
                    message.conversation_id.as_str().into(),
                    message.keep_until.into(),
                    json(message),
                    message.received_at.into(),
                ];
                self.add(&MESSAGES, row);
            }
            Row::Principal(principal) => self.add_principal(tenant_id, principal),
            Row::Frame(stored) => {
                let frame = &stored.frame;
                let row = [
                    tenant,
                    frame.context_frame_id.as_str().into(),
                    frame.context_id.as_str().into(),
                    frame.command_id.as_str().into(),
                    frame.created_at.into(),
                    json(stored),
                ];
                self.add(&FRAMES, row);
            }
        }
    }

    fn add_context(&mut self, tenant_id: &TenantId, context: &ContextRecord) {
        let row = [
            tenant_id.as_str().into(),
            context.context_id.as_str().into(),
            context.conversation_id.as_str().into(),
            context.actor_id.as_str().into(),
            context.state.status().as_str().into(),
            context.expires_at.into(),
            context.updated_at.into(),
            json(context),
        ];
        self.add(&CONTEXTS, row);
    }

    fn add_item(&mut self, tenant: Scalar, item: &PendingItem) {
        let row = [
            tenant,
            item.item_id.as_str().into(),
            item.kind().as_str().into(),
            state_word(&item.state).into(),
            item.context_id.as_str().into(),
            item.conversation_id.as_str().into(),
            item.actor_id.as_str().into(),
            item.identity_epoch.into(),
            item.command().map(|command| command.command_id.as_str()).into(),
            item.asked_at.into(),
            item.expires_at.into(),
            (&item.nonce_digest).into(),
            json(item),
        ];
        self.add(&ITEMS, row);
    }

    fn add_principal(&mut self, tenant_id: &TenantId, principal: &Principal) {
        let [tenant, id] = [tenant_id.as_str(), principal.principal_id.as_str()];
        let person = principal.person_id.as_ref().map(PersonId::as_str);
        let epoch = principal.identity_epoch.into();
        self.add(&PRINCIPALS, [tenant.into(), id.into(), person.into(), epoch, json(principal)]);
        self.add(&FORMER_ALIASES, [tenant.into(), id.into()]);
        self.add(&FORMER_ROLES, [tenant.into(), id.into()]);
        for alias in &principal.aliases {
            let kind = serde_json::to_value(alias.kind).unwrap_or_default();
            self.add(&ALIASES, [tenant.into(), kind.as_str().into(), alias.value.as_str().into(), id.into()]);
        }
        for role in &principal.roles {
            self.add(&ROLES, [tenant.into(), role.as_str().into(), id.into()]);
        }
    }

    fn add_entry(&mut self, Appended { entry, about }: &Appended) {
        let header = &entry.header;
        let [tenant, stream] = [header.tenant_id.as_str(), header.stream_id.as_str()];
        let row = [
            tenant.into(),
            stream.into(),
            header.seq.into(),
            header.v.into(),
            header.artifact_id.as_str().into(),
            header.kind.as_str().into(),
            header.at.into(),
            header.policy_hash.as_str().into(),
            (&entry.payload_commitment).into(),
            (&entry.prev_hash).into(),
            (&entry.entry_hash).into(),
        ];
        self.add(&ENTRIES, row);
        self.add(&OUTBOX, [tenant.into(), stream.into(), header.seq.into(), (&entry.entry_hash).into()]);
        let Some(body) = &entry.body else { return };
        let filed = Filed::of(header, about);
        let row = [
            tenant.into(),
            stream.into(),
            header.seq.into(),
            filed.at.into(),
            filed.conversation_id.into(),
            filed.context_id.into(),
            filed.command_id.into(),
            filed.correlation_id.into(),
            filed.space_id.into(),
            filed.fact_uid.into(),
            (&body.salt).into(),
            body.payload.as_str().into(),
        ];
        self.add(&PAYLOADS, row);
    }
}

fn json<T: serde::Serialize>(value: &T) -> Scalar {
    // Serialization cannot fail; an empty body would be refused when it is read.
    serde_json::to_string(value).unwrap_or_default().into()
}
