//! Bundles that were put together to deceive, most of them by whoever has the log's own key: each verifier refuses every
//! one of them by itself, at the line where it shows.

use cscp::domain::canonical::Digest;
use cscp::evidence::auditing::{Asked, Trusted};
use cscp::evidence::checkpoint::Checkpoint;
use cscp::evidence::note;
use serde_json::{Value, json};

use crate::auditing::Bundle;
use crate::bundles::{faults, joined, python_is_there, their_answer};
use crate::forging::{
    Case, Forged, Genuine, LOG, key, moved, next_entry, opening, refused, rewritten, verifiers, with, without,
};
use crate::house::House;

/// Where the checkpoint stands, whose it is, and what was kept.
const CHECKPOINTS: &[Case] = &[
    ("no checkpoint", |g| Forged::new(without(&g.talk, 2), 3, &["no_checkpoint"])),
    ("no checkpoint for a whole log", |g| Forged::new(without(&g.whole, 2), 3, &["no_checkpoint", "count"])),
    ("a rewritten history without a checkpoint", |g| {
        Forged::new(without(&rewritten(&g.talk), 2), 3, &["no_checkpoint"])
    }),
    ("a rewritten history with the checkpoint at the end", |g| {
        let bundle = rewritten(&g.talk);
        let end = bundle.line("end") - 1;
        Forged::new(moved(&bundle, 2, end), 3, &["no_checkpoint"])
    }),
    ("a rewritten history with the checkpoint where it belongs", |g| {
        let bundle = rewritten(&g.talk);
        let line = bundle.entry(bundle.length()) + 1;
        Forged::new(bundle, line, &["not_in_log"])
    }),
    ("the checkpoint in the middle", |g| Forged::new(moved(&g.talk, 2, g.talk.entry(3)), 3, &["no_checkpoint"])),
    ("one entry before the checkpoint", |g| {
        Forged::new(moved(&g.command, g.command.line("entry"), 2), 3, &["no_checkpoint"])
    }),
    ("two checkpoints", |g| Forged::new(with(&g.talk, 3, g.talk.0[2].clone()), 4, &["checkpoint"])),
    ("an older checkpoint before the other", |g| {
        let bundle = with(&g.talk, 2, json!({"checkpoint": g.older}));
        Forged::new(bundle, 4, &["checkpoint", "not_in_log"])
    }),
    ("the checkpoint of another tenant", |g| {
        let mut bundle = g.talk.clone();
        bundle.0[2] = g.other.0[2].clone();
        Forged::new(bundle, 3, &["checkpoint"])
    }),
    ("a checkpoint of another log, signed with this log's key", |g| {
        let genuine = g.opened();
        let other = Checkpoint::new("tests.example/test/b", genuine.size(), genuine.root()).unwrap();
        let mut bundle = g.talk.clone();
        bundle.0[2] = json!({"checkpoint": other.sign(&[key()]).unwrap()});
        Forged::new(bundle, 3, &["checkpoint"])
    }),
    ("another log as a whole, signed with this log's key", |g| {
        let mut bundle = g.other.clone();
        let note = bundle.0[2]["checkpoint"].as_str().unwrap();
        let body = note.split_inclusive("\n\n").next().unwrap().strip_suffix('\n').unwrap();
        bundle.0[2] = json!({"checkpoint": note::sign(body, &[key()]).unwrap()});
        Forged::new(bundle, 3, &["checkpoint", "count", "signature"])
    }),
    ("another tenant under this log's name", |g| {
        let bundle = opening(&g.talk, |opening| opening["tenant_id"] = json!("b"));
        Forged::new(bundle, 1, &["foreign"])
    }),
    ("keys after the checkpoint", |g| Forged::new(moved(&g.talk, 1, 2), 3, &["line"])),
    ("keys twice", |g| Forged::new(with(&g.talk, 2, g.talk.0[1].clone()), 3, &["line"])),
    ("kept, and no checkpoint to compare", |g| {
        Forged::new(without(&g.talk, 2), 3, &["no_checkpoint", "consistency"]).with_kept(&g.older)
    }),
    ("kept, and newer than the checkpoint", |g| Forged::new(g.talk.clone(), 3, &["rolled_back"]).with_kept(&g.newer)),
    ("kept, and the checkpoint contradicts it", |g| {
        let genuine = g.opened();
        let fork = Checkpoint::new(LOG, genuine.size(), Digest::ZERO).unwrap();
        Forged::new(g.talk.clone(), 3, &["forked"]).with_kept(&fork.sign(&[key()]).unwrap())
    }),
    ("kept, and of another log", |g| {
        let other = g.other.0[2]["checkpoint"].as_str().unwrap();
        Forged::new(g.talk.clone(), g.talk.0.len() + 1, &["consistency"]).with_kept(other)
    }),
    ("kept, and older without a proof", |g| {
        Forged::new(g.talk.clone(), g.talk.0.len() + 1, &["consistency"]).with_kept(&g.older)
    }),
    ("kept, and a proof before the checkpoint", |g| {
        let bundle = with(&g.talk, 2, json!({"consistency": {"from": 1, "proof": []}}));
        Forged::new(bundle, 3, &["no_checkpoint", "consistency"]).with_kept(&g.older)
    }),
];

