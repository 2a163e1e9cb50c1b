//! The paths under which a log's tiles are published ([C2SP tlog-tiles](https://c2sp.org/tlog-tiles)).
//!
//! ```text
//! tile/<level>/<index>[.p/<width>]      hashes of a level
//! tile/entries/<index>[.p/<width>]      the records of the same leaves
//! ```
//!
//! An index is written in groups of three digits, all but the last after an `x`: 1234067 is `x001/x234/067`.

use std::fmt;

use super::TileId;
use super::tiles::FULL;

/// The highest level that can have tiles, as the specification bounds it.
const MAX_LEVEL: u8 = 63;

/// Which hashes or records of a log are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TilePath {
    /// Hashes of a level, or records.
    pub kind: TileKind,
    /// Which tile of its level, from the left, counted from 0.
    pub index: u64,
    /// How many hashes or records of it: 256 of a full tile.
    pub width: usize,
}

/// What is published of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileKind {
    /// The hashes of a level.
    Hashes(u8),
    /// The records that the hashes of level 0 are of.
    Entries,
}

impl TilePath {
    /// Reads what follows `tile/`; none for any form other than the one that [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('/')?;
        let kind = match kind {
            "entries" => TileKind::Entries,
            level => TileKind::Hashes(level.parse().ok().filter(|level| *level <= MAX_LEVEL)?),
        };
        let (index, width) = match rest.split_once(".p/") {
            Some((index, width)) => (index, width.parse().ok().filter(|width| (1..FULL).contains(width))?),
            None => (rest, FULL),
        };
        let index = index.split('/').try_fold(0_u64, |index, group| {
            let digits =
                group.strip_prefix('x').unwrap_or(group).parse::<u64>().ok().filter(|digits| *digits < 1000)?;
            index.checked_mul(1000)?.checked_add(digits)
        })?;
        let path = Self { kind, index, width };
        // A tile has exactly one path: caches and mirrors use it as their key.
        (path.to_string() == text).then_some(path)
    }

    #[must_use]
    pub fn tile(&self) -> TileId {
        match self.kind {
            TileKind::Hashes(level) => TileId { level, index: self.index },
            TileKind::Entries => TileId { level: 0, index: self.index },
        }
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TileKind::Hashes(level) => write!(f, "{level}/")?,
            TileKind::Entries => f.write_str("entries/")?,
        }
        let mut above = Vec::new();
        let mut rest = self.index / 1000;
        while rest > 0 {
            above.push(rest % 1000);
            rest /= 1000;
        }
        for group in above.iter().rev() {
            write!(f, "x{group:03}/")?;
        }
        write!(f, "{:03}", self.index % 1000)?;
        if self.width < FULL { write!(f, ".p/{}", self.width) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_those_of_the_specification() {
        let cases = [
            ("0/x001/x234/067", TileKind::Hashes(0), 1_234_067, 256),
            ("1/000", TileKind::Hashes(1), 0, 256),
            ("0/x123/456.p/255", TileKind::Hashes(0), 123_456, 255),
            ("entries/003.p/1", TileKind::Entries, 3, 1),
        ];
        for (text, kind, index, width) in cases {
            let path = TilePath { kind, index, width };
            assert_eq!((TilePath::parse(text), path.to_string()), (Some(path), text.to_owned()));
        }
    }

    #[test]
    fn any_other_form_is_no_path() {
        let others = [
            "",
            "0",
            "0/",
            "0/1",
            "0/01",
            "0/0001",
            "0/x000/001",
            "0/001/002",
            "0/x001",
            "0/001.p/0",
            "0/001.p/256",
            "0/001.p/01",
            "0/001.p",
            "0/001.p/",
            "64/001",
            "-1/001",
            "+0/001",
            "00/001",
            "entry/001",
            "0/x1/001",
            "0/x999/x999/x999/x999/x999/x999/x999/999",
            "0/001/",
            "/0/001",
            "0//001",
            "entries/x1000/000",
        ];
        for text in others {
            assert_eq!(TilePath::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_tile_has_one_path(level in 0..=MAX_LEVEL, index: u64, width in 1..=FULL, entries: bool) {
            let kind = if entries { TileKind::Entries } else { TileKind::Hashes(level) };
            let path = TilePath { kind, index, width };
            prop_assert_eq!(TilePath::parse(&path.to_string()), Some(path));
        }
    }
}
