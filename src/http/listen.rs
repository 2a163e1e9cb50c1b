//! The listener: takes connections, as many as it may, gives up on heads that do not come, and ends in order.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long nothing is taken after the system refused a connection, for want of descriptors or memory.
const PAUSE: Duration = Duration::from_secs(1);

/// The limits of a listener.
#[derive(Debug, Clone, Copy)]
pub struct ListenLimits {
    /// Open connections. Further ones wait in the system's backlog.
    pub connections: usize,
    /// How long the head of a request may take to arrive, and how long a connection may be idle before the next one.
    pub head_timeout: Duration,
    /// How long accepted requests may take after a stop was asked for.
    pub drain: Duration,
}

impl Default for ListenLimits {
    /// A connection may be idle longer than balancers keep theirs (60 s is common), so that it is they who close it and
    /// no request meets a closed door. The drain is shorter than the ten seconds after which containers are killed.
    fn default() -> Self {
        Self { connections: 4_096, head_timeout: Duration::from_secs(75), drain: Duration::from_secs(8) }
    }
}

/// Serves until `stop`, then finishes what was accepted. Says whether all of it ended in time.
pub async fn listen(listener: TcpListener, app: Router, limits: ListenLimits, stop: impl Future<Output = ()>) -> bool {
    let mut stop = pin!(stop);
    let (stopping, stopped) = watch::channel(false);
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = open.join_next() => {}
            accepted = listener.accept(), if open.len() < limits.connections => match accepted {
                Ok((stream, _)) => {
                    open.spawn(serve(stream, app.clone(), limits.head_timeout, stopped.clone()));
                }
                Err(error) if is_the_callers(&error) => {}
                Err(error) => {
                    tracing::warn!(http.error = %error, "no connection can be taken at the moment");
                    if tokio::time::timeout(PAUSE, &mut stop).await.is_ok() {
                        break;
                    }
                }
            },
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let ended = async { while open.join_next().await.is_some() {} };
    // Those that are left end with the set.
    tokio::time::timeout(limits.drain, ended).await.is_ok()
}

/// Whether only the connection failed that was to be taken.
fn is_the_callers(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Serves one connection; once a stop is asked for, up to the answer that it owes.
async fn serve(stream: TcpStream, app: Router, head_timeout: Duration, stopped: watch::Receiver<bool>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head_timeout);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app)));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = until(stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(http.error = %error, "a connection broke off");
    }
}

/// Waits for the word to stop; a sender that is gone has nothing else to say.
async fn until(mut stopped: watch::Receiver<bool>) {
    drop(stopped.wait_for(|stopped| *stopped).await);
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
