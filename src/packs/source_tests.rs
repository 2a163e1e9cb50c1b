//! Reading a folder of packs and lexicons, with all complaints together.

use std::fs;

use super::{MAX_FILE_BYTES, PackSource, shipped};

const BASIC: &str = shipped::PACKS[0].1;

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PackSource) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let source = PackSource::Folder(folder.path().to_owned());
    (folder, source)
}

fn told(source: &PackSource) -> Vec<String> {
    let errors = source.load().unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn the_shipped_set_loads() {
    let loaded = PackSource::Shipped.load().unwrap();
    let names: Vec<_> = loaded.book().packs().map(|pack| pack.pack_id.as_str()).collect();
    assert_eq!(names, ["basic", "operational", "strong"]);
}

#[test]
fn the_shipped_packs_let_no_field_of_a_target_change() {
    let loaded = PackSource::Shipped.load().unwrap();
    for pack in loaded.book().packs() {
        assert!(!pack.commands.is_empty());
        let listing = pack.commands.iter().filter(|entry| !entry.immaterial_fields.is_empty());
        assert_eq!(listing.count(), 0, "{}", pack.pack_id);
    }
}

const XX: &str = "locale: xx\nversion: 1.0.0\naffirmative: [jo]\nnegative: [nej]\nnegations: []\nqualifiers: []\n";

#[test]
fn a_folder_replaces_the_packs_and_other_files_are_left_alone() {
    let second =
        BASIC.replace("pack_id: basic", "pack_id: other").replace("selectors: [{}]", "selectors: [{tenant: acme}]");
    let (_keep, source) = folder(&[
        ("basic.yml", BASIC),
        ("other.yaml", &second),
        ("README.md", "no pack"),
        (".hidden.yaml", "no pack"),
        ("cases/basic.cases.yaml", "no pack"),
        ("schema/x.json", "no pack"),
        ("lexicons/xx.yaml", XX),
        ("lexicons/notes.txt", "no lexicon"),
    ]);
    let loaded = source.load().unwrap();
    assert_eq!(loaded.book().packs().count(), 2);
    assert_eq!(loaded.book().pack("other").unwrap().file(), "other.yaml");
    let files = source.files().unwrap();
    assert!(files.lexicons.contains(&("xx.yaml".to_owned(), XX.to_owned())));
    assert_eq!(files.lexicons.len(), shipped::LEXICONS.len() + 1);
}

#[test]
fn the_complaints_about_all_files_come_together() {
    let (_keep, source) = folder(&[
        ("a.yaml", &BASIC.replace("reactions: false", "reactions: maybe")),
        (
            "b.yaml",
            &BASIC.replace(
                "name: address.update, group: account, class: S1 }",
                "name: address.update, class: S1, confirmation: none }",
            ),
        ),
        ("c.yaml", "pack_id: [\n"),
        ("d.yaml", BASIC),
        ("e.yaml", BASIC),
    ]);
    let said = told(&source);
    let starts = ["a.yaml:71:3 /answers/reactions", "b.yaml:33:", "c.yaml:", "e.yaml /pack_id", "e.yaml /selectors/0"];
    assert_eq!(said.len(), starts.len(), "{said:#?}");
    for (line, start) in said.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn a_folder_that_is_missing_empty_oversized_or_not_text_is_refused() {
    let (keep, source) = folder(&[]);
    assert_eq!(
        told(&source),
        [
            "the policy folder holds no pack. Put at least one *.yaml file into it, for instance a copy of policies/basic.yaml."
        ]
    );
    let missing = PackSource::Folder(keep.path().join("missing"));
    assert!(told(&missing)[0].contains("the folder cannot be read"));

    fs::write(keep.path().join("a.yaml"), "x".repeat(MAX_FILE_BYTES + 1)).unwrap();
    fs::write(keep.path().join("b.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    let said = told(&source);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("a.yaml: the file is larger than 262144 bytes"), "{said:?}");
    assert!(said[1].starts_with("b.yaml: the file cannot be read"), "{said:?}");
}

/// Words that say not, yes, no or everything would make a yes of what is none: "yes, never".
#[test]
fn words_that_name_no_command_are_refused() {
    for (words, found) in [("do not disturb", "not"), ("never", "never"), ("all", "all"), ("yes", "yes"), ("ok", "ok")]
    {
        let pack = BASIC.replace("en: [\n        cancel, cancel it", &format!("en: [\n        {words}, cancel it"));
        let (_keep, source) = folder(&[("basic.yaml", &pack)]);
        assert_eq!(
            told(&source),
            [format!(
                "/commands: pack basic: `says` of command order.cancel has \"{words}\", and \"{found}\" in it does not name a \
                 command. List only words that name what the command does, without yes, no, not or all."
            )]
        );
    }
}