/// What was asked for, what is promised, and what is there.
const SCOPES: &[Case] = &[
    ("a command for the whole log", |g| Forged::new(g.command.clone(), 1, &["other_request"]).asked(&["whole"])),
    ("a conversation for the whole log", |g| Forged::new(g.talk.clone(), 1, &["other_request"]).asked(&["whole"])),
    ("the whole log for a conversation", |g| {
        Forged::new(g.whole.clone(), 1, &["other_request"]).asked(&["conversation_id=conv"])
    }),
    ("a conversation for another", |g| {
        Forged::new(g.talk.clone(), 1, &["other_request"]).asked(&["conversation_id=other"])
    }),
    ("an export that was made for another request", |g| {
        Forged::new(g.whole.clone(), 1, &["other_request"]).asked(&["whole", "nonce=this-request-is-new"])
    }),
    ("all times for some time", |g| {
        Forged::new(g.whole.clone(), 1, &["other_request"]).asked(&["from=2026-01-01T00:00:00Z"])
    }),
    ("a command that says it is the whole log", |g| {
        let whole = opening(&g.command, |opening| {
            opening["selection"] = json!({"payloads": "full"});
            opening["coverage"] = json!({"kind": "whole"});
        });
        let line = whole.line("entry") + 1;
        Forged::new(whole, line, &["gap", "count"]).asked(&["whole"])
    }),
    ("a promise that was not asked for", |g| {
        let bundle = opening(&g.whole, |opening| opening["selection"]["fact_space"] = json!("s"));
        Forged::new(bundle, 1, &["scope"])
    }),
    ("the entries of a conversation for a command", |g| {
        let bundle = opening(&g.talk, |opening| {
            opening["selection"] = g.command.0[0]["bundle"]["selection"].clone();
            opening["coverage"] = json!({"kind": "selection"});
        });
        let line = bundle.entry(1) + 1;
        Forged::new(bundle, line, &["scope"])
    }),
    ("the chain of a conversation for another", |g| {
        let bundle = opening(&g.talk, |opening| opening["selection"]["conversation_id"] = json!("other"));
        let line = bundle.line("entry") + 1;
        Forged::new(bundle, line, &["scope"])
    }),
    ("entries of another time", |g| {
        let bundle = opening(&g.whole, |opening| {
            opening["selection"]["until"] = json!("2025-01-01T00:00:00Z");
            opening["coverage"] = json!({"kind": "selection"});
        });
        let line = bundle.line("entry") + 1;
        Forged::new(bundle, line, &["scope"])
    }),
    ("the whole log without its tail", |g| {
        let mut bundle = g.whole.clone();
        let summary = bundle.line("summary");
        bundle.0.drain(summary - 3..summary);
        Forged::new(bundle, summary - 2, &["count"])
    }),
    ("the whole log without the end of one chain", |g| {
        let line = g.whole.entry(g.whole.length());
        Forged::new(without(&g.whole, line), next_entry(&g.whole, line), &["leaf", "count"])
    }),
    ("the whole log without the beginning of one chain", |g| {
        let line = g.whole.entry(1);
        Forged::new(without(&g.whole, line), next_entry(&g.whole, line), &["gap", "count"])
    }),
    ("the whole log with one entry for another", |g| {
        let (mut bundle, last) = (g.whole.clone(), g.whole.entry(g.whole.length()));
        bundle.0[last] = bundle.0[g.whole.entry(1)].clone();
        Forged::new(bundle, last + 1, &["sequence", "leaf"])
    }),
    ("a conversation without its beginning", |g| {
        let line = g.talk.entry(1);
        Forged::new(without(&g.talk, line), next_entry(&g.talk, line), &["gap"])
    }),
    ("a conversation without its end", |g| {
        let line = g.talk.entry(g.talk.length());
        Forged::new(without(&g.talk, line), g.talk.line("summary"), &["chain_end"])
    }),
    ("a conversation without its end, and one entry fewer promised", |g| {
        let length = g.talk.length();
        let bundle = opening(&g.talk, |opening| opening["coverage"]["chains"][0]["entries"] = json!(length - 1));
        let bundle = without(&bundle, g.talk.entry(length));
        Forged::new(bundle, g.talk.line("summary"), &["chain_end"])
    }),
    ("a conversation that ends otherwise", |g| {
        let bundle =
            opening(&g.talk, |opening| opening["coverage"]["chains"][0]["last"] = json!(Digest::ZERO.prefixed()));
        Forged::new(bundle, g.talk.line("summary") + 1, &["chain_end"])
    }),
    ("a conversation of which nothing is there", |g| {
        let mut bundle = g.talk.clone();
        bundle.0.retain(|line| line.get("entry").is_none());
        let line = bundle.line("summary") + 1;
        Forged::new(bundle, line, &["chain_end"])
    }),
    ("an entry twice", |g| {
        let line = g.talk.entry(3);
        Forged::new(with(&g.talk, line, g.talk.0[line].clone()), line + 2, &["sequence"])
    }),
    ("an entry twice in a selection", |g| {
        let line = g.command.line("entry");
        Forged::new(with(&g.command, line, g.command.0[line].clone()), line + 2, &["sequence"])
    }),
    ("a frame before its entry, with other words", |g| {
        let frame = g.talk.0[g.talk.line("frame")]["frame"]["context_frame_id"].clone();
        let frame = json!({"frame": {"context_frame_id": frame, "context_hash": Digest::ZERO.prefixed(), "shown": {}}});
        let (first, captured) = (g.talk.line("entry"), g.talk.line("frame"));
        let forged = with(&without(&g.talk, captured), first, frame);
        Forged::new(forged, captured + 1, &["frame"])
    }),
    ("a policy pack that no entry names", |g| {
        let pack = json!({"policy": {"hash": Digest::ZERO.prefixed()}});
        let forged = with(&g.talk, g.talk.line("policy"), pack);
        let line = forged.line("summary") + 1;
        Forged::new(forged, line, &["policy"])
    }),
    ("another policy pack than entries name", |g| {
        let (line, pack) = (g.talk.line("policy"), json!({"policy": {"hash": Digest::ZERO.prefixed()}}));
        let forged = with(&without(&g.talk, line), line, pack);
        let line = forged.line("summary") + 1;
        Forged::new(forged, line, &["policy"])
    }),
    ("no policy pack", |g| {
        let forged = without(&g.talk, g.talk.line("policy"));
        let line = forged.line("summary") + 1;
        Forged::new(forged, line, &["policy"])
    }),
    ("a policy pack twice", |g| {
        let line = g.talk.line("policy");
        Forged::new(with(&g.talk, line, g.talk.0[line].clone()), line + 2, &["policy"])
    }),
    ("the first format with the chains of the second", |g| {
        let bundle = opening(&g.talk, |opening| opening["format"] = json!("cscp-evidence-bundle/v1"));
        Forged::new(bundle, 1, &["not_a_bundle", "checkpoint", "foreign", "count", "signature"])
    }),
    ("chains that do not say where they end", |g| {
        let bundle = opening(&g.talk, |opening| {
            opening["coverage"]["chains"][0].as_object_mut().unwrap().remove("entries");
        });
        Forged::new(bundle, 1, &["not_a_bundle"])
    }),
];

