//! Knowing a database server that was a primary once from the one that took its place.

/// Remembers, outside of every database, the highest timeline that was seen of each PostgreSQL system. A server that
/// starts after a failover knows a former primary by it.
pub trait Timelines: Send + Sync {
    /// The highest timeline of a system; 0 if none was seen.
    fn highest(&self, system: &str) -> Result<i64, String>;

    /// Remembers a higher one.
    fn raise(&self, system: &str, timeline: i64) -> Result<(), String>;
}
