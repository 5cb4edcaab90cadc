//! x
pub mod check;
pub mod finding;
pub mod manifest;
pub mod net;
pub mod registry;
pub mod source;
pub mod sys;
pub mod text;
