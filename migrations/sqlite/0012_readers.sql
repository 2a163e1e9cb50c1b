-- Readers: whom a key may speak for when facts are read.

-- A key that nobody has said it of speaks for nobody. `viewer_id` is the principal of a key that speaks for one;
-- `organization` and `capability` name the capability memory that it may read besides.
ALTER TABLE api_keys ADD COLUMN speaks_for TEXT NOT NULL DEFAULT 'nobody'
    CHECK (speaks_for IN ('nobody', 'principal', 'anyone'));
ALTER TABLE api_keys ADD COLUMN viewer_id TEXT;
ALTER TABLE api_keys ADD COLUMN organization TEXT;
ALTER TABLE api_keys ADD COLUMN capability TEXT;

-- Keys from before: one that acts for a principal speaks for that principal; one that serves every conversation, or
-- administers the tenant, for anyone; programs that propose and people who look, for nobody.
UPDATE api_keys SET speaks_for = 'principal', viewer_id = principal_id WHERE principal_id IS NOT NULL;
UPDATE api_keys SET speaks_for = 'anyone' WHERE principal_id IS NULL AND kind IN ('handler', 'admin');

-- Programs that do not know this step would show private memory to every key.
UPDATE schema_floor SET version = 12;
