-- The core: tenants, credentials, streams, current state, the evidence log.
--
-- Every primary key begins with tenant_id and no statement joins across tenants. Times are microseconds since the
-- epoch, bound by the program: no statement of a decision reads a clock by itself. Current state is a JSON body with
-- the columns that are searched by beside it; a body is text, because its bytes are the program's and are not to be
-- put in another order. Names compare byte by byte (COLLATE "C"): lists have the same order on every machine, and an
-- index does not change its meaning when the system's locale does. Pages of rows that are changed in place keep room
-- for the next version (fillfactor), so that a change that touches no index stays on its page. Personal data stands
-- only in columns that can be erased; log_entries holds none.

CREATE TABLE tenants (
    tenant_id   TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    policy_pack TEXT COLLATE "C",
    key         BYTEA NOT NULL CHECK (length(key) = 32),
    enabled     BOOLEAN NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (tenant_id)
);

CREATE TABLE api_keys (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    digest       BYTEA NOT NULL CHECK (length(digest) = 32),
    kind         TEXT COLLATE "C" NOT NULL CHECK (kind IN ('handler', 'operator', 'auditor', 'agent', 'admin')),
    scopes       TEXT COLLATE "C" NOT NULL,
    principal_id TEXT COLLATE "C",
    label        TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    revoked_at   BIGINT,
    PRIMARY KEY (tenant_id, key_id)
);
CREATE UNIQUE INDEX api_keys_by_digest ON api_keys (digest);

-- One lock and one hash chain each. The row of a stream without entries is there to be locked: it has no id yet.
CREATE TABLE streams (
    tenant_id TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL CHECK (kind IN ('conversation', 'principal', 'access')),
    key       TEXT COLLATE "C" NOT NULL,
    stream_id TEXT COLLATE "C",
    seq       BIGINT NOT NULL CHECK (seq >= 0),
    head_hash BYTEA CHECK (length(head_hash) = 32),
    last_at   BIGINT,
    PRIMARY KEY (tenant_id, kind, key),
    CHECK ((stream_id IS NULL) = (head_hash IS NULL))
) WITH (fillfactor = 75);
CREATE UNIQUE INDEX streams_by_id ON streams (tenant_id, stream_id);

-- The item asked last has a column of its own: a load finds it without reading the body.
CREATE TABLE conversations (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    last_item_id    TEXT COLLATE "C",
    body            TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id)
) WITH (fillfactor = 75);

-- Indexes ask for `open`, not for the status: between active and pending no index changes.
CREATE TABLE contexts (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    context_id      TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    actor_id        TEXT COLLATE "C" NOT NULL,
    status          TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'pending', 'blocked', 'expired', 'closed')),
    open            BOOLEAN NOT NULL GENERATED ALWAYS AS (status IN ('active', 'pending', 'blocked')) STORED,
    expires_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    body            TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, context_id)
) WITH (fillfactor = 75);
-- One open context per (tenant, conversation, actor): the database keeps what the decision promises.
CREATE UNIQUE INDEX contexts_open ON contexts (tenant_id, conversation_id, actor_id) WHERE open;
CREATE INDEX contexts_by_conversation ON contexts (tenant_id, conversation_id, updated_at, context_id);
CREATE INDEX contexts_by_actor ON contexts (tenant_id, actor_id, updated_at, context_id);
CREATE INDEX contexts_by_change ON contexts (tenant_id, updated_at, context_id);
CREATE INDEX contexts_due ON contexts (expires_at) WHERE open;

CREATE TABLE items (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    item_id         TEXT COLLATE "C" NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL CHECK (kind IN ('confirmation', 'approval', 'disambiguation')),
    state           TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('open', 'granted', 'refused', 'selected', 'spent', 'expired', 'voided')),
    context_id      TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    actor_id        TEXT COLLATE "C" NOT NULL,
    identity_epoch  BIGINT NOT NULL,
    command_id      TEXT COLLATE "C",
    asked_at        BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    nonce_digest    BYTEA NOT NULL CHECK (length(nonce_digest) = 32),
    body            TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, item_id)
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX items_by_nonce ON items (tenant_id, nonce_digest);
CREATE INDEX items_live ON items (tenant_id, conversation_id) WHERE state IN ('open', 'granted');
CREATE INDEX items_by_context ON items (tenant_id, context_id, asked_at, item_id);
CREATE INDEX items_by_command ON items (tenant_id, command_id) WHERE command_id IS NOT NULL;
CREATE INDEX items_by_kind ON items (tenant_id, kind, asked_at, item_id);
CREATE INDEX items_by_actor ON items (tenant_id, actor_id) WHERE state = 'open';
CREATE INDEX items_due ON items (expires_at) WHERE state = 'open';

