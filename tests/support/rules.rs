//! The shipped rules, which every server of a test reads and none changes: they are built once for a test program.

use std::sync::{Arc, LazyLock};

use cscp::domain::rulebook::Rulebook;
use cscp::packs::PackSource;

pub(crate) fn shipped() -> Arc<Rulebook> {
    static SHIPPED: LazyLock<Arc<Rulebook>> = LazyLock::new(|| Arc::new(PackSource::Shipped.load().unwrap()));
    Arc::clone(&SHIPPED)
}
