//! Tests of the server with plain HTTP requests.

mod apis;
mod hostile;
mod http;
mod scripts;
mod tool_choice;
