//! A statement as a database reads it.

use super::Statement;
use super::value::{Array, Rows, Scalar, Value};

/// How a database writes what the other writes differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// The text for this database, where the two differ.
    pub(in crate::storage) fn choose(self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }

    fn name(self) -> &'static str {
        self.choose("sqlite", "postgres")
    }

    /// Replaces what stands in braces by this database's form.
    fn expand(self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, (inside, after))) =
            rest.split_once('{').and_then(|(before, found)| Some((before, found.split_once('}')?)))
        {
            expanded.push_str(before);
            match (inside, self) {
                ("join", Self::Sqlite) => expanded.push_str("CROSS JOIN"),
                ("join", Self::Postgres) => expanded.push_str("JOIN"),
                _ => match (inside.strip_prefix("hex "), inside.split_once('|'), self) {
                    (Some(column), _, Self::Sqlite) => expanded.extend(["lower(hex(", column, "))"]),
                    (Some(column), _, Self::Postgres) => expanded.extend(["encode(", column, ", 'hex')"]),
                    (None, Some((on_sqlite, _)), Self::Sqlite) => expanded.push_str(on_sqlite),
                    (None, Some((_, on_postgres)), Self::Postgres) => expanded.push_str(on_postgres),
                    // Braces of another meaning, as in a path of JSON.
                    (None, None, _) => expanded.extend(["{", inside, "}"]),
                },
            }
            rest = after;
        }
        expanded.push_str(rest);
        expanded
    }
}

/// One parameter: SQLite gets lists and rows as one JSON text, PostgreSQL an array for each column.
#[derive(Debug, Clone)]
pub(in crate::storage) enum Parameter {
    Text(Option<String>),
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
    Bool(bool),
    Array(Array),
}

/// A text with numbered parameters, and the parameters in their order.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Rendered {
    pub(in crate::storage) sql: String,
    pub(in crate::storage) parameters: Vec<Parameter>,
}

impl Statement {
    pub(in crate::storage) fn render(mut self, dialect: Dialect) -> Rendered {
        let sql = format!("-- {}: {}\n", dialect.name(), self.name);
        let mut rendered = Rendered { sql, parameters: Vec::new() };
        // What stands for each value that occurred before.
        let mut known: Vec<(&str, String)> = Vec::new();
        let text = dialect.expand(&self.text);
        let mut rest: &str = &text;
        while let Some(at) = rest.find(':') {
            let (before, found) = rest.split_at(at);
            rendered.sql.push_str(before);
            rest = if let Some(after) = found.strip_prefix("::") {
                rendered.sql.push_str("::");
                after
            } else if let Some((_, stands)) = known.iter().find(|(bound, _)| *bound == name_at(&found[1..])) {
                rendered.sql.push_str(stands);
                &found[1 + name_at(&found[1..]).len()..]
            } else if let Some((name, value)) = self.take(name_at(&found[1..])) {
                let stands = rendered.parameter(value, dialect);
                rendered.sql.push_str(&stands);
                known.push((name, stands));
                &found[1 + name.len()..]
            } else {
                // A part of a literal, or a name that nothing is bound to: the database refuses that.
                rendered.sql.push(':');
                &found[1..]
            };
        }
        rendered.sql.push_str(rest);
        rendered
    }

    /// The value of this name, which is bound once, where it is named first.
    fn take(&mut self, name: &str) -> Option<(&'static str, Value)> {
        let at = self.values.iter().position(|(bound, _)| *bound == name)?;
        Some(self.values.swap_remove(at))
    }
}

/// The name at the start of a text.
fn name_at(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(text.len());
    &text[..end]
}

impl Rendered {
    /// Adds the parameters of a value; returns what stands for it in the text.
    fn parameter(&mut self, value: Value, dialect: Dialect) -> String {
        match (value, dialect) {
            (Value::One(scalar), _) => self.add(scalar.into()),
            (Value::List(array), Dialect::Sqlite) => {
                let element = array.of_json("value");
                let elements = (0..array.len()).map(|at| array.json(at)).collect::<Vec<_>>();
                let number = self.add(Parameter::Text(Some(format!("[{}]", elements.join(",")))));
                format!("SELECT {element} FROM json_each({number})")
            }
            (Value::List(array), Dialect::Postgres) => {
                let number = self.add(Parameter::Array(array));
                format!("SELECT unnest({number})")
            }
            (Value::Rows(rows), Dialect::Sqlite) => {
                let number = self.add(Parameter::Text(Some(rows.json())));
                let columns = rows.columns.iter().zip(&rows.arrays).enumerate();
                let columns = columns
                    .map(|(at, ((name, _), array))| format!("{} AS {name}", array.of_json(&format!("value->>{at}"))))
                    .collect::<Vec<_>>();
                format!("(SELECT {} FROM json_each({number}))", columns.join(", "))
            }
            (Value::Rows(rows), Dialect::Postgres) => {
                let names = rows.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                let arrays = rows.arrays.into_iter().map(|array| self.add(Parameter::Array(array)));
                let arrays = arrays.collect::<Vec<_>>().join(", ");
                format!("(SELECT * FROM unnest({arrays}) AS r ({names}))")
            }
        }
    }