#[tokio::test]
async fn forged_checkpoints_are_refused_by_each_verifier_alone() {
    let house = House::new().await;
    let genuine = Genuine::new(&house).await;
    refused(CHECKPOINTS, &genuine);
}

#[tokio::test]
async fn bundles_of_something_else_are_refused_by_each_verifier_alone() {
    let house = House::new().await;
    let genuine = Genuine::new(&house).await;
    refused(SCOPES, &genuine);
}

/// What the tables forge from holds when the log's key signs it again.
#[tokio::test]
async fn what_is_genuine_holds_and_says_what_it_shows() {
    let house = House::new().await;
    let genuine = Genuine::new(&house).await;
    let cases = [
        (&genuine.whole, "whole", &["whole", "nonce=a-nonce-of-the-test"] as &[&str]),
        (&genuine.talk, "chains", &["conversation_id=conv"]),
        (&genuine.command, "not_shown", &[]),
    ];
    for (bundle, completeness, asked) in cases {
        let asked = (!asked.is_empty()).then(|| Asked::read(asked.iter().copied()).unwrap());
        let trusted = Trusted { keys: vec![key().verifier()], asked, ..Trusted::default() };
        for (verifier, look) in verifiers() {
            let report = look(&joined(&bundle.signed(&key())), &trusted);
            assert_eq!(faults(&report), [], "{verifier}: {report:#}");
            assert_eq!(report["completeness"], completeness, "{verifier}");
            assert_eq!(report["in_tree"], report["entries"], "{verifier}");
        }
    }
}

