//! Values to bind.

use crate::domain::canonical::Digest;
use crate::domain::time::Timestamp;

/// A value to bind to a name.
#[derive(Debug, Clone)]
pub(in crate::storage) enum Value {
    One(Scalar),
    /// A query of one column with these elements.
    List(Array),
    /// A query of these columns.
    Rows(Rows),
}

#[derive(Debug, Clone)]
pub(in crate::storage) enum Scalar {
    Text(Option<String>),
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
    Bool(bool),
}

/// A column of a set of rows: its name and type.
pub(in crate::storage) type Column = (&'static str, Type);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::storage) enum Type {
    Text,
    Number,
    Bytes,
}

/// The values of one column.
#[derive(Debug, Clone)]
pub(in crate::storage) enum Array {
    Text(Vec<Option<String>>),
    Number(Vec<Option<i64>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

/// A set of rows, column by column.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Rows {
    pub(super) columns: &'static [Column],
    pub(super) arrays: Vec<Array>,
    len: usize,
}

impl Array {
    fn new(of: Type) -> Self {
        match of {
            Type::Text => Self::Text(Vec::new()),
            Type::Number => Self::Number(Vec::new()),
            Type::Bytes => Self::Bytes(Vec::new()),
        }
    }

    /// Adds a value. One of another type would be a fault of this program: it becomes null, which the schema refuses.
    fn push(&mut self, scalar: Scalar) {
        match (self, scalar) {
            (Self::Text(texts), Scalar::Text(text)) => texts.push(text),
            (Self::Number(numbers), Scalar::Number(number)) => numbers.push(number),
            (Self::Bytes(strings), Scalar::Bytes(bytes)) => strings.push(bytes),
            (array, scalar) => {
                debug_assert!(false, "{scalar:?} is of another type than its column");
                match array {
                    Self::Text(texts) => texts.push(None),
                    Self::Number(numbers) => numbers.push(None),
                    Self::Bytes(strings) => strings.push(None),
                }
            }
        }
    }
}

impl Rows {
    pub(in crate::storage) fn new(columns: &'static [Column]) -> Self {
        Self { columns, arrays: columns.iter().map(|(_, of)| Array::new(*of)).collect(), len: 0 }
    }

    /// Adds a row, which has a value for each column.
    pub(in crate::storage) fn add<const N: usize>(&mut self, row: [Scalar; N]) {
        debug_assert_eq!(N, self.columns.len(), "{:?}", self.columns);
        self.arrays.iter_mut().zip(row).for_each(|(array, scalar)| array.push(scalar));
        self.len += 1;
    }

    pub(in crate::storage) fn len(&self) -> usize {
        self.len
    }
}

impl Value {
    pub(in crate::storage) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::List(Array::Text(texts.into_iter().map(|text| Some(text.to_owned())).collect()))
    }

    pub(in crate::storage) fn digests<'a>(digests: impl IntoIterator<Item = &'a Digest>) -> Self {
        Self::byte_strings(digests.into_iter().map(|digest| digest.as_bytes().to_vec()))
    }

    pub(in crate::storage) fn byte_strings(strings: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self::List(Array::Bytes(strings.into_iter().map(Some).collect()))
    }

    pub(in crate::storage) fn rows<const N: usize>(
        columns: &'static [Column; N],
        rows: impl IntoIterator<Item = [Scalar; N]>,
    ) -> Self {
        let mut set = Rows::new(columns);
        rows.into_iter().for_each(|row| set.add(row));
        Self::Rows(set)
    }
}

impl<S: Into<Scalar>> From<S> for Value {
    fn from(scalar: S) -> Self {
        Self::One(scalar.into())
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<&str>> for Scalar {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<String> for Scalar {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<i64> for Scalar {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<u8> for Scalar {
    fn from(number: u8) -> Self {
        i64::from(number).into()
    }
}

impl From<u32> for Scalar {
    fn from(number: u32) -> Self {
        i64::from(number).into()
    }
}

/// A count or an index of this program.
impl From<u64> for Scalar {
    fn from(number: u64) -> Self {
        stored(number).into()
    }
}

impl From<bool> for Scalar {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

/// Microseconds since 1970, as every instant is stored.
impl From<Timestamp> for Scalar {
    fn from(time: Timestamp) -> Self {
        time.as_micros().into()
    }
}

impl From<Option<Timestamp>> for Scalar {
    fn from(time: Option<Timestamp>) -> Self {
        Self::Number(time.map(Timestamp::as_micros))
    }
}

impl From<Vec<u8>> for Scalar {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Some(bytes))
    }
}

impl From<&Digest> for Scalar {
    fn from(digest: &Digest) -> Self {
        digest.as_bytes().to_vec().into()
    }
}

impl From<Option<&Digest>> for Scalar {
    fn from(digest: Option<&Digest>) -> Self {
        Self::Bytes(digest.map(|digest| digest.as_bytes().to_vec()))
    }
}

/// A count as the databases store it: they know no numbers without a sign. Nothing that is counted here grows beyond
/// the range of `i64`.
pub(in crate::storage) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
