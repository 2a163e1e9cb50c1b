//! A statement as a database reads it.

use super::Statement;
use super::value::{Column, Scalar, Type, Value};

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
#[derive(Debug, Clone, PartialEq)]
pub(in crate::storage) enum Parameter {
    Text(Option<String>),
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
    Bool(bool),
    Texts(Vec<Option<String>>),
    Numbers(Vec<Option<i64>>),
    ByteStrings(Vec<Option<Vec<u8>>>),
}

/// A text with numbered parameters, and the parameters in their order.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::storage) struct Rendered {
    pub(in crate::storage) sql: String,
    pub(in crate::storage) parameters: Vec<Parameter>,
}

impl Statement {
    pub(in crate::storage) fn render(&self, dialect: Dialect) -> Rendered {
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
            } else if let Some((name, value, after)) = self.named(&found[1..]) {
                if !known.iter().any(|(bound, _)| *bound == name) {
                    known.push((name, rendered.parameter(value, dialect)));
                }
                let stands = known.iter().find(|(bound, _)| *bound == name);
                rendered.sql.push_str(stands.map_or("", |(_, stands)| stands));
                after
            } else {
                // A part of a literal, or a name that nothing is bound to: the database refuses that.
                rendered.sql.push(':');
                &found[1..]
            };
        }
        rendered.sql.push_str(rest);
        rendered
    }

    /// The value whose name is at the start of a text, and the text after the name.
    fn named<'t>(&self, text: &'t str) -> Option<(&'static str, &Value, &'t str)> {
        let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(text.len());
        let (name, after) = text.split_at(end);
        self.values.iter().find(|(bound, _)| *bound == name).map(|(bound, value)| (*bound, value, after))
    }
}

impl Rendered {
    /// Adds the parameters of a value; returns what stands for it in the text.
    fn parameter(&mut self, value: &Value, dialect: Dialect) -> String {
        match (value, dialect) {
            (Value::One(scalar), _) => self.add(scalar.clone().into()),
            (Value::List(of, scalars), Dialect::Sqlite) => {
                let array: serde_json::Value = scalars.iter().map(json).collect();
                let number = self.add(Parameter::Text(Some(array.to_string())));
                format!("SELECT {} FROM json_each({number})", of_json(*of, "value"))
            }
            (Value::List(of, scalars), Dialect::Postgres) => {
                let number = self.add(array(*of, scalars.iter()));
                format!("SELECT unnest({number})")
            }
            (Value::Rows(columns, rows), Dialect::Sqlite) => {
                let row = |row: &Vec<Scalar>| row.iter().map(json).collect::<serde_json::Value>();
                let array: serde_json::Value = rows.iter().map(row).collect();
                let number = self.add(Parameter::Text(Some(array.to_string())));
                format!("(SELECT {} FROM json_each({number}))", columns_of_json(columns))
            }
            (Value::Rows(columns, rows), Dialect::Postgres) => {
                let numbers: Vec<String> = columns
                    .iter()
                    .enumerate()
                    .map(|(at, (_, of))| self.add(array(*of, rows.iter().filter_map(|row| row.get(at)))))
                    .collect();
                let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
                format!("(SELECT * FROM unnest({}) AS r ({}))", numbers.join(", "), names.join(", "))
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

fn json(scalar: &Scalar) -> serde_json::Value {
    match scalar {
        Scalar::Text(text) => text.clone().into(),
        Scalar::Number(number) => (*number).into(),
        Scalar::Bytes(bytes) => bytes.as_ref().map(hex::encode).into(),
        Scalar::Bool(truth) => (*truth).into(),
    }
}

/// The element of a JSON array with the type that it had.
fn of_json(of: Type, element: &str) -> String {
    match of {
        Type::Text | Type::Number => element.to_owned(),
        Type::Bytes => format!("unhex({element})"),
    }
}

fn columns_of_json(columns: &[Column]) -> String {
    let column = |(at, (name, of)): (usize, &Column)| format!("{} AS {name}", of_json(*of, &format!("value->>{at}")));
    columns.iter().enumerate().map(column).collect::<Vec<_>>().join(", ")
}

fn array<'a>(of: Type, scalars: impl Iterator<Item = &'a Scalar>) -> Parameter {
    let texts = |scalar: &Scalar| if let Scalar::Text(text) = scalar { text.clone() } else { None };
    let numbers = |scalar: &Scalar| if let Scalar::Number(number) = scalar { *number } else { None };
    let bytes = |scalar: &Scalar| if let Scalar::Bytes(bytes) = scalar { bytes.clone() } else { None };
    match of {
        Type::Text => Parameter::Texts(scalars.map(texts).collect()),
        Type::Number => Parameter::Numbers(scalars.map(numbers).collect()),
        Type::Bytes => Parameter::ByteStrings(scalars.map(bytes).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(statement: &Statement) -> [Rendered; 2] {
        [Dialect::Sqlite, Dialect::Postgres].map(|dialect| statement.render(dialect))
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
        let text = |text: &str| Parameter::Text(Some(text.to_owned()));
        assert_eq!(sqlite.parameters, [text("2"), text("1"), Parameter::Number(Some(3))]);
        assert_eq!(postgres.parameters, sqlite.parameters);
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
        assert_eq!(sqlite.parameters[0], Parameter::Text(Some(r#"[["s","ab"]]"#.to_owned())));
        assert_eq!(postgres.parameters[1], Parameter::ByteStrings(vec![Some(vec![0xab])]));
    }

    #[test]
    fn what_is_no_value_stays() {
        let text = "a::text #>> '{event,kind}' || ':' || b::text <> :unbound";
        for rendered in both(&Statement::new("n", text)) {
            assert_eq!(rendered.sql.split_once('\n').map(|(_, sql)| sql), Some(text));
        }
    }
}
