//! Calls of a server: kept connections, one request at a time on each.

use std::cell::RefCell;
use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, IF_MATCH, RETRY_AFTER};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(35);
/// A connection that was free for longer is not trusted: a server or a balancer may be about to close it.
const STALE: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// `Idempotent-Replayed: true`.
    pub(crate) replayed: bool,
    /// `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Vec<u8>,
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The method.
    pub(crate) method: &'static str,
    /// The path.
    pub(crate) path: &'a str,
    /// The body: JSON, or nothing.
    pub(crate) body: &'a str,
    /// The `Idempotency-Key`, where one is needed.
    pub(crate) claim: Option<&'a str>,
    /// The revision that the request expects, for `If-Match`.
    pub(crate) revision: Option<u64>,
}

impl<'a> Request<'a> {
    /// A `POST` without an `Idempotency-Key`.
    pub(crate) fn post(path: &'a str, body: &'a str) -> Self {
        Self { method: "POST", path, body, claim: None, revision: None }
    }

    /// A `GET`.
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, body: "", claim: None, revision: None }
    }
}

type Connection = SendRequest<Full<Bytes>>;

/// A server and the connections to it that are free at the moment.
pub(crate) struct Server {
    address: String,
    key: String,
    /// The one used last is on top, so what is not needed grows stale at the bottom.
    free: RefCell<Vec<(Connection, Instant)>>,
}

impl Server {
    /// The server at `host:port`, called with this key.
    pub(crate) fn new(address: &str, key: &str) -> Self {
        Self { address: address.to_owned(), key: key.to_owned(), free: RefCell::default() }
    }

    /// Sends a request over a connection that nobody uses. One that fails is thrown away.
    pub(crate) async fn call(&self, request: &Request<'_>) -> Result<Response, Error> {
        let exchange = async {
            let free = self.free.borrow_mut().pop();
            let mut connection = match free {
                Some((connection, since)) if since.elapsed() < STALE && connection.is_ready() => connection,
                _ => self.connect().await?,
            };
            let (head, body) = connection.send_request(self.text(request)?).await.map_err(Error::other)?.into_parts();
            let body = body.collect().await.map_err(Error::other)?.to_bytes().to_vec();
            if !connection.is_closed() {
                self.free.borrow_mut().push((connection, Instant::now()));
            }
            let header = |name| text_of(&head.headers, name);
            Ok(Response {
                status: head.status.as_u16(),
                replayed: header("idempotent-replayed") == Some("true"),
                retry_after: header(RETRY_AFTER.as_str()).and_then(|seconds| seconds.parse().ok()),
                body,
            })
        };
        timeout(PATIENCE, exchange).await.map_err(|_| Error::from(ErrorKind::TimedOut))?
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (connection, driver) = handshake(TokioIo::new(stream)).await.map_err(Error::other)?;
        // It ends with the connection; what went wrong is told to the request that was under way.
        tokio::task::spawn_local(driver);
        Ok(connection)
    }

    fn text(&self, request: &Request<'_>) -> Result<hyper::Request<Full<Bytes>>, Error> {
        let Request { method, path, body, claim, revision } = *request;
        let mut built = hyper::Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.address)
            .header(AUTHORIZATION, format!("Bearer {}", self.key));
        if let Some(claim) = claim {
            built = built.header("idempotency-key", claim);
        }
        if let Some(revision) = revision {
            built = built.header(IF_MATCH, format!("\"r{revision}\""));
        }
        if method != "GET" {
            built = built.header(CONTENT_TYPE, "application/json");
        }
        built.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).map_err(Error::other)
    }
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
