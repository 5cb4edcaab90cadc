//! What the parts of `acp-registry` share: manifests, archives, HTTP, processes and package sources.
//!
//! | module | what it does |
//! |---|---|
//! | [`archive`] | what is in a downloaded archive, whether it is safe and for which platform; unpacking it |
//! | [`cause`] | the line that says why a program failed, lifted out of all that it wrote |
//! | [`digest`] | SHA-256 of bytes and files |
//! | [`json`] | JSON as it is written, and reading foreign JSON within bounds |
//! | [`manifest`] | LOAD: the text of one `agent.json` as a typed value that knows its places; versions, package specifications, archive addresses |
//! | [`net`] | which addresses this program will speak to, and the HTTP client: manners, retries, secrets, cache |
//! | [`registry`] | LOAD: a registry directory and its quarantine list |
//! | [`source`] | places in a text: line and column |
//! | [`sums`] | `SHA256SUMS` |
//! | [`sys`] | the operating system: files, `git`, package managers, untrusted programs |
//! | [`text`] | what must not be shown as it is: quoting, control characters, names that were probably meant |
//! | [`timestamp`] | times and dates as they are written in files and documents |
//! | [`upstream`] | where agents are published: npm, the Python package index, GitHub; what they say of a package, a release or a repository |

pub mod archive;
pub mod cause;
pub mod digest;
pub mod json;
pub mod manifest;
pub mod net;
pub mod registry;
pub mod source;
pub mod sums;
pub mod sys;
pub mod text;
pub mod timestamp;
pub mod upstream;
