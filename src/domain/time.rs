//! Instants and spans. Time is an argument here, never a call.

use std::fmt;

use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset as _, SecondsFormat, TimeDelta, TimeZone as _};
use serde::{Deserialize, Serialize};

/// An instant, in microseconds since the Unix epoch (UTC).
///
/// Microseconds because that is what PostgreSQL keeps: a finer instant would not survive a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// Why a text is not an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 date-time with an offset, such as 2026-11-20T15:04:05Z")]
pub struct TimestampError;

const MICROS: i64 = 1_000_000;
/// 0000-01-01 to 9999-12-30T22:00:00: what RFC 3339 can write in every zone.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200 * MICROS..=253_402_207_200 * MICROS;

impl Timestamp {
    /// An instant from microseconds since the epoch, held inside the years 0 to 9999.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(*RANGE.start(), *RANGE.end()))
    }

    /// An instant from whole seconds since the epoch, held inside the same years.
    #[must_use]
    pub fn from_seconds(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(MICROS))
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down: WhatsApp's resolution.
    #[must_use]
    pub fn whole_seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// Whether it falls on a whole second, as every stamp of WhatsApp does.
    #[must_use]
    pub fn is_whole_second(self) -> bool {
        self.0.rem_euclid(MICROS) == 0
    }

    /// This instant plus a number of seconds; stays in range.
    #[must_use]
    pub fn plus_seconds(self, seconds: u32) -> Self {
        Self::from_micros(self.0.saturating_add(i64::from(seconds) * MICROS))
    }

    /// This instant less a number of seconds; stays in range.
    #[must_use]
    pub fn minus_seconds(self, seconds: u32) -> Self {
        Self::from_micros(self.0.saturating_sub(i64::from(seconds) * MICROS))
    }

    /// Whole seconds from this instant until `later`, rounded up; 0 when `later` is not later.
    #[must_use]
    pub fn seconds_until(self, later: Self) -> u64 {
        let micros = u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0);
        micros.div_ceil(MICROS.unsigned_abs())
    }

    /// Reads an RFC 3339 date-time; a text without an offset is refused.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        // Rows hold thousands of instants, all of them as they are written here.
        if let Some(instant) = as_displayed(text) {
            return Ok(instant);
        }
        let instant = DateTime::parse_from_rfc3339(text).map_err(|_| TimestampError)?;
        // The library also takes a space for the T, and the minus sign of Unicode.
        let shaped = text.is_ascii() && matches!(text.as_bytes().get(10), Some(b'T' | b't'));
        let micros = instant.timestamp() * MICROS + within_second(instant.timestamp_subsec_micros());
        if shaped && RANGE.contains(&micros) { Ok(Self(micros)) } else { Err(TimestampError) }
    }
}

/// Microseconds within their second. The library counts a leap second on past a million; here it falls into the second
/// before it, so that no instant lies in the second after.
fn within_second(micros: u32) -> i64 {
    i64::from(micros) % MICROS
}

