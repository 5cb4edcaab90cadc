//! The results of examinations: for people, as JUnit for test reports, and as SARIF for code scanning.

mod comment;
mod examinee;
mod human;
mod junit;
mod sarif;

pub(crate) use self::comment::comment;
pub(crate) use self::examinee::{Examinee, file_of_command};
pub(crate) use self::human::{examination, shortcoming};
pub(crate) use self::junit::{junit_by_agent, junit_by_level};
pub(crate) use self::sarif::sarif;
