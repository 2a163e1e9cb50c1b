-- Fact spaces that are erased in steps.

-- A space's own record says since when it is being erased (erased_at in its body, and in ended_at), and the rest follows.
-- Programs that do not know this step would show a space that was deleted, and write to it.
UPDATE schema_floor SET version = 14;