/// What earlier versions wrote still verifies. They did not state where chains end, and the report says so.
#[tokio::test]
async fn bundles_of_the_first_format_still_verify() {
    let house = House::new().await;
    let genuine = Genuine::new(&house).await;
    let trusted = Trusted { keys: vec![key().verifier()], ..Trusted::default() };
    let first = |bundle: &Bundle| {
        opening(bundle, |opening| {
            opening["format"] = json!("cscp-evidence-bundle/v1");
            opening["selection"].as_object_mut().unwrap().remove("nonce");
            if let Some(chains) = opening["coverage"].as_object_mut().unwrap().remove("chains") {
                let ids: Vec<Value> = chains.as_array().unwrap().iter().map(|c| c["stream_id"].clone()).collect();
                opening["coverage"]["stream_ids"] = json!(ids);
            }
        })
    };
    let cases = [(&genuine.whole, "whole"), (&genuine.talk, "chains_without_end"), (&genuine.command, "not_shown")];
    for (verifier, look) in verifiers() {
        for (bundle, completeness) in cases {
            let report = look(&joined(&first(bundle).signed(&key())), &trusted);
            assert_eq!(faults(&report), [], "{verifier}: {report:#}");
            assert_eq!(report["completeness"], completeness, "{verifier}");
        }
        // The same with one entry fewer at the end: it cannot be told, which is why the format has changed.
        let short = first(&without(&genuine.talk, genuine.talk.entry(genuine.talk.length())));
        assert_eq!(faults(&look(&joined(&short.signed(&key())), &trusted)), [], "{verifier}");
        // An end that was signed for the other format is not this bundle's.
        let mut mixed = first(&genuine.talk).signed(&key());
        *mixed.last_mut().unwrap() = genuine.talk.signed(&key()).pop().unwrap();
        let told = faults(&look(&joined(&mixed), &trusted));
        assert!(told.iter().any(|(_, code)| code == "signature"), "{verifier}: {told:?}");
    }
}

/// Without a key that was named anybody may have made the bundle: the second verifier says so too, and fails.
#[tokio::test]
async fn the_second_verifier_wants_to_know_who_has_signed() {
    if !python_is_there() {
        return;
    }
    let house = House::new().await;
    let bundle = joined(&Genuine::new(&house).await.whole.signed(&key()));
    let vkey = key().verifier().to_string();
    let nobody = "It is self-consistent, and signed by nobody you named";
    let cases: [(&[&str], i32, &str); 7] = [
        (&[], 1, nobody),
        (&["--unauthenticated"], 0, nobody),
        (&["--key", &vkey], 0, "Everything in it holds."),
        (&["--key", &vkey, "--expect", "whole"], 0, "every leaf of the tree"),
        (&["--key", &vkey, "--expect", "command_id=c"], 1, "other_request"),
        (&["--key", &vkey, "--expect", "everything"], 2, "NAME=VALUE"),
        (&["--key", &vkey, "--unauthenticated"], 2, "contradict"),
    ];
    for (arguments, code, says) in cases {
        let (ended, printed) = their_answer(&bundle, arguments);
        assert!(ended == Some(code) && printed.contains(says), "{arguments:?}: {ended:?} {printed}");
    }
}