    fn add(&mut self, parameter: Parameter) -> String {
        self.parameters.push(parameter);
        format!("${}", self.parameters.len())
    }
}

impl From<Scalar> for Parameter {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Text(text) => Self::Text(text),
            Scalar::Number(number) => Self::Number(number),
            Scalar::Bytes(bytes) => Self::Bytes(bytes),
            Scalar::Bool(truth) => Self::Bool(truth),
        }
    }
}

impl Array {
    fn len(&self) -> usize {
        match self {
            Self::Text(texts) => texts.len(),
            Self::Number(numbers) => numbers.len(),
            Self::Bytes(strings) => strings.len(),
        }
    }

    /// One element as JSON; bytes are in hexadecimal.
    fn json(&self, at: usize) -> String {
        let json = match self {
            Self::Text(texts) => serde_json::to_string(&texts[at]),
            Self::Number(numbers) => serde_json::to_string(&numbers[at]),
            Self::Bytes(strings) => serde_json::to_string(&strings[at].as_ref().map(hex::encode)),
        };
        // Serialization cannot fail; without an element the array is no JSON and the database refuses it.
        json.unwrap_or_default()
    }

    /// An expression for the element of a JSON array with the type that it had.
    fn of_json(&self, element: &str) -> String {
        match self {
            Self::Text(_) | Self::Number(_) => element.to_owned(),
            Self::Bytes(_) => format!("unhex({element})"),
        }
    }
}

impl Rows {
    /// The rows as a JSON array of arrays.
    fn json(&self) -> String {
        let mut json = String::from("[");
        for at in 0..self.len() {
            json.push_str(if at == 0 { "[" } else { ",[" });
            for (column, array) in self.arrays.iter().enumerate() {
                json.push_str(if column == 0 { "" } else { "," });
                json.push_str(&array.json(at));
            }
            json.push(']');
        }
        json.push(']');
        json
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::{Column, Type};
    use super::*;

    fn both(statement: &Statement) -> [Rendered; 2] {
        [Dialect::Sqlite, Dialect::Postgres].map(|dialect| statement.clone().render(dialect))
    }

    fn texts(rendered: &Rendered) -> Vec<&str> {
        let text = |parameter| match parameter {
            &Parameter::Text(Some(ref text)) => Some(text.as_str()),
            _ => None,
        };
        rendered.parameters.iter().filter_map(text).collect()
    }

    #[test]
    fn values_are_numbered_when_they_are_first_named() {
        let statement =
            Statement::new("a.b", "SELECT :later, :first WHERE x = :later AND y::text = 'k:v' LIMIT :limit")
                .bind("first", "1")
                .bind("unused", 9_i64)
                .bind("limit", 3_u32)
                .bind("later", "2");
        let [sqlite, postgres] = both(&statement);
        assert_eq!(sqlite.sql, "-- sqlite: a.b\nSELECT $1, $2 WHERE x = $1 AND y::text = 'k:v' LIMIT $3");
        assert_eq!(postgres.sql.split_once('\n'), Some(("-- postgres: a.b", &sqlite.sql[15..])));
        for rendered in [&sqlite, &postgres] {
            assert_eq!(texts(rendered), ["2", "1"]);
            assert!(matches!(rendered.parameters[..], [_, _, Parameter::Number(Some(3))]));
        }
    }

    #[test]
    fn lists_and_rows_are_queries() {
        const WANTED: [Column; 2] = [("stream_id", Type::Text), ("hash", Type::Bytes)];
        let rows = Value::rows(&WANTED, [["s".into(), vec![0xab_u8].into()]]);
        let text = "SELECT {hex l.a} FROM :wanted AS w {join} l ON l.id IN (:ids) WHERE {t|u} = :t";
        let [sqlite, postgres] =
            both(&Statement::new("n", text).bind("wanted", rows).bind("ids", Value::texts(["i", "j"])).bind("t", "t"));
        assert_eq!(
            sqlite.sql,
            "-- sqlite: n\nSELECT lower(hex(l.a)) FROM (SELECT value->>0 AS stream_id, unhex(value->>1) AS hash \
             FROM json_each($1)) AS w CROSS JOIN l ON l.id IN (SELECT value FROM json_each($2)) WHERE t = $3"
        );
        assert_eq!(
            postgres.sql,
            "-- postgres: n\nSELECT encode(l.a, 'hex') FROM (SELECT * FROM unnest($1, $2) AS r (stream_id, hash)) AS w \
             JOIN l ON l.id IN (SELECT unnest($3)) WHERE u = $4"
        );
        assert_eq!(texts(&sqlite), [r#"[["s","ab"]]"#, r#"["i","j"]"#, "t"]);
        let bytes = |parameter: &Parameter| matches!(parameter, Parameter::Array(Array::Bytes(b)) if b.len() == 1);
        assert!(bytes(&postgres.parameters[1]));
    }

    #[test]
    fn what_is_no_value_stays() {
        let text = "a::text #>> '{event,kind}' || ':' || b::text <> :unbound";
        for rendered in both(&Statement::new("n", text)) {
            assert_eq!(rendered.sql.split_once('\n').map(|(_, sql)| sql), Some(text));
        }
    }
}
