//! The results of examinations: for people, as JUnit for test reports, and as SARIF for code scanning.

mod comment;
mod examinee;
mod human;
mod junit;
mod sarif;

pub(super) use self::comment::comment;
pub use self::examinee::{Examinee, file_of_command};
pub(super) use self::human::{examination, shortcoming};
pub use self::junit::{junit_by_agent, junit_by_level};
pub use self::sarif::sarif;
