//! Request bodies that were not read before the answer.
//!
//! A request that is refused by its head leaves its body on the connection, before the next request. So either the rest
//! of the body is read and discarded, or the answer announces that the connection closes. If it closed without notice,
//! a caller could not know whether its next request was executed.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

/// How many bytes of a body are discarded to keep a connection, and for how long.
const THROWN_AWAY: u64 = 256 << 10;
const PATIENCE: Duration = Duration::from_secs(1);

/// A body that is returned when it is dropped before its end.
pub(super) struct Lent {
    body: Option<Incoming>,
    touched: bool,
    owner: Arc<Mutex<Option<Returned>>>,
}

struct Returned {
    body: Incoming,
    touched: bool,
}

/// The receiver of a returned body.
pub(super) struct Lender {
    owner: Arc<Mutex<Option<Returned>>>,
    /// Whether the client waits for `100 Continue` before it sends the body.
    waits_to_be_asked: bool,
}

/// Passes a body to the handler, to get it back afterwards.
pub(super) fn lend(body: Incoming, waits_to_be_asked: bool) -> (Lent, Lender) {
    let owner = Arc::new(Mutex::new(None));
    (Lent { body: Some(body), touched: false, owner: Arc::clone(&owner) }, Lender { owner, waits_to_be_asked })
}

impl Lender {
    /// Reads the rest of the body, if it is short and comes soon. Returns whether the body has ended.
    pub(super) async fn finish(self) -> bool {
        let returned = self.owner.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Returned { mut body, touched }) = returned else { return true };
        if body.is_end_stream() {
            return true;
        }
        // Whether the client still sends the body after the answer is unknown.
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
