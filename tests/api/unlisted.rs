//! What is stored and not compared with the entries, each with its reason: the list of docs/EVIDENCE.md.

/// A table, a column, a member of one, or rows that are there too much or too little; and why it means nothing to the
/// evidence, or what remains possible.
pub(crate) const MEANINGLESS: &[(&str, &str)] = &[
    ("api_keys", "who may do what is given and taken outside of the log, and no entry tells of it"),
    ("claims", "answers that are kept for hours, so that a repetition is answered alike; the log has what was done"),
    ("leases", "which process does the upkeep, for seconds"),
    ("schema_floor", "which versions of the program may start"),
    ("spent_names", "names of erased commands, which the log must not hold; without its row a name can be bound again"),
    ("tenants.created_at", "told to nobody who verifies"),
    ("tenants.enabled", "whether credentials work; it changes nothing that was recorded"),
    (
        "tenants.key",
        "the key of stored digests: with another one nothing stored is recognized any more, and no entry holds it",
    ),
    ("tenants.policy_pack", "which pack decides from now on; each entry names the pack that decided"),
    ("contexts.sweep_after", "when the sweeper looks; that it looks no later than the deadline is compared"),
    ("erased messages.keep_until", "until when the key of an erased message is kept"),
    ("erased messages: a row less", "keys of erased messages go after some days; how many there may be is compared"),
    ("erasures.request", "the digest of an Idempotency-Key, for a day"),
    ("legal_holds.body/placed_by", "in whose name it was placed; the entry has the credential"),
    ("legal_holds.body/reason", "a reference of whoever placed it; the entry says nothing of it"),
    ("log_checkpoints.at", "the server's own word: what is signed holds no time"),
    ("log_checkpoints: a row less", "older checkpoints: nothing says how many were signed; the newest is missed"),
    ("log_cosignatures: a row less", "nothing says who has cosigned; whoever wants a witness's word misses it"),
    (
        "log_trees.published",
        "which checkpoint anybody is shown: one that was signed, and older than what others may have seen",
    ),
    ("policy_versions.note", "a remark"),
    ("policy_versions.published_at", "when it was published; each entry says what was in force for it"),
    (
        "policy_versions: a row less",
        "the newest versions: nothing says how many there were; one between others is missed",
    ),
];

/// The same list as the page shows it.
pub(crate) fn listed_in_the_page() -> Vec<(String, String)> {
    let page = include_str!("../../docs/EVIDENCE.md");
    let (_, after) = page.split_once("## What is not compared").unwrap();
    let section = after.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    rows.map(|row| row.split_once("` | ").unwrap()).map(|(place, why)| (place.to_owned(), why.to_owned())).collect()
}
