-- The core: tenants, credentials, streams, current state, the evidence log.
--
-- Every primary key begins with tenant_id and no statement joins across tenants. Times are microseconds since the
-- epoch, bound by the program: no statement reads a clock. Current state is a JSON body with the columns that are
-- searched by beside it. Tables with large rows keep their rowid: appended in the order of arrival they touch the
-- fewest pages, and a body next to a key in the tree would spill to a page of its own. Personal data stands only in columns that can be erased; log_entries holds none.

CREATE TABLE tenants (
    tenant_id   TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    policy_pack TEXT,
    key         BLOB    NOT NULL CHECK (length(key) = 32),
    enabled     INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    tenant_id    TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    digest       BLOB    NOT NULL CHECK (length(digest) = 32),
    kind         TEXT    NOT NULL CHECK (kind IN ('handler', 'operator', 'auditor', 'agent', 'admin')),
    scopes       TEXT    NOT NULL,
    principal_id TEXT,
    label        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    revoked_at   INTEGER,
    PRIMARY KEY (tenant_id, key_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX api_keys_by_digest ON api_keys (digest);

-- One lock and one hash chain each.
CREATE TABLE streams (
    tenant_id TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('conversation', 'principal', 'access')),
    key       TEXT    NOT NULL,
    stream_id TEXT    NOT NULL,
    seq       INTEGER NOT NULL CHECK (seq >= 0),
    head_hash BLOB    NOT NULL CHECK (length(head_hash) = 32),
    last_at   INTEGER,
    PRIMARY KEY (tenant_id, kind, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX streams_by_id ON streams (tenant_id, stream_id);

CREATE TABLE conversations (
    tenant_id       TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    body            TEXT NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE contexts (
    tenant_id       TEXT    NOT NULL,
    context_id      TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    actor_id        TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('active', 'pending', 'blocked', 'expired', 'closed')),
    expires_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    body            TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, context_id)
) STRICT;
-- One open context per (tenant, conversation, actor): the database keeps what the decision promises.
CREATE UNIQUE INDEX contexts_open ON contexts (tenant_id, conversation_id, actor_id)
    WHERE status IN ('active', 'pending', 'blocked');
CREATE INDEX contexts_by_conversation ON contexts (tenant_id, conversation_id, updated_at, context_id);
CREATE INDEX contexts_by_actor ON contexts (tenant_id, actor_id, updated_at, context_id);
CREATE INDEX contexts_by_change ON contexts (tenant_id, updated_at, context_id);
CREATE INDEX contexts_due ON contexts (expires_at) WHERE status IN ('active', 'pending', 'blocked');

CREATE TABLE items (
    tenant_id       TEXT    NOT NULL,
    item_id         TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('confirmation', 'approval', 'disambiguation')),
    state           TEXT    NOT NULL
        CHECK (state IN ('open', 'granted', 'refused', 'selected', 'spent', 'expired', 'voided')),
    context_id      TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    actor_id        TEXT    NOT NULL,
    identity_epoch  INTEGER NOT NULL,
    command_id      TEXT,
    asked_at        INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    nonce_digest    BLOB    NOT NULL CHECK (length(nonce_digest) = 32),
    body            TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, item_id)
) STRICT;
CREATE UNIQUE INDEX items_by_nonce ON items (tenant_id, nonce_digest);
CREATE INDEX items_live ON items (tenant_id, conversation_id) WHERE state IN ('open', 'granted');
CREATE INDEX items_by_context ON items (tenant_id, context_id, asked_at, item_id);
CREATE INDEX items_by_command ON items (tenant_id, command_id) WHERE command_id IS NOT NULL;
CREATE INDEX items_by_kind ON items (tenant_id, kind, asked_at, item_id);
CREATE INDEX items_by_actor ON items (tenant_id, actor_id) WHERE state = 'open';
CREATE INDEX items_due ON items (expires_at) WHERE state = 'open';

-- Which item a quoted message names.
CREATE TABLE item_prompts (
    tenant_id  TEXT NOT NULL,
    message_id TEXT NOT NULL,
    item_id    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE commands (
    tenant_id       TEXT    NOT NULL,
    command_id      TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    context_id      TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    updated_at      INTEGER NOT NULL,
    body            TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, command_id)
) STRICT;
CREATE UNIQUE INDEX commands_by_key ON commands (tenant_id, idempotency_key);
CREATE INDEX commands_by_context ON commands (tenant_id, context_id, updated_at);

