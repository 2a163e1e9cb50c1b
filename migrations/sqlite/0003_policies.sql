-- Policies that were published for every server on this database.

-- Versions are counted from 1 and never taken back: evidence names packs by hash, and here is what they said. A version
-- without files says that the packs which the program brings along are in force again.
CREATE TABLE policy_versions (
    version      INTEGER NOT NULL CHECK (version > 0),
    published_at INTEGER NOT NULL,
    note         TEXT,
    hash         TEXT,
    packs        TEXT    NOT NULL,
    files        TEXT,
    PRIMARY KEY (version),
    CHECK ((hash IS NULL) = (files IS NULL))
) STRICT;
