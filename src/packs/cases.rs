//! Test cases for packs: for this command of that tenant, the pack must make this decision.
//!
//! A file of cases is YAML: `scope` (`tenant`, `environment`, `attached_pack`) and a list of `cases`, each with a
//! `name`, a `given` (`command`, `raised_to`, and any differences from the scope) and an `expect`. Members that are not
//! in `expect` are not compared. See `policies/README.md`.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::text::{Document, pointer_of};
use crate::domain::policy::{PolicyBook, PolicyError, PolicyScope, SafetyClass};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    #[serde(default)]
    scope: Scope,
    cases: Vec<Case>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Scope {
    tenant: Option<String>,
    environment: Option<String>,
    attached_pack: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    given: Given,
    expect: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    tenant: Option<String>,
    environment: Option<String>,
    attached_pack: Option<String>,
    command: String,
    raised_to: Option<SafetyClass>,
}

/// A member of a case whose result differs.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseFailure {
    pub case: String,
    /// The member of `expect`.
    pub member: String,
    pub expected: Value,
    /// What the packs decide; none if there is no such member.
    pub found: Option<Value>,
}

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, member, expected, found } = self;
        match found {
            Some(found) => write!(f, "{case}: {member} should be {expected} and is {found}"),
            None => write!(f, "{case}: there is no `{member}` to expect"),
        }
    }
}

/// The result of a file of cases.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseReport {
    pub passed: usize,
    pub failures: Vec<CaseFailure>,
}

/// Runs a file of cases with a book.
pub fn run_cases(file: &str, text: &str, book: &PolicyBook) -> Result<CaseReport, PolicyError> {
    let document = Document::read(file, text)?;
    let CaseFile { scope, cases } = serde_path_to_error::deserialize(&document.value).map_err(|error| {
        let pointer = pointer_of(error.path());
        let problem = format!("this is not a case ({})", error.inner());
        let instead = "Write scope and cases as policies/README.md shows them.";
        document.place(file, PolicyError::at(pointer, problem, instead))
    })?;
    let mut report = CaseReport::default();
    for case in cases {
        let found = outcome(book, &scope, case.given);
        let before = report.failures.len();
        if case.expect.is_empty() {
            report.failures.push(CaseFailure {
                case: case.name.clone(),
                member: "expect".to_owned(),
                expected: json!("something"),
                found: Some(json!({})),
            });
        }
        for (member, expected) in case.expect {
            let found = found.get(&member).cloned();
            if found.as_ref() != Some(&expected) {
                let case = case.name.clone();
                report.failures.push(CaseFailure { case, member, expected, found });
            }
        }
        report.passed += usize::from(report.failures.len() == before);
    }
    Ok(report)
}

/// All members that a case can expect.
fn outcome(book: &PolicyBook, scope: &Scope, given: Given) -> Map<String, Value> {
    let or = |own: Option<String>, shared: &Option<String>| own.or_else(|| shared.clone());
    let view = book.view(&PolicyScope {
        tenant_id: or(given.tenant, &scope.tenant).unwrap_or_else(|| "any".to_owned()),
        environment: or(given.environment, &scope.environment).unwrap_or_else(|| "production".to_owned()),
        attached_pack: or(given.attached_pack, &scope.attached_pack),
    });
    let rules = view.command(&given.command, given.raised_to);
    let pack = view.pack();
    let approval = rules.approval.map_or_else(|| json!("none"), |rule| json!(rule));
    let all = json!({
        "pack": rules.policy.pack_id,
        "context_pack": pack.pack_id,
        "class": rules.class,
        "known": rules.known,
        "group": rules.group,
        "immaterial_fields": rules.immaterial_fields,
        "confirmation": if rules.confirmation_required { "required" } else { "none" },
        "bare_answers": rules.bare_answers,
        "approval": approval,
        "confirmation_ttl_seconds": rules.confirmation_ttl_seconds,
        "bind_within_seconds": rules.bind_within_seconds,
        "approval_ttl_seconds": rules.approval_ttl_seconds,
        "report_within_seconds": rules.report_within_seconds,
        "disambiguation_ttl_seconds": pack.disambiguation.ttl_seconds,
        "context_ttl_seconds": pack.context.ttl_seconds,
        "blocked_timeout_seconds": pack.context.blocked_timeout_seconds,
    });
    match all {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
