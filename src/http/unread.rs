//! Bodies that an answer did not wait for.
//!
//! A request that is refused by its head leaves its body on the connection, and the next request stands behind it. Either the
//! rest of the body is read and thrown away, or the answer says that the connection closes. A connection that closes
//! without a word takes the next request of a caller with it, who cannot know whether that one was done.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

/// How much of a body is read to no purpose, so that its connection can be kept, and how long that may take.
const THROWN_AWAY: u64 = 256 << 10;
const PATIENCE: Duration = Duration::from_secs(1);

/// A body that comes back when it is dropped before its end.
pub(super) struct Lent {
    body: Option<Incoming>,
    touched: bool,
    owner: Arc<Mutex<Option<Returned>>>,
}

struct Returned {
    body: Incoming,
    touched: bool,
}

/// Where a body comes back to.
pub(super) struct Lender {
    owner: Arc<Mutex<Option<Returned>>>,
    /// Whether the caller sends its body only when it is asked to.
    waits_to_be_asked: bool,
}

/// Lends a body to whoever answers.
pub(super) fn lend(body: Incoming, waits_to_be_asked: bool) -> (Lent, Lender) {
    let owner = Arc::new(Mutex::new(None));
    (Lent { body: Some(body), touched: false, owner: Arc::clone(&owner) }, Lender { owner, waits_to_be_asked })
}

impl Lender {
    /// Reads what is left of the body, if that is little and comes soon. Says whether the body has ended.
    pub(super) async fn finish(self) -> bool {
        let returned = self.owner.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Returned { mut body, touched }) = returned else { return true };
        if body.is_end_stream() {
            return true;
        }
        // Whether the caller sends the body after all, once it has its answer, is not known.
        let never_asked = self.waits_to_be_asked && !touched;
        if never_asked || body.size_hint().lower() > THROWN_AWAY {
            return false;
        }
        let read = async {
            let mut left = THROWN_AWAY;
            loop {
                match std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                    None => return true,
                    Some(Err(_)) => return false,
                    Some(Ok(frame)) => {
                        let length = frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
                        if length > left {
                            return false;
                        }
                        left -= length;
                    }
                }
            }
        };
        tokio::time::timeout(PATIENCE, read).await.unwrap_or(false)
    }
}

impl Body for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.touched = true;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = std::task::ready!(Pin::new(body).poll_frame(cx));
        if frame.is_none() {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            let returned = Returned { body, touched: self.touched };
            *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(returned);
        }
    }
}
