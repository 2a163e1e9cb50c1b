//! The case files of the shipped packs, and how a wrong case is reported.

use super::{PackSource, run_cases};

const CASES: [(&str, &str); 3] = [
    ("basic.cases.yaml", include_str!("../../policies/cases/basic.cases.yaml")),
    ("strong.cases.yaml", include_str!("../../policies/cases/strong.cases.yaml")),
    ("operational.cases.yaml", include_str!("../../policies/cases/operational.cases.yaml")),
];

#[test]
fn shipped_cases_pass() {
    let rules = PackSource::Shipped.load().unwrap();
    for (file, text) in CASES {
        let report = run_cases(file, text, rules.book()).unwrap();
        let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
        assert!(failures.is_empty(), "{file}: {failures:#?}");
        assert!(report.passed >= 5, "{file}");
    }
}

#[test]
fn a_wrong_case_says_what_was_found() {
    let rules = PackSource::Shipped.load().unwrap();
    let text = "cases:\n\
                - {name: a, given: {command: order.cancel}, expect: {class: S1, colour: red}}\n\
                - {name: b, given: {command: order.cancel}, expect: {}}\n\
                - {name: c, given: {command: order.cancel}, expect: {class: S2}}\n";
    let report = run_cases("x.cases.yaml", text, rules.book()).unwrap();
    assert_eq!(report.passed, 1);
    let said: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "a: class should be \"S1\" and is \"S2\"",
            "a: there is no `colour` to expect",
            "b: expect should be \"something\" and is {}",
        ]
    );
}

#[test]
fn a_misspelt_case_is_placed() {
    let rules = PackSource::Shipped.load().unwrap();
    let text = "cases:\n  - name: a\n    given: {command: x, raised: S1}\n    expect: {class: S1}\n";
    let error = run_cases("x.cases.yaml", text, rules.book()).unwrap_err();
    assert_eq!(error.line, Some(3), "{error}");
    assert!(error.to_string().contains("unknown field `raised`"), "{error}");
}
