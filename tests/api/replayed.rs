//! What every test of the wire leaves behind is what its log says: rows and log are compared when its server is dropped.

use std::sync::Arc;

use cscp::domain::time::Clock;
use cscp::service::replay_tenant;

use crate::place::{Place, file};

/// Folds the log of every tenant anew, in a thread of its own, because whoever drops a server cannot wait.
pub(crate) fn holds(place: Arc<Place>, clock: Arc<dyn Clock>) {
    if std::thread::panicking() {
        return;
    }
    let folded = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = place.open(Arc::clone(&clock), 1).await;
            let mut wrong = Vec::new();
            for tenant in store.tenants().await.unwrap() {
                let report = replay_tenant(store.as_ref(), &tenant, clock.now(), &mut |_| {}).await.unwrap();
                if !report.is_equal() {
                    wrong.push((tenant.tenant_id, report));
                }
            }
            store.close().await;
            wrong
        })
    });
    let wrong = folded.join().unwrap();
    assert!(wrong.is_empty(), "rows are not as the log says: {wrong:#?}");
}

/// A statement behind the program's back, in words that both databases know; says how many rows it changed.
pub(crate) async fn change(place: &Place, sql: &'static str) -> u64 {
    match place {
        Place::File(folder) => {
            let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", file(folder).display())).await.unwrap();
            let done = sqlx::query(sql).execute(&pool).await.unwrap();
            pool.close().await;
            done.rows_affected()
        }
        Place::Server(url) => {
            let pool = sqlx::PgPool::connect(url).await.unwrap();
            let done = sqlx::query(sql).execute(&pool).await.unwrap();
            pool.close().await;
            done.rows_affected()
        }
    }
}
