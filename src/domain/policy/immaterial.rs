//! Fields of a command's target that may change between the question and the command.

use serde::{Deserialize, Serialize};

/// Dotted paths into a target, such as `note` or `payee.nickname`, in alphabetical order and none inside another.
///
/// A path stands for the member it names and for everything below it. It never reaches into a list, and a member whose
/// own name holds a dot cannot be named. Every field that no path stands for is material.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct ImmaterialFields(Vec<String>);

impl From<Vec<String>> for ImmaterialFields {
    fn from(paths: Vec<String>) -> Self {
        let inside_another = |path: &String| paths.iter().any(|other| other != path && lies_in(path, other));
        let mut outermost: Vec<String> = paths.iter().filter(|path| !inside_another(path)).cloned().collect();
        outermost.sort_unstable();
        outermost.dedup();
        Self(outermost)
    }
}

impl From<ImmaterialFields> for Vec<String> {
    fn from(fields: ImmaterialFields) -> Self {
        fields.0
    }
}

impl ImmaterialFields {
    /// Whether every field is material.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// What both sides let change. Where one names `payee` and the other `payee.nickname`, both let only the nickname
    /// change, so the longer path is the one that is left.
    #[must_use]
    pub fn in_both(&self, other: &Self) -> Self {
        let mut common = Vec::new();
        for one in &self.0 {
            for another in &other.0 {
                if lies_in(one, another) {
                    common.push(one.clone());
                } else if lies_in(another, one) {
                    common.push(another.clone());
                }
            }
        }
        Self::from(common)
    }

    /// Whether `other` lets everything change that this does.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|path| other.0.iter().any(|wider| lies_in(path, wider)))
    }
}

/// Whether a path names the same member as another, or one below it.
pub(super) fn lies_in(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(paths: &[&str]) -> ImmaterialFields {
        paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>().into()
    }

    #[test]
    fn a_path_inside_another_says_nothing_new() {
        for (written, kept) in [
            (&["note", "note"][..], &["note"][..]),
            (&["payee.nickname", "note", "payee"], &["note", "payee"]),
            (&["payee", "payee_note"], &["payee", "payee_note"]),
            (&["a.b.c", "a.b", "a.bc"], &["a.b", "a.bc"]),
            (&[], &[]),
        ] {
            assert!(fields(written).paths().eq(kept.iter().copied()), "{written:?}");
        }
    }

    #[test]
    fn only_what_both_sides_name_may_change() {
        for (one, other, common) in [
            (&["note"][..], &["note"][..], &["note"][..]),
            (&["note"], &["memo"], &[]),
            (&["note"], &[], &[]),
            (&["payee"], &["payee.nickname"], &["payee.nickname"]),
            (&["payee"], &["payee_note"], &[]),
            (&["payee.nickname"], &["payee.iban"], &[]),
            (&["a", "b.c"], &["a.x", "a.y", "b"], &["a.x", "a.y", "b.c"]),
        ] {
            assert_eq!(fields(one).in_both(&fields(other)), fields(common), "{one:?} {other:?}");
            assert_eq!(fields(other).in_both(&fields(one)), fields(common), "{other:?} {one:?}");
        }
    }

    #[test]
    fn a_narrower_set_is_within_a_wider_one() {
        for (narrow, wide, is) in [
            (&[][..], &[][..], true),
            (&[], &["note"], true),
            (&["note"], &[], false),
            (&["payee.nickname"], &["payee"], true),
            (&["payee"], &["payee.nickname"], false),
            (&["payee_note"], &["payee"], false),
        ] {
            assert_eq!(fields(narrow).is_within(&fields(wide)), is, "{narrow:?} {wide:?}");
        }
    }
}