-- What is kept of messages; also the dedupe rows. The key is keyed, because a wamid contains a phone number.
CREATE TABLE messages (
    tenant_id       TEXT    NOT NULL,
    message_key     BLOB    NOT NULL CHECK (length(message_key) = 32),
    conversation_id TEXT    NOT NULL,
    keep_until      INTEGER NOT NULL,
    body            TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, message_key)
) STRICT;
CREATE INDEX messages_by_age ON messages (keep_until);

CREATE TABLE principals (
    tenant_id      TEXT    NOT NULL,
    principal_id   TEXT    NOT NULL,
    person_id      TEXT,
    identity_epoch INTEGER NOT NULL,
    body           TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, principal_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX principals_by_person ON principals (tenant_id, person_id) WHERE person_id IS NOT NULL;

CREATE TABLE principal_aliases (
    tenant_id    TEXT NOT NULL,
    kind         TEXT NOT NULL,
    value        TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, kind, value, principal_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX principal_aliases_by_principal ON principal_aliases (tenant_id, principal_id);

CREATE TABLE principal_roles (
    tenant_id    TEXT NOT NULL,
    role         TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, role, principal_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX principal_roles_by_principal ON principal_roles (tenant_id, principal_id);

CREATE TABLE frames (
    tenant_id        TEXT    NOT NULL,
    context_frame_id TEXT    NOT NULL,
    context_id       TEXT    NOT NULL,
    command_id       TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    body             TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, context_frame_id)
) STRICT;

-- What was answered to requests with an Idempotency-Key.
CREATE TABLE claims (
    tenant_id  TEXT    NOT NULL,
    claim_key  BLOB    NOT NULL CHECK (length(claim_key) = 32),
    expires_at INTEGER NOT NULL,
    body       TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, claim_key)
) STRICT;
CREATE INDEX claims_by_age ON claims (expires_at);

-- The part of the evidence log that stays for ever.
CREATE TABLE log_entries (
    tenant_id          TEXT    NOT NULL,
    stream_id          TEXT    NOT NULL,
    seq                INTEGER NOT NULL CHECK (seq > 0),
    v                  INTEGER NOT NULL,
    artifact_id        TEXT    NOT NULL,
    type               TEXT    NOT NULL,
    at                 INTEGER NOT NULL,
    policy_hash        TEXT    NOT NULL,
    payload_commitment BLOB    NOT NULL CHECK (length(payload_commitment) = 32),
    prev_hash          BLOB    NOT NULL CHECK (length(prev_hash) = 32),
    entry_hash         BLOB    NOT NULL CHECK (length(entry_hash) = 32),
    PRIMARY KEY (tenant_id, stream_id, seq)
) STRICT;
CREATE UNIQUE INDEX log_entries_by_artifact ON log_entries (tenant_id, artifact_id);
CREATE INDEX log_entries_by_time ON log_entries (tenant_id, at, stream_id, seq);

-- The part that can be erased: the payload, its salt, and what an auditor searches by.
CREATE TABLE log_payloads (
    tenant_id       TEXT    NOT NULL,
    stream_id       TEXT    NOT NULL,
    seq             INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    conversation_id TEXT,
    context_id      TEXT,
    command_id      TEXT,
    correlation_id  TEXT,
    salt            BLOB    NOT NULL CHECK (length(salt) = 32),
    payload         TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, stream_id, seq)
) STRICT;
CREATE INDEX log_payloads_by_conversation ON log_payloads (tenant_id, conversation_id, at, stream_id, seq)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX log_payloads_by_context ON log_payloads (tenant_id, context_id, at, stream_id, seq)
    WHERE context_id IS NOT NULL;
CREATE INDEX log_payloads_by_command ON log_payloads (tenant_id, command_id, at, stream_id, seq)
    WHERE command_id IS NOT NULL;
CREATE INDEX log_payloads_by_correlation ON log_payloads (tenant_id, correlation_id, at, stream_id, seq)
    WHERE correlation_id IS NOT NULL;
