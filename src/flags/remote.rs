//! The flags that name an agent on a network.

use std::time::Duration;

use acp_registry::duration;
use acp_registry::failure::Failure;
use acp_registry::remote::{Endpoint, Headers};

use crate::flags::global::Global;
use crate::flags::network;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RemoteArgs {
    /// The address of an agent on a network
    ///
    /// `https://` and `http://` use streams of events, `wss://` and `ws://` a WebSocket. Without TLS, only addresses of this
    /// machine and hosts named with --allow-host are allowed.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// With --url, send this header with each request (repeatable)
    ///
    /// `${NAME}` stands for the variable NAME, such as in 'Authorization: Bearer ${TOKEN}'. The value is not shown.
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,

    /// With --url, how long the server may send nothing while a request is unanswered [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit, requires = "url")]
    silence: Option<Duration>,
}

impl RemoteArgs {
    /// The agent at the address.
    ///
    /// # Errors
    /// Returns [`Failure`] for an address that is refused, and for a header that cannot be sent.
    pub(crate) fn endpoint(&self, url: &str, global: &Global) -> Result<Endpoint, Failure> {
        let headers = Headers::read(self.header.iter().map(String::as_str), &network::variable)?;
        let settings = network::settings(&global.allowed_hosts()?)?;
        Ok(Endpoint::new(url, &headers, &settings)?)
    }

    pub(crate) fn silence(&self) -> Duration {
        self.silence.unwrap_or(Duration::from_mins(10))
    }

    /// The arguments of a bridge to the agent, after the name of this program.
    pub(crate) fn bridge(&self, url: &str, global: &Global) -> Vec<String> {
        let mut words = vec!["run".to_owned(), format!("--url={url}")];
        words.extend(self.header.iter().map(|header| format!("--header={header}")));
        words.push(format!("--silence={}s", self.silence().as_secs_f64()));
        words.extend(global.allow_host.iter().map(|host| format!("--allow-host={host}")));
        words
    }
}
