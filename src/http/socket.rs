//! A connection's socket: reports received and unread bytes, and closes so that the last answer arrives.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Interval, interval_at};

use super::connections::Pulse;

/// How many bytes are discarded, and for how long, of what the client still sends when a connection closes.
const THROWN_AWAY: usize = 4 << 20;
const LINGERING: Duration = Duration::from_secs(1);

/// A socket that reports to a [`Pulse`].
pub(super) struct Socket {
    stream: TcpStream,
    pulse: Arc<Pulse>,
    closing: Option<Closing>,
}

/// A closing connection whose client may still be sending. If the socket were closed with unread bytes, the system
/// would send a reset, and the client might not see the last answer.
struct Closing {
    /// Its first tick ends the wait.
    patience: Interval,
    thrown_away: usize,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, pulse: Arc<Pulse>) -> Self {
        Self { stream, pulse, closing: None }
    }

    fn took(&self, took: &Poll<io::Result<usize>>) {
        self.pulse.stuck(took.is_pending());
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.pulse.heard();
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let took = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.took(&took);
        took
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let took = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.took(&took);
        took
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(closing) = &mut this.closing else {
            std::task::ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            if !this.pulse.may_be_sending() {
                return Poll::Ready(Ok(()));
            }
            this.closing =
                Some(Closing { patience: interval_at(Instant::now() + LINGERING, LINGERING), thrown_away: 0 });
            return self.poll_shutdown(cx);
        };
        let mut bytes = [0; 8_192];
        while closing.thrown_away < THROWN_AWAY && closing.patience.poll_tick(cx).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            std::task::ready!(Pin::new(&mut this.stream).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                break;
            }
            closing.thrown_away += buffer.filled().len();
        }
        Poll::Ready(Ok(()))
    }
}
