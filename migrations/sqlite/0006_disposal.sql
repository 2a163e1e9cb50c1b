-- Erasing with evidence: the stream that tells of it, subject erasures, legal holds.

-- What was erased and why stands in a stream of its own, one a tenant. A chain whose conversation, person or reader was
-- erased keeps its row under a name that means nothing: its kind becomes `erased`, its key its random stream id. SQLite
-- cannot change a CHECK, so the table is made anew.
CREATE TABLE streams_with_disposal (
    tenant_id TEXT    NOT NULL,
    kind      TEXT    NOT NULL
        CHECK (kind IN ('conversation', 'principal', 'access', 'fact_space', 'disposal', 'erased')),
    key       TEXT    NOT NULL,
    stream_id TEXT    NOT NULL,
    seq       INTEGER NOT NULL CHECK (seq >= 0),
    head_hash BLOB    NOT NULL CHECK (length(head_hash) = 32),
    last_at   INTEGER,
    PRIMARY KEY (tenant_id, kind, key)
) STRICT, WITHOUT ROWID;
INSERT INTO streams_with_disposal (tenant_id, kind, key, stream_id, seq, head_hash, last_at)
    SELECT tenant_id, kind, key, stream_id, seq, head_hash, last_at FROM streams;
DROP TABLE streams;
ALTER TABLE streams_with_disposal RENAME TO streams;
CREATE UNIQUE INDEX streams_by_id ON streams (tenant_id, stream_id);

-- Subject erasures. `request` is a keyed digest of the caller's Idempotency-Key, so that a repetition goes on with what
-- was begun; it goes with the time that keys are kept. Nothing here tells about whom it was.
CREATE TABLE erasures (
    tenant_id   TEXT    NOT NULL,
    erasure_id  TEXT    NOT NULL,
    request     BLOB    CHECK (length(request) = 32),
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    body        TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, erasure_id)
) STRICT;
CREATE UNIQUE INDEX erasures_by_request ON erasures (tenant_id, request) WHERE request IS NOT NULL;

-- What must not be erased. The row names whom or what it holds, because it must; it goes when the hold is lifted.
CREATE TABLE legal_holds (
    tenant_id TEXT    NOT NULL,
    hold_id   TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('principal', 'conversation')),
    subject   TEXT    NOT NULL,
    placed_at INTEGER NOT NULL,
    body      TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, hold_id)
) STRICT;
CREATE INDEX legal_holds_by_subject ON legal_holds (tenant_id, kind, subject);
