//! Marks in front of texts, one by one.

use super::*;

#[expect(clippy::unnecessary_wraps, reason = "compared with what a text may lack")]
fn scope(kind: FactScope, id: &str) -> Option<(FactScope, String)> {
    Some((kind, id.to_owned()))
}

#[test]
fn a_text_without_marks_is_its_own_body() {
    for text in [
        "The room is 4.",
        "",
        "[1] see below",
        "['a', 'b']",
        "[INVALIDATED - wrong: x] y",
        "  x",
        "a (b) c: d",
        "[",
        "[]",
        "(x): y",
    ] {
        let read = tagged(text);
        assert_eq!(read, Tagged { body: text, ..Tagged::default() }, "{text}");
    }
}

#[test]
fn restrictions_name_their_audience() {
    for (text, audience, body) in [
        ("[RESTRICTED: Pay data restricted to HR] 15% raise", vec!["HR"], "15% raise"),
        ("[RESTRICTED: Strategy restricted to Director+] pivot", vec!["Director+"], "pivot"),
        ("[RESTRICTED: Incidents restricted to Security team, IT] x", vec!["Security team", "IT"], "x"),
        ("[RESTRITO: salários restrito ao RH] x", vec!["RH"], "x"),
        ("[RESTRINGIDO: sueldos restringido a Finanzas] x", vec!["Finanzas"], "x"),
        ("[RESTRICTED: HR only] x", vec!["HR"], "x"),
        ("[CONFIDENTIAL] x", vec!["CONFIDENTIAL"], "x"),
    ] {
        let read = tagged(text);
        assert_eq!(read.restricted_to, audience, "{text}");
        assert_eq!(read.body, body, "{text}");
    }
}

#[test]
fn scopes_are_told_by_their_words() {
    for (text, expected) in [
        ("[SCOPE: draft schedule] May", scope(FactScope::Draft, "draft schedule")),
        ("[SCOPE: what-if discussion] May", scope(FactScope::Hypothetical, "what-if discussion")),
        ("[SCOPE: brainstorming session] May", scope(FactScope::Hypothetical, "brainstorming session")),
        ("[SCOPE: sandbox environment] May", scope(FactScope::Hypothetical, "sandbox environment")),
        ("[SCOPE: estimation exercise] May", scope(FactScope::Hypothetical, "estimation exercise")),
        ("[SCOPE: scenario planning] May", scope(FactScope::Hypothetical, "scenario planning")),
        ("[SCOPE: Ana's session] May", scope(FactScope::Session, "Ana's session")),
        ("[SCOPE: onboarding] May", scope(FactScope::Task, "onboarding")),
        ("[DRAFT] May", scope(FactScope::Draft, "DRAFT")),
        ("[escopo: rascunho do contrato] May", scope(FactScope::Draft, "rascunho do contrato")),
    ] {
        let read = tagged(text);
        assert_eq!(read.scope, expected, "{text}");
        assert_eq!(read.body, "May", "{text}");
    }
}

#[test]
fn speakers_are_told_by_name_and_title() {
    for (text, name, title, body) in [
        ("[Mike (CFO)]: cut it", Some("Mike"), Some("CFO"), "cut it"),
        ("Ana Souza (Diretora): corta", Some("Ana Souza"), Some("Diretora"), "corta"),
        ("[MANAGER] cut it", None, Some("MANAGER"), "cut it"),
        ("[DIRECTOR] David (Product Director): cut it", Some("David"), Some("DIRECTOR"), "cut it"),
        ("[C_LEVEL] Eva (CEO): cut it", Some("Eva"), Some("C_LEVEL"), "cut it"),
        ("[Vendor] cut it", None, Some("Vendor"), "cut it"),
        ("Per the CEO, cut it", None, Some("CEO"), "Per the CEO, cut it"),
        ("[Note] cut it", None, None, "[Note] cut it"),
    ] {
        let read = tagged(text);
        assert_eq!((read.name.as_deref(), read.title.as_deref(), read.body), (name, title, body), "{text}");
    }
}

#[test]
fn marks_are_taken_off_one_after_the_other() {
    let read = tagged("[RESTRICTED: pay restricted to HR] [SCOPE: draft offer] [VP] Vera (VP People): 10%");
    assert_eq!(read.restricted_to, ["HR"]);
    assert_eq!(read.scope, scope(FactScope::Draft, "draft offer"));
    assert_eq!((read.name.as_deref(), read.title.as_deref(), read.body), (Some("Vera"), Some("VP"), "10%"));
}

proptest::proptest! {
    #[test]
    fn invariant_the_body_is_the_end_of_the_text(text in "(\\[[A-Za-z :()ãé]{0,20}\\]:? ?|[A-Z][a-z]* \\([a-z]*\\): ?|.{0,10}){0,12}") {
        proptest::prop_assert!(text.ends_with(tagged(&text).body));
    }
}
