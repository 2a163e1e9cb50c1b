//! Just enough HTTP/1.1 to measure a server without measuring the client: kept connections, one request at a time on
//! each.

use std::cell::RefCell;
use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::response::{Response, read};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(35);
/// A connection that was free for longer is not trusted: a server or a balancer may be about to close it.
const STALE: Duration = Duration::from_secs(20);

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
                Some((connection, since)) if since.elapsed() < STALE => connection,
                _ => Connection::open(&self.address).await?,
            };
            connection.send(&self.text(request)).await?;
            let response = connection.receive().await?;
            if !response.closes {
                self.free.borrow_mut().push((connection, Instant::now()));
            }
            Ok(response)
        };
        timeout(PATIENCE, exchange).await.map_err(|_| Error::from(ErrorKind::TimedOut))?
    }

    fn text(&self, request: &Request<'_>) -> String {
        let Request { method, path, body, claim, revision } = *request;
        let (address, key, length) = (&self.address, &self.key, body.len());
        let mut text = String::with_capacity(256 + path.len() + length);
        for part in [method, " ", path, " HTTP/1.1\r\nHost: ", address, "\r\nAuthorization: Bearer ", key, "\r\n"] {
            text.push_str(part);
        }
        if let Some(claim) = claim {
            text.extend(["Idempotency-Key: ", claim, "\r\n"]);
        }
        if let Some(revision) = revision {
            text.extend(["If-Match: \"r", revision.to_string().as_str(), "\"\r\n"]);
        }
        if method == "GET" {
            text.push_str("\r\n");
        } else {
            text.push_str("Content-Type: application/json\r\nContent-Length: ");
            text.extend([length.to_string().as_str(), "\r\n\r\n", body]);
        }
        text
    }
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    piece: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::new(), piece: vec![0; 16_384] })
    }

    async fn send(&self, text: &str) -> Result<(), Error> {
        let mut bytes = text.as_bytes();
        while !bytes.is_empty() {
            match self.stream.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<Response, Error> {
        self.received.clear();
        loop {
            self.stream.readable().await?;
            match self.stream.try_read(&mut self.piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.received.extend_from_slice(&self.piece[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            }
            let response = read(&self.received).map_err(|why| Error::new(ErrorKind::InvalidData, why.0))?;
            if let Some(response) = response {
                return Ok(response);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_written_as_http() {
        let server = Server::new("localhost:80", "cscp_key");
        let request = Request { method: "PUT", path: "/a", body: "{}", claim: Some("k"), revision: Some(7) };
        let expected = "PUT /a HTTP/1.1\r\nHost: localhost:80\r\nAuthorization: Bearer cscp_key\r\n\
                        Idempotency-Key: k\r\nIf-Match: \"r7\"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(server.text(&request), expected);
        let expected = "GET /b HTTP/1.1\r\nHost: localhost:80\r\nAuthorization: Bearer cscp_key\r\n\r\n";
        assert_eq!(server.text(&Request::get("/b")), expected);
    }
}
