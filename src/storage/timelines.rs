//! Recognises a former PostgreSQL primary after a failover.

/// Stores the highest timeline seen of each PostgreSQL system, outside of every database. A server that starts after a
/// failover recognises a former primary by its lower timeline.
pub trait Timelines: Send + Sync {
    /// The highest timeline of a system; 0 if none was seen.
    fn highest(&self, system: &str) -> Result<i64, String>;

    /// Stores a timeline if it is higher.
    fn raise(&self, system: &str, timeline: i64) -> Result<(), String>;
}
