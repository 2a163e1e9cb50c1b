//! What is published is what is read, on every server, whatever that one brings along.

use super::{NamedText, PackSource, set_hash, shipped};

fn named(path: &str, text: &str) -> NamedText {
    (path.to_owned(), text.to_owned())
}

#[test]
fn a_set_reads_back_as_it_was_and_brings_its_own_lexicons() {
    let files = PackSource::Shipped.files().unwrap();
    let paths = files.to_paths();
    assert!(paths.iter().any(|(path, _)| path == "lexicons/pt-BR.yaml") && paths.is_sorted());
    let source = PackSource::Published(paths.clone());
    assert_eq!(source.files().unwrap(), files);
    assert_eq!(source.load().unwrap().book().packs().count(), shipped::PACKS.len());
    // What the program brings along is not mixed in: the packs name lexicons that the set does not have.
    let without: Vec<NamedText> = paths.into_iter().filter(|(path, _)| !path.starts_with("lexicons/")).collect();
    let errors = PackSource::Published(without).load().unwrap_err();
    assert!(errors[0].to_string().contains("no lexicon file has that locale"), "{errors:?}");
}

#[test]
fn files_of_a_kind_that_is_not_known_are_refused() {
    let mut paths = PackSource::Shipped.files().unwrap().to_paths();
    for path in ["notes.txt", "extras/a.yaml", "lexicons/../a.yaml", "lexicons/a.json", ".a.yaml", "a\\b.yaml"] {
        paths.push(named(path, "x"));
        let errors = PackSource::Published(paths.clone()).load().unwrap_err();
        assert!(errors.len() == 1 && errors[0].to_string().starts_with(path), "{path}: {errors:?}");
        paths.pop();
    }
    assert_eq!(PackSource::Published(Vec::new()).load().unwrap_err().len(), 1);
}

#[test]
fn the_hash_names_paths_and_texts_and_not_their_order() {
    let (a, b) = (named("a.yaml", "x"), named("b.yaml", "y"));
    let hash = set_hash(&[a.clone(), b.clone()]).unwrap();
    assert_eq!(hash, "sha256:5c7ac98a9fa6979048318269b4f8e6db75b16b8ff2918c0d0c377a77db5d908a");
    assert_eq!(set_hash(&[b.clone(), a]).unwrap(), hash);
    for other in [named("c.yaml", "x"), named("a.yaml", "y"), named("a.yaml", "x ")] {
        assert_ne!(set_hash(&[other, b.clone()]).unwrap(), hash);
    }
}
