//! `--previous`: an earlier published tree, in a directory or on the web.

use std::env;
use std::path::PathBuf;

use acp_registry::index::{Directory, Published, PublishedError};
use acp_registry::net::{AllowedHosts, Client, Settings};
use tokio::runtime::Runtime;
use url::Url;

use super::exit::Failure;

/// The largest file that is fetched, in bytes.
const LIMIT: u64 = 256 << 20;

/// Opens what the flag names.
pub(super) fn open(place: &str, allowed: &AllowedHosts) -> Result<Box<dyn Published>, Failure> {
    let Some((scheme, _)) = place.split_once("://") else { return Ok(Box::new(Directory(PathBuf::from(place)))) };
    let wrong = |message: &dyn std::fmt::Display| Failure::usage(format!("--previous {place}: {message}"));
    let base = Url::parse(&format!("{}/", place.trim_end_matches('/'))).map_err(|error| wrong(&error))?;
    if scheme == "file" {
        return base.to_file_path().map(|path| Box::new(Directory(path)) as _).map_err(|()| wrong(&"no path"));
    }
    let settings = Settings { allowed: allowed.clone(), proxy_hosts: proxy_hosts(), ..Settings::default() };
    let client = Client::new(settings).map_err(Failure::unable)?;
    let runtime = Runtime::new().map_err(Failure::unable)?;
    Ok(Box::new(Remote { base, client, runtime }))
}

/// Hosts of the proxies that the HTTP client takes from the environment.
fn proxy_hosts() -> Vec<String> {
    let names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let addresses = names.iter().filter_map(|name| env::var(name).ok()).filter(|address| !address.is_empty());
    addresses
        .filter_map(|address| {
            let address = if address.contains("://") { address } else { format!("http://{address}") };
            Url::parse(&address).ok()?.host_str().map(ToOwned::to_owned)
        })
        .collect()
}

struct Remote {
    base: Url,
    client: Client,
    runtime: Runtime,
}

impl Published for Remote {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        let failed = |message: String| PublishedError { file: name.to_owned(), message };
        let url = self.base.join(name).map_err(|error| failed(error.to_string()))?;
        self.runtime.block_on(self.client.get(&url, LIMIT)).map_err(|error| failed(error.to_string()))
    }
}