-- Which item a quoted message names.
CREATE TABLE item_prompts (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    item_id    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, message_id)
);

CREATE TABLE commands (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    command_id      TEXT COLLATE "C" NOT NULL,
    idempotency_key TEXT COLLATE "C" NOT NULL,
    context_id      TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    updated_at      BIGINT NOT NULL,
    body            TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, command_id)
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX commands_by_key ON commands (tenant_id, idempotency_key);
CREATE INDEX commands_by_context ON commands (tenant_id, context_id, updated_at);

-- What is kept of messages; also the dedupe rows. The key is keyed, because a wamid contains a phone number.
CREATE TABLE messages (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    message_key     BYTEA NOT NULL CHECK (length(message_key) = 32),
    conversation_id TEXT COLLATE "C" NOT NULL,
    keep_until      BIGINT NOT NULL,
    body            TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, message_key)
);
CREATE INDEX messages_by_age ON messages (keep_until);

CREATE TABLE principals (
    tenant_id      TEXT COLLATE "C" NOT NULL,
    principal_id   TEXT COLLATE "C" NOT NULL,
    person_id      TEXT COLLATE "C",
    identity_epoch BIGINT NOT NULL,
    body           TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, principal_id)
);
CREATE INDEX principals_by_person ON principals (tenant_id, person_id) WHERE person_id IS NOT NULL;

CREATE TABLE principal_aliases (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    value        TEXT COLLATE "C" NOT NULL,
    principal_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, kind, value, principal_id)
);
CREATE INDEX principal_aliases_by_principal ON principal_aliases (tenant_id, principal_id);

CREATE TABLE principal_roles (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    role         TEXT COLLATE "C" NOT NULL,
    principal_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, role, principal_id)
);
CREATE INDEX principal_roles_by_principal ON principal_roles (tenant_id, principal_id);

CREATE TABLE frames (
    tenant_id        TEXT COLLATE "C" NOT NULL,
    context_frame_id TEXT COLLATE "C" NOT NULL,
    context_id       TEXT COLLATE "C" NOT NULL,
    command_id       TEXT COLLATE "C" NOT NULL,
    created_at       BIGINT NOT NULL,
    body             TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, context_frame_id)
);

-- What was answered to requests with an Idempotency-Key.
CREATE TABLE claims (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    claim_key  BYTEA NOT NULL CHECK (length(claim_key) = 32),
    expires_at BIGINT NOT NULL,
    body       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, claim_key)
);
CREATE INDEX claims_by_age ON claims (expires_at);

-- The part of the evidence log that stays for ever.
CREATE TABLE log_entries (
    tenant_id          TEXT COLLATE "C" NOT NULL,
    stream_id          TEXT COLLATE "C" NOT NULL,
    seq                BIGINT NOT NULL CHECK (seq > 0),
    v                  BIGINT NOT NULL,
    artifact_id        TEXT COLLATE "C" NOT NULL,
    type               TEXT COLLATE "C" NOT NULL,
    at                 BIGINT NOT NULL,
    policy_hash        TEXT COLLATE "C" NOT NULL,
    payload_commitment BYTEA NOT NULL CHECK (length(payload_commitment) = 32),
    prev_hash          BYTEA NOT NULL CHECK (length(prev_hash) = 32),
    entry_hash         BYTEA NOT NULL CHECK (length(entry_hash) = 32),
    PRIMARY KEY (tenant_id, stream_id, seq)
);
CREATE UNIQUE INDEX log_entries_by_artifact ON log_entries (tenant_id, artifact_id);
CREATE INDEX log_entries_by_time ON log_entries (tenant_id, at, stream_id, seq);

-- The part that can be erased: the payload, its salt, and what an auditor searches by.
CREATE TABLE log_payloads (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    stream_id       TEXT COLLATE "C" NOT NULL,
    seq             BIGINT NOT NULL,
    at              BIGINT NOT NULL,
    conversation_id TEXT COLLATE "C",
    context_id      TEXT COLLATE "C",
    command_id      TEXT COLLATE "C",
    correlation_id  TEXT COLLATE "C",
    salt            BYTEA NOT NULL CHECK (length(salt) = 32),
    payload         TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, stream_id, seq)
);
CREATE INDEX log_payloads_by_conversation ON log_payloads (tenant_id, conversation_id, at, stream_id, seq)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX log_payloads_by_context ON log_payloads (tenant_id, context_id, at, stream_id, seq)
    WHERE context_id IS NOT NULL;
CREATE INDEX log_payloads_by_command ON log_payloads (tenant_id, command_id, at, stream_id, seq)
    WHERE command_id IS NOT NULL;
CREATE INDEX log_payloads_by_correlation ON log_payloads (tenant_id, correlation_id, at, stream_id, seq)
    WHERE correlation_id IS NOT NULL;
