//! A WhatsApp Cloud API webhook in front of cscp. See `examples/README.md` for how to run it.
//!
//! `signature`: is it Meta? `payload`, `normalise`, `message`, `identity`: what did it send, with every piece
//! accounted for? `cscp`: what does it mean? `shop`: what follows from that? `server` puts them in order.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Parser;
use reqwest::Url;

mod cscp;
mod event;
mod identity;
mod message;
mod normalise;
mod outside;
mod payload;
mod printing;
mod server;
mod shop;
mod signature;
mod tasks;

use crate::cscp::Cscp;
use crate::printing::Printing;
use crate::server::{App, router};
use crate::shop::Shop;
use crate::signature::AppSecret;
use crate::tasks::Tasks;

/// A WhatsApp webhook that asks cscp what each message means, and prints what it would send and execute.
#[derive(Parser)]
struct Options {
    /// Where to listen. Meta needs HTTPS, so something in front terminates TLS.
    #[arg(long, env = "WEBHOOK_LISTEN", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// Where cscp is: an address on this host or a private network, since this client speaks plain HTTP.
    #[arg(long, env = "CSCP_URL", default_value = "http://127.0.0.1:8080")]
    cscp: Url,
    /// The API key for cscp. In the environment, because arguments are visible to every user of a host.
    #[arg(long, env = "CSCP_API_KEY", hide_env_values = true)]
    cscp_key: String,
    /// The app secret from Meta's dashboard: the key of every signature. Not the verify token.
    #[arg(long, env = "WHATSAPP_APP_SECRET", hide_env_values = true)]
    app_secret: AppSecret,
    /// The token that you invent and also give to Meta when you set the webhook up.
    #[arg(long, env = "WHATSAPP_VERIFY_TOKEN", hide_env_values = true, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    verify_token: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let printing = Arc::new(Printing::default());
    let app = App {
        secret: options.app_secret.clone(),
        verify_token: options.verify_token,
        shop: Shop {
            cscp: Cscp::new(options.cscp, options.cscp_key)?,
            sender: Arc::clone(&printing) as _,
            orders: printing,
            tasks: Tasks::default(),
            secret: options.app_secret,
        },
    };
    let listener = tokio::net::TcpListener::bind(options.listen).await?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    axum::serve(listener, router(Arc::new(app))).await?;
    Ok(())
}
