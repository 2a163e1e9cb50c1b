//! JSON bodies in PostgreSQL's expressions.

/// An expression that reads a text of JSON as `jsonb`, whatever its strings hold: `jsonb!("c.body")`.
///
/// JSON may contain U+0000, written as the escape `\u0000`, and bodies from callers do. PostgreSQL's text cannot
/// contain that character, so a cast of such a body to `jsonb`, and every access to it as `json`, fails with error
/// 22P05, and with it the whole statement. This expression therefore replaces it by U+FFFD. No id and no member name
/// that this program writes contains U+0000, so searched values are unchanged.
///
/// An escaped backslash before `u0000` is not such an escape. So all escaped backslashes are first replaced by a raw
/// U+0001, which cannot occur in JSON; `replace` works from the left, and so splits a run of backslashes as a JSON
/// parser does.
macro_rules! jsonb {
    ($text:literal) => {
        concat!(
            "(replace(replace(replace(",
            $text,
            r", E'\\\\', E'\x01'), E'\\u0000', E'\\ufffd'), E'\x01', E'\\\\')::jsonb)"
        )
    };
}

pub(in crate::storage) use jsonb;

/// The text of a migration as it is run. Published migrations cast bodies directly. Their texts cannot be changed,
/// because databases store their checksums, so the text is changed when it is run.
pub(in crate::storage) fn step_text(published: &str) -> String {
    published.replace("c.body::jsonb", jsonb!("c.body")).replace("body::jsonb", jsonb!("body"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_run_without_a_bare_cast() {
        let steps = sqlx::migrate!("migrations/postgres");
        let mut published = 0;
        for step in steps.iter() {
            let (text, run) = (step.sql.as_str(), step_text(step.sql.as_str()));
            published += text.matches("::json").count();
            assert_eq!(
                run.matches("::json").count(),
                run.matches("'\\\\\\\\')::json").count(),
                "{}: {run}",
                step.version
            );
        }
        assert_eq!(published, 12, "what was published does not change");
    }
}
