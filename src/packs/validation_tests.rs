//! One bad pack per rule: how it is made from `basic`, and how it is judged. The rows are in `form_tests` and `meaning_tests`.

use super::{read_pack, shipped};

const BASIC: &str = shipped::PACKS[0].1;
pub(super) const S1: &str = "  S1: { confirmation: required, bare_answers: true, approval: none }";
pub(super) const S2: &str = "  S2: { confirmation: required, bare_answers: false, approval: none }";
pub(super) const S3: &str = "  S3: { confirmation: required, bare_answers: false, approval: none }";
pub(super) const CANCEL: &str = "{ name: order.cancel, group: orders, class: S2 }";

/// `basic` with some text replaced, and everything that is said about it.
fn told(changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = BASIC.to_owned();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "`{from}` must occur once");
        text = text.replace(from, to);
    }
    match read_pack("p.yaml", &text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Changes to `basic`, and all that must be said about them.
pub(super) type Row = (&'static [(&'static str, &'static str)], &'static [&'static str]);

pub(super) fn check(rows: &[Row]) {
    for (changes, expected) in rows {
        assert_eq!(told(changes), *expected, "{changes:?}");
    }
}
