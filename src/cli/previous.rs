//! `--previous`: an earlier published tree, in a directory or on the web.

use std::path::PathBuf;

use acp_registry::net::{AllowedHosts, Client};
use acp_registry::tree::{Directory, Published, PublishedError};
use tokio::runtime::Runtime;
use url::Url;

use super::exit::Failure;
use super::network::settings;

/// The largest file that is fetched, in bytes.
const LIMIT: u64 = 64 << 20;

/// Opens what the flag names.
pub(super) fn open(place: &str, allowed: &AllowedHosts) -> Result<Box<dyn Published>, Failure> {
    let Some((scheme, _)) = place.split_once("://") else { return Ok(Box::new(Directory(PathBuf::from(place)))) };
    let wrong = |message: &dyn std::fmt::Display| {
        Failure::usage(format!("--previous {place}: {message}"))
            .help("write the address or the directory of a published tree")
    };
    let base = Url::parse(&format!("{}/", place.trim_end_matches('/'))).map_err(|error| wrong(&error))?;
    if scheme == "file" {
        return base.to_file_path().map(|path| Box::new(Directory(path)) as _).map_err(|()| wrong(&"no path"));
    }
    let client = settings(allowed).and_then(Client::new)?;
    let runtime = Runtime::new().map_err(Failure::unable)?;
    Ok(Box::new(Remote { base, client, runtime }))
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
