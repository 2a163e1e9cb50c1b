-- The transparency log: one Merkle tree a tenant over the hashes of all its entries.

-- Entries that are not in the tree yet. Filled with the entry in one transaction, emptied as the tree grows.
CREATE TABLE log_outbox (
    tenant_id  TEXT    NOT NULL,
    stream_id  TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    entry_hash BLOB    NOT NULL CHECK (length(entry_hash) = 32),
    PRIMARY KEY (tenant_id, stream_id, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO log_outbox (tenant_id, stream_id, seq, entry_hash)
    SELECT tenant_id, stream_id, seq, entry_hash FROM log_entries;

-- How far a tree has grown, and up to where a checkpoint was signed. Its size is the fence: whoever writes the next
-- leaves says which size they come after.
CREATE TABLE log_trees (
    tenant_id TEXT    NOT NULL,
    size      INTEGER NOT NULL CHECK (size > 0),
    root      BLOB    NOT NULL CHECK (length(root) = 32),
    signed    INTEGER NOT NULL CHECK (signed BETWEEN 0 AND size),
    PRIMARY KEY (tenant_id)
) STRICT, WITHOUT ROWID;

-- Up to 256 hashes side by side, as C2SP tlog-tiles has them: only the last tile of a level ever changes.
CREATE TABLE log_tiles (
    tenant_id TEXT    NOT NULL,
    level     INTEGER NOT NULL CHECK (level BETWEEN 0 AND 7),
    tile      INTEGER NOT NULL CHECK (tile >= 0),
    hashes    BLOB    NOT NULL CHECK (length(hashes) BETWEEN 32 AND 8192 AND length(hashes) % 32 = 0),
    PRIMARY KEY (tenant_id, level, tile)
) STRICT;

-- Which entry a leaf is.
CREATE TABLE log_leaves (
    tenant_id TEXT    NOT NULL,
    leaf      INTEGER NOT NULL CHECK (leaf >= 0),
    stream_id TEXT    NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, stream_id, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX log_leaves_in_order ON log_leaves (tenant_id, leaf);

-- Signed checkpoints, as they were given out.
CREATE TABLE log_checkpoints (
    tenant_id TEXT    NOT NULL,
    size      INTEGER NOT NULL CHECK (size > 0),
    at        INTEGER NOT NULL,
    note      TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, size)
) STRICT, WITHOUT ROWID;
