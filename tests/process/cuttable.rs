//! A wire between the servers and their database that can be cut.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes on what comes in at its own address. It goes with this value.
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    cuts: Arc<watch::Sender<u64>>,
}

impl Wire {
    /// A wire to this port on this machine.
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cuts = Arc::new(watch::Sender::new(0));
        let seen = Arc::downgrade(&cuts);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let Some(cuts) = seen.upgrade() else { return };
                let mut cut = cuts.subscribe();
                drop(cuts);
                tokio::spawn(async move {
                    let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    // What has not been passed on by then is lost, in either direction.
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self { address, cuts }
    }

    /// Cuts every connection that there is; new ones can be made.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}
