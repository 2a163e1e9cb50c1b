//! Reading an HTTP/1.1 answer, from as many bytes as there are so far.

use std::fmt;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    /// The status.
    pub(crate) status: u16,
    /// `Idempotent-Replayed: true`.
    pub(crate) replayed: bool,
    /// `Retry-After`, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// Whether the server will close the connection.
    pub(crate) closes: bool,
    /// The body, out of its chunks.
    pub(crate) body: Vec<u8>,
}

/// The bytes are no answer that this client understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// How long the body is.
enum Framing {
    Length(usize),
    Chunked,
}

/// The answer, once all of it is there.
pub(crate) fn read(received: &[u8]) -> Result<Option<Response>, Malformed> {
    let Some(end) = find(received, b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&received[..end]).map_err(|_| Malformed("a head that is no text"))?;
    let rest = &received[end + 4..];
    let (mut response, framing) = read_head(head)?;
    let (body, used) = match framing {
        Framing::Length(length) if rest.len() < length => return Ok(None),
        Framing::Length(length) => (rest[..length].to_vec(), length),
        Framing::Chunked => match unchunked(rest)? {
            Some(read) => read,
            None => return Ok(None),
        },
    };
    if rest.len() > used {
        // One request at a time: nothing more was asked for.
        return Err(Malformed("bytes after the answer"));
    }
    response.body = body;
    Ok(Some(response))
}

fn read_head(head: &str) -> Result<(Response, Framing), Malformed> {
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or(Malformed("no status line of HTTP/1.1"))?;
    let mut response = Response { status, replayed: false, retry_after: None, closes: false, body: Vec::new() };
    let mut framing = None;
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(Malformed("a header without a colon"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            framing = Some(Framing::Length(value.parse().map_err(|_| Malformed("a length that is no number"))?));
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Some(Framing::Chunked);
        } else if name.eq_ignore_ascii_case("idempotent-replayed") {
            response.replayed = value == "true";
        } else if name.eq_ignore_ascii_case("retry-after") {
            response.retry_after = value.parse().ok();
        } else if name.eq_ignore_ascii_case("connection") {
            response.closes = value.eq_ignore_ascii_case("close");
        }
    }
    match framing {
        _ if status == 204 => Ok((response, Framing::Length(0))),
        Some(framing) => Ok((response, framing)),
        None => Err(Malformed("a body without a length")),
    }
}

/// The body out of its chunks, and how many bytes they took.
fn unchunked(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Malformed> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&bytes[at..at + line]).ok().and_then(|line| line.split(';').next());
        let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
        let size = size.ok_or(Malformed("a chunk without a size"))?;
        at += line + 2;
        if size == 0 {
            return Ok(trailers(&bytes[at..])?.map(|used| (body, at + used)));
        }
        if bytes.len() < at.saturating_add(size).saturating_add(2) {
            return Ok(None);
        }
        body.extend_from_slice(&bytes[at..at + size]);
        if &bytes[at + size..at + size + 2] != b"\r\n" {
            return Err(Malformed("a chunk longer than its size"));
        }
        at += size + 2;
    }
}

/// How many bytes the trailers take: lines up to an empty one.
fn trailers(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let mut at = 0;
    while let Some(line) = find(&bytes[at..], b"\r\n") {
        at += line + 2;
        match line {
            0 => return Ok(Some(at)),
            _ if at > 4_096 => return Err(Malformed("trailers without an end")),
            _ => {}
        }
    }
    Ok(None)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nIdempotent-Replayed: true\r\n\
                         Content-Length: 11\r\n\r\n{\"a\":\"\r\n\"}\n";
    const CHUNKED: &str = "HTTP/1.1 503 Service Unavailable\r\ntransfer-encoding: chunked\r\nretry-after: 2\r\n\
                           connection: close\r\n\r\n5\r\nhello\r\nb;x=y\r\n, my\r\nworld\r\n0\r\nx: y\r\n\r\n";

    fn whole(text: &str) -> Response {
        read(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn an_answer_with_a_length_is_read() {
        let response = whole(PLAIN);
        assert_eq!((response.status, response.replayed, response.closes), (201, true, false));
        assert_eq!(response.body, b"{\"a\":\"\r\n\"}\n");
    }

    #[test]
    fn an_answer_in_chunks_is_read() {
        let response = whole(CHUNKED);
        assert_eq!((response.status, response.retry_after, response.closes), (503, Some(2), true));
        assert_eq!(response.body, b"hello, my\r\nworld");
    }

    #[test]
    fn part_of_an_answer_is_waited_for() {
        for text in [PLAIN, CHUNKED] {
            for length in 0..text.len() {
                assert_eq!(read(&text.as_bytes()[..length]), Ok(None), "{length} bytes of {text}");
            }
        }
    }

    #[test]
    fn an_answer_without_a_body_is_read() {
        assert!(whole("HTTP/1.1 204 No Content\r\n\r\n").body.is_empty());
        assert!(whole("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").body.is_empty());
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in [
            "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 abc\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nno header\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nrest",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
