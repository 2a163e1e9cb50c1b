//! Just enough HTTP/1.1 to measure a server without measuring the client: one connection, one request at a time.

use std::io::{Error, ErrorKind};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take before the run is called off.
const PATIENCE: Duration = Duration::from_secs(35);

/// One request.
pub(crate) struct Request<'a> {
    /// The method.
    pub(crate) method: &'static str,
    /// The path.
    pub(crate) path: &'a str,
    /// The body.
    pub(crate) body: &'a Value,
    /// The `Idempotency-Key`, where one is needed.
    pub(crate) claim: Option<&'a str>,
}

/// A connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    host: String,
    key: String,
    received: Vec<u8>,
    chunk: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(address: &str, key: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: address.to_owned(), key: key.to_owned(), received: Vec::new(), chunk: vec![0; 16_384] })
    }

    /// Sends a request and reads its answer: status and body.
    pub(crate) async fn call(&mut self, request: &Request<'_>) -> Result<(u16, Value), Error> {
        let body = request.body.to_string();
        let claim = request.claim.map(|claim| format!("Idempotency-Key: {claim}\r\n")).unwrap_or_default();
        let text = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n{claim}\
             Content-Length: {}\r\n\r\n{body}",
            request.method,
            request.path,
            self.host,
            self.key,
            body.len()
        );
        let exchange = async {
            self.send(text.as_bytes()).await?;
            self.receive().await
        };
        timeout(PATIENCE, exchange).await.map_err(|_| Error::from(ErrorKind::TimedOut))?
    }

    async fn send(&self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            match self.stream.try_write(bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<(u16, Value), Error> {
        self.received.clear();
        loop {
            if let Some((status, body)) = answer(&self.received)? {
                return Ok((status, serde_json::from_slice(body).unwrap_or(Value::Null)));
            }
            self.stream.readable().await?;
            match self.stream.try_read(&mut self.chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.received.extend_from_slice(self.chunk.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Status and body, once both are there.
fn answer(received: &[u8]) -> Result<Option<(u16, &[u8])>, Error> {
    let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
    let (head, body) = received.split_at(end + 4);
    let head = std::str::from_utf8(head).map_err(|_| Error::from(ErrorKind::InvalidData))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| Error::from(ErrorKind::InvalidData))?;
    let lengths = head.lines().filter_map(|line| line.split_once(':'));
    let mut length =
        lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")).map(|(_, value)| value.trim());
    let length: usize = length.next_back().and_then(|length| length.parse().ok()).unwrap_or(0);
    Ok(body.get(..length).map(|body| (status, body)))
}
