//! The listener: accepts connections up to a limit, closes those that make it wait, and shuts down in order.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, EXPECT, HeaderValue};
use axum::http::{Request, Response, StatusCode};
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connections::{Connections, Patience, Pulse, Taken, Working};
use super::problem::{PROBLEM_JSON, Problem};
use super::socket::Socket;
use super::unread::lend;

/// Pause after the system refused a connection for lack of descriptors or memory.
const PAUSE: Duration = Duration::from_millis(100);
/// The limit of a request's head and of a connection's buffer, in bytes. There may be at most 100 header fields.
const HEAD_BYTES: usize = 32 << 10;
/// How many connections at once are told that the server is full. Further ones are closed without an answer.
const TURNED_AWAY_AT_ONCE: usize = 64;
/// The time for telling one.
const TURNING_AWAY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub struct ListenLimits {
    pub connections: usize,
    /// Open connections of one address (with IPv6, of one network of 64 bits).
    pub of_one_address: usize,
    /// Time limits of connections.
    pub patience: Patience,
    /// The time for accepted requests after a stop was requested.
    pub drain: Duration,
}

impl Default for ListenLimits {
    /// Connections may be idle longer than load balancers keep theirs (usually 60 s), so that the balancer closes them
    /// and no request meets a closing connection. The drain is shorter than the ten seconds after which containers are
    /// killed.
    fn default() -> Self {
        let head = Duration::from_secs(10);
        let patience = Patience { head, idle: Duration::from_secs(75), taking: Duration::from_secs(30) };
        Self { connections: 4_096, of_one_address: 1_024, patience, drain: Duration::from_secs(8) }
    }
}

/// Serves until `stop`, then finishes what was accepted. Returns whether all of it ended in time.
pub async fn listen(listener: TcpListener, app: Router, limits: ListenLimits, stop: impl Future<Output = ()>) -> bool {
    let mut stop = pin!(stop);
    let (stopping, stopped) = watch::channel(false);
    let all = Arc::new(Connections::new(limits.connections, limits.of_one_address));
    let (mut open, mut turned_away) = (JoinSet::new(), JoinSet::new());
    let mut names = 0..;
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = open.join_next() => {}
            Some(_) = turned_away.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    if let Some(taken) = names.next().and_then(|name| all.take(name, peer.ip())) {
                        open.spawn(serve(stream, app.clone(), taken, limits.patience, stopped.clone()));
                    } else {
                        metrics::counter!("cscp_connections_ended_total", "reason" => "turned_away").increment(1);
                        if turned_away.len() < TURNED_AWAY_AT_ONCE {
                            turned_away.spawn(turn_away(stream, peer.ip()));
                        }
                    }
                }
                Err(error) if is_the_callers(&error) => {}
                Err(error) => {
                    let made_room = all.let_one_go();
                    tracing::warn!(http.error = %error, made_room, "a connection could not be accepted; trying again");
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
    // Connections that are left are closed with the set.
    tokio::time::timeout(limits.drain, ended).await.is_ok()
}

/// Whether the error concerns only the connection that was to be accepted.
fn is_the_callers(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Serves one connection; after a stop was requested, until its current request is answered.
async fn serve(stream: TcpStream, app: Router, taken: Taken, patience: Patience, mut stopped: watch::Receiver<bool>) {
    let pulse = Arc::clone(&taken.pulse);
    let app = TowerToHyperService::new(app);
    let answering = Arc::clone(&pulse);
    let service = service_fn(move |request| answer(app.clone(), Arc::clone(&answering), request));
    let mut builder = http1::Builder::new();
    // Hyper's own limit cannot distinguish a slow head from an idle connection.
    builder.timer(TokioTimer::new()).header_read_timeout(None).max_header_size(HEAD_BYTES).max_buf_size(HEAD_BYTES);
    let socket = TokioIo::new(Socket::new(stream, Arc::clone(&pulse)));
    let mut connection = pin!(builder.serve_connection(socket, service));
    let mut leaving = false;
    let ended = loop {
        tokio::select! {
            ended = connection.as_mut() => break ended,
            // A closed channel means that the server is stopping.
            _ = stopped.wait_for(|stopped| *stopped), if !leaving => {}
            why = pulse.ended(&patience, leaving) => {
                metrics::counter!("cscp_connections_ended_total", "reason" => why.as_str()).increment(1);
                if leaving || !pulse.may_answer(why) {
                    return;
                }
            }
        }
        leaving = true;
        connection.as_mut().graceful_shutdown();
    };
    if let Err(error) = ended {
        tracing::debug!(http.error = %error, "a connection failed");
    }
}

/// Answers one request. The next request on the connection must not be lost: the rest of an unread body is discarded,
/// or the answer announces that the connection closes.
async fn answer(
    app: TowerToHyperService<Router>,
    pulse: Arc<Pulse>,
    request: Request<Incoming>,
) -> Result<Response<Told>, Infallible> {
    let working = pulse.work();
    let waits_to_be_asked = request.headers().contains_key(EXPECT);
    let (parts, body) = request.into_parts();
    let (lent, lender) = lend(body, waits_to_be_asked);
    let mut response = app.call(Request::from_parts(parts, lent)).await?;
    if !lender.finish().await {
        pulse.leave_unread();
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Told { body, _working: working }))
}

/// The body of an answer. The request ends when it was sent.
struct Told {
    body: Body,
    _working: Working,
}

impl hyper::body::Body for Told {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Answers a connection for which there is no place, because all are in use.
async fn turn_away(stream: TcpStream, address: IpAddr) {
    let problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "too_many_connections",
        "this server answers as many requests as it can at once; nothing was done, so repeat the request",
    );
    let body = problem.to_value(None).to_string();
    let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1";
    let length = body.len();
    let text = format!("{head}\r\nContent-Type: {PROBLEM_JSON}\r\nContent-Length: {length}\r\n\r\n{body}");
    let pulse = Arc::new(Pulse::new(address));
    pulse.leave_unread();
    let mut socket = Socket::new(stream, pulse);
    let told = async {
        socket.write_all(text.as_bytes()).await?;
        socket.shutdown().await
    };
    // A client that has gone or does not read needs no answer.
    drop(tokio::time::timeout(TURNING_AWAY, told).await);
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
