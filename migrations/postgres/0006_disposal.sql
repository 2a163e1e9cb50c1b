-- Erasing with evidence: the stream that tells of it, subject erasures, legal holds.

-- What was erased and why stands in a stream of its own, one a tenant. A chain whose conversation, person or reader was
-- erased keeps its row under a name that means nothing: its kind becomes `erased`, its key its random stream id.
ALTER TABLE streams DROP CONSTRAINT streams_kind_check;
ALTER TABLE streams ADD CONSTRAINT streams_kind_check
    CHECK (kind IN ('conversation', 'principal', 'access', 'fact_space', 'disposal', 'erased'));

-- Subject erasures. `request` is a keyed digest of the caller's Idempotency-Key, so that a repetition goes on with what
-- was begun; it goes with the time that keys are kept. Nothing here tells about whom it was.
CREATE TABLE erasures (
    tenant_id   TEXT COLLATE "C" NOT NULL,
    erasure_id  TEXT COLLATE "C" NOT NULL,
    request     BYTEA CHECK (length(request) = 32),
    started_at  BIGINT NOT NULL,
    finished_at BIGINT,
    body        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, erasure_id)
);
CREATE UNIQUE INDEX erasures_by_request ON erasures (tenant_id, request) WHERE request IS NOT NULL;

-- What must not be erased. The row names whom or what it holds, because it must; it goes when the hold is lifted.
CREATE TABLE legal_holds (
    tenant_id TEXT COLLATE "C" NOT NULL,
    hold_id   TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL CHECK (kind IN ('principal', 'conversation')),
    subject   TEXT COLLATE "C" NOT NULL,
    placed_at BIGINT NOT NULL,
    body      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, hold_id)
);
CREATE INDEX legal_holds_by_subject ON legal_holds (tenant_id, kind, subject);

CREATE POLICY one_tenant ON erasures USING ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
CREATE POLICY one_tenant ON legal_holds USING ((SELECT current_setting('cscp.tenant', true)) IN (tenant_id, '*'));