/// Reads an instant as [`Timestamp`] writes it, `2026-11-20T15:04:05.000000Z`; none for any other writing.
fn as_displayed(text: &str) -> Option<Timestamp> {
    const SHAPE: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
    let bytes: &[u8; 27] = text.as_bytes().try_into().ok()?;
    let shaped = |(byte, sign): (&u8, &u8)| if *sign == b'0' { byte.is_ascii_digit() } else { byte == sign };
    if !bytes.iter().zip(SHAPE).all(shaped) {
        return None;
    }
    let number = |from: usize, until: usize| {
        let digits = bytes.get(from..until).unwrap_or_default();
        digits.iter().fold(0_i64, |number, byte| number * 10 + i64::from(byte - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Days since the first of March of the year 0: the leap day comes last in its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = before + (153 * month + 2) / 5 + day - 1 - 719_468;
    let micros = (((days * 24 + hour) * 60 + minute) * 60 + second) * MICROS + number(20, 26);
    RANGE.contains(&micros).then_some(Timestamp(micros))
}

/// A zone in which a time without an offset is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone(chrono_tz::Tz);

impl Zone {
    /// The zone with an IANA name such as `America/Sao_Paulo`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().map(Self)
    }

    /// Reads a date-time without an offset, such as `2026-11-20T15:04:05`, as the wall clock of this zone. A time that
    /// the clocks skipped is read as if they had not been changed yet; of one that they repeated the first is meant.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<Timestamp> {
        let (date, time) = text.split_at_checked(10)?;
        let time = time.strip_prefix(['T', 't']).filter(|_| text.as_bytes()[0].is_ascii_digit())?;
        let text = format!("{date}T{time}");
        let whole = NaiveDateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M:%S%.f");
        let wall = whole.or_else(|_| NaiveDateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M")).ok()?;
        let instant = match self.0.from_local_datetime(&wall) {
            MappedLocalTime::Single(instant) | MappedLocalTime::Ambiguous(instant, _) => instant.naive_utc(),
            // No zone has skipped more than a day.
            MappedLocalTime::None => {
                let before = self.0.from_local_datetime(&wall.checked_sub_signed(TimeDelta::days(1))?).latest()?;
                wall.checked_sub_offset(before.offset().fix())?
            }
        }
        .and_utc();
        let micros = instant.timestamp() * MICROS + within_second(instant.timestamp_subsec_micros());
        RANGE.contains(&micros).then_some(Timestamp(micros))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::from_timestamp_micros(self.0) {
            Some(instant) => f.write_str(&instant.to_rfc3339_opts(SecondsFormat::Micros, true)),
            None => f.write_str("0000-01-01T00:00:00.000000Z"),
        }
    }
}

impl TryFrom<String> for Timestamp {
    type Error = TimestampError;
    fn try_from(text: String) -> Result<Self, TimestampError> {
        Self::parse(&text)
    }
}

impl From<Timestamp> for String {
    fn from(instant: Timestamp) -> String {
        instant.to_string()
    }
}

/// Where the present comes from. Read under the lock and nowhere else.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn instants_round_trip_with_six_digits() {
        let instant = Timestamp::from_micros(1_700_000_000_000_001);
        assert_eq!(instant.to_string(), "2023-11-14T22:13:20.000001Z");
        assert_eq!(Timestamp::parse(&instant.to_string()), Ok(instant));
        assert_eq!(Timestamp::parse("2023-11-14T19:13:20.000001-03:00"), Ok(instant));
        assert_eq!(Timestamp::parse("2023-11-14t22:13:20.000001999z"), Ok(instant));
        let leap = Timestamp::parse("2016-12-31T23:59:60.5Z").unwrap();
        assert_eq!(leap.to_string(), "2016-12-31T23:59:59.500000Z");
    }

    #[test]
    fn a_time_without_an_offset_is_read_in_a_zone() {
        let zone = Zone::named("America/Sao_Paulo").unwrap();
        let read = |text| zone.read(text).map(|instant| instant.to_string());
        assert_eq!(read("2026-11-20T15:04:05").as_deref(), Some("2026-11-20T18:04:05.000000Z"));
        assert_eq!(read("2026-11-20T15:04").as_deref(), Some("2026-11-20T18:04:00.000000Z"));
        let berlin = Zone::named("Europe/Berlin").unwrap();
        // Skipped by the clocks, and repeated by them.
        assert_eq!(berlin.read("2026-03-29T02:30:00"), Timestamp::parse("2026-03-29T03:30:00+02:00").ok());
        assert_eq!(berlin.read("2026-10-25T02:30:00"), Timestamp::parse("2026-10-25T02:30:00+02:00").ok());
        for text in
            ["", "2026-11-20", "15:04:05", "2026-11-20 15:04:05", "2026-13-20T15:04:05", "2026-11-20T15:04[UTC]"]
        {
            assert_eq!(zone.read(text), None, "{text}");
        }
        assert_eq!(Zone::named("Nowhere/Else"), None);
    }

    #[test]
    fn the_short_way_knows_leap_days() {
        let day = |day: &str| format!("{day}T00:00:00.000000Z");
        for (first, next) in [("2000-02-29", "2000-03-01"), ("2024-02-29", "2024-03-01"), ("1900-02-28", "1900-03-01")]
        {
            let (first, next) = (as_displayed(&day(first)).unwrap(), as_displayed(&day(next)).unwrap());
            assert_eq!(first.plus_seconds(86_400), next);
        }
        for none in ["1900-02-29", "2100-02-29", "2023-02-29", "2023-04-31", "2023-00-10", "2023-13-10", "2023-01-00"] {
            assert_eq!(as_displayed(&day(none)), None, "{none}");
            assert_eq!(Timestamp::parse(&day(none)), Err(TimestampError), "{none}");
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        for text in [
            "",
            "1700000000",
            "2023-11-14",
            "2023-11-14T22:13:20",
            "2023-11-14 22:13:20Z",
            "2023-11-14T22:13:20Z[UTC]",
            "2023-11-14T22:13:20-0300",
            "2023-11-14T22:13:20\u{2212}03:00",
            "2023-11-14T22:13:20,5Z",
            "+020000-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), Err(TimestampError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_reads_as_an_instant_writes_as_the_same_one(text in "\\PC{0,40}|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]{5,15}(Z|[+-][0-9]{2}:[0-9]{2})") {
            if let Ok(instant) = Timestamp::parse(&text) {
                prop_assert_eq!(Timestamp::parse(&instant.to_string()), Ok(instant));
            }
        }

        #[test]
        fn every_instant_writes_and_reads(micros in any::<i64>()) {
            let instant = Timestamp::from_micros(micros);
            prop_assert_eq!(Timestamp::parse(&instant.to_string()), Ok(instant));
        }

        /// The short way says what the calendar's library says, or nothing.
        #[test]
        fn the_short_way_is_the_library_s(
            text in "([01][0-9]{3}|20[0-9]{2}|9999|0000)-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{6}Z",
            micros in RANGE,
        ) {
            let library = |text: &str| DateTime::parse_from_rfc3339(text).ok().map(|instant| instant.timestamp_micros());
            if let Some(instant) = as_displayed(&text) {
                prop_assert_eq!(Some(instant.as_micros()), library(&text), "{}", text);
            }
            let written = Timestamp(micros).to_string();
            prop_assert_eq!(as_displayed(&written), Some(Timestamp(micros)));
            prop_assert_eq!(Some(micros), library(&written));
        }
    }

    #[test]
    fn spans_round_towards_safety() {
        let start = Timestamp::from_micros(0);
        assert_eq!(start.seconds_until(Timestamp::from_micros(1)), 1);
        assert_eq!(start.plus_seconds(1).seconds_until(start), 0);
        assert_eq!(Timestamp::from_micros(-1).whole_seconds(), -1);
    }
}
