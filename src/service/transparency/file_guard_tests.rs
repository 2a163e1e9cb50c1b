//! What was signed is remembered by deployment, key and tenant, and nobody moves it from where it is not.

use super::*;
use crate::domain::canonical::Digest;

fn tenant(name: &str) -> TenantId {
    TenantId::new(name.to_owned()).unwrap()
}

fn signed(size: u64) -> Signed {
    let root = Digest::from_bytes([u8::try_from(size).unwrap(); 32]);
    Signed { origin: "log/production/a".to_owned(), size, root }
}

fn open(folder: &Path, prefix: &str, keys: &[&str], former: &[&Path]) -> FileGuard {
    let opening = Opening {
        folder: folder.to_owned(),
        protection: Protection::File,
        prefix: prefix.to_owned(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        former: former.iter().map(|&folder| folder.to_owned()).collect(),
    };
    FileGuard::open(opening).unwrap()
}

#[test]
fn a_guard_moves_on_only_from_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let open = || open(folder.path(), "log", &["k1"], &[]);
    let (guard, other, a) = (open(), open(), tenant("a"));
    assert_eq!(guard.latest(&a).unwrap(), None);
    assert!(guard.advance(&a, None, &signed(3)).unwrap());
    assert!(!other.advance(&a, None, &signed(4)).unwrap(), "somebody else was first");
    assert_eq!(other.latest(&a).unwrap(), Some(signed(3)));
    assert!(other.advance(&a, Some(&signed(3)), &signed(9)).unwrap());
    assert_eq!((guard.latest(&a).unwrap(), guard.latest(&tenant("b")).unwrap()), (Some(signed(9)), None));
    assert_eq!(guard.remembered().unwrap(), [(a.clone(), signed(9))]);
    let file = files_of(&folder.path().join("k1")).unwrap().pop().unwrap();
    std::fs::write(file, "nonsense").unwrap();
    assert!(guard.latest(&a).is_err() && guard.remembered().is_err(), "what cannot be read is not taken for nothing");
}

#[test]
fn databases_with_keys_or_names_of_their_own_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let a = tenant("a");
    open(folder.path(), "log", &["k1"], &[]).advance(&a, None, &signed(3)).unwrap();
    for (prefix, key) in [("log", "k2"), ("log/2", "k1")] {
        let other = open(folder.path(), prefix, &[key], &[]);
        assert_eq!((other.latest(&a).unwrap(), other.remembered().unwrap()), (None, vec![]), "{prefix} {key}");
    }
}

#[test]
fn a_new_key_takes_over_what_the_old_one_has_signed() {
    let folder = tempfile::tempdir().unwrap();
    let a = tenant("a");
    open(folder.path(), "log", &["old"], &[]).advance(&a, None, &signed(3)).unwrap();
    let both = open(folder.path(), "log", &["new", "old"], &[]);
    assert_eq!(both.latest(&a).unwrap(), Some(signed(3)));
    assert!(both.advance(&a, Some(&signed(3)), &signed(5)).unwrap());
    assert_eq!(both.remembered().unwrap(), [(a.clone(), signed(5))]);
    assert_eq!(open(folder.path(), "log", &["new"], &[]).latest(&a).unwrap(), Some(signed(5)));
}

#[test]
fn what_earlier_versions_remembered_is_taken_over_once() {
    let (folder, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let body = |signed: &Signed| Checkpoint::new(&signed.origin, signed.size, signed.root).unwrap().body();
    std::fs::write(beside.path().join("00.checkpoint"), body(&signed(3))).unwrap();
    let open = || open(folder.path(), "log", &["k1"], &[beside.path()]);
    let (guard, a) = (open(), tenant("a"));
    assert_eq!(guard.latest(&a).unwrap(), Some(signed(3)));
    guard.advance(&a, Some(&signed(3)), &signed(4)).unwrap();
    assert_eq!(open().latest(&a).unwrap(), Some(signed(4)), "the older word does not come back");
    std::fs::write(folder.path().join("00.checkpoint"), body(&signed(7))).unwrap();
    assert_eq!(open().latest(&a).unwrap(), Some(signed(7)), "a folder that was named before keeps its meaning");
}

#[cfg(unix)]
#[test]
fn nobody_else_looks_into_the_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("deep/guard");
    open(&made, "log", &["k1"], &[]);
    for path in [made.clone(), made.join("k1")] {
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
