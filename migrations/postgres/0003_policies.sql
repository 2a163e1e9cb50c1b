-- Policies that were published for every server on this database.

-- Versions are counted from 1 and never taken back: evidence names packs by hash, and here is what they said. A version
-- without files says that the packs which the program brings along are in force again. No tenant's rows are in it, so
-- there is nothing to fence.
CREATE TABLE policy_versions (
    version      BIGINT NOT NULL CHECK (version > 0),
    published_at BIGINT NOT NULL,
    note         TEXT,
    hash         TEXT COLLATE "C",
    packs        TEXT NOT NULL,
    files        TEXT,
    PRIMARY KEY (version),
    CHECK ((hash IS NULL) = (files IS NULL))
);
