//! Bodies that a statement looks into.

/// An expression that reads a text of JSON as `jsonb`, whatever its strings hold: `jsonb!("c.body")`.
///
/// JSON may hold U+0000, written as the escape `\u0000`, and what callers send does. PostgreSQL's own text cannot hold
/// that character, so a cast of such a body to `jsonb`, and every look into it as `json`, fails with error 22P05: the whole
/// statement fails, and with it every row beside that one. This expression therefore writes the replacement character
/// U+FFFD in its place. No id and no name of a member that this program writes holds U+0000, so what statements look for
/// comes out as it is.
///
/// An escaped backslash before `u0000` is no such escape. All escaped backslashes are put aside first, as a raw U+0001, which
/// cannot stand in JSON; `replace` goes from the left and so takes a row of backslashes apart as a reader of JSON does.
macro_rules! jsonb {
    ($text:literal) => {
        concat!(
            "(replace(replace(replace(",
            $text,
            r", E'\\\\', E'\x01'), E'\\u0000', E'\\ufffd'), E'\x01', E'\\\\')::jsonb)"
        )
    };
}

pub(super) use jsonb;

/// The text of a step of the schema as it is run. Steps that were published cast bodies as they are. Their texts are not to
/// be changed, because databases hold their checksums: only what is run is.
pub(super) fn step_text(published: &str) -> String {
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
