//! Systems without network namespaces.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::path::Path;

use super::NamespaceError;

/// A network namespace. There is none on this system.
#[derive(Debug, Clone)]
pub struct Namespace(Infallible);

impl Namespace {
    /// Not possible on this system.
    ///
    /// # Errors
    /// Returns [`NamespaceError::Unsupported`].
    #[expect(clippy::unused_async, reason = "the same call as on Linux")]
    pub async fn create(_launcher: Option<&Path>) -> Result<Self, NamespaceError> {
        Err(NamespaceError::Unsupported)
    }

    /// Binds a loopback port in the namespace.
    ///
    /// # Errors
    /// Never called on this system.
    #[expect(clippy::unused_async, reason = "the same call as on Linux")]
    pub async fn listen(&self) -> io::Result<TcpListener> {
        match self.0 {}
    }

    /// The names that programs in the namespace have asked for.
    #[must_use]
    pub fn lookups(&self) -> Option<BTreeSet<String>> {
        match self.0 {}
    }
}
