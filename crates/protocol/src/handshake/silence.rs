//! Explains requests without an answer.

use std::time::Duration;

use super::connection::{Connection, Stray};
use super::failure::{FailReason, HandshakeFailure};
use super::message;
use super::wire::{LINE, MESSAGES, Overflow, Silence, TOTAL};
use acp_registry_host::cause;
use acp_registry_plan::text::quote;

/// Why a request with this id and method was not answered.
pub(super) async fn explain(
    connection: &mut Connection,
    silence: Silence,
    (id, method): (u64, &str),
    timeout: Duration,
) -> HandshakeFailure {
    if let Some(stray) = &connection.stray {
        return match stray {
            Stray::Error(error) => HandshakeFailure::new(
                FailReason::AgentError,
                format!("the agent answers, without naming the request, with {error}"),
            ),
            Stray::Id(stray) => HandshakeFailure::new(
                FailReason::InvalidResponse,
                format!("the response has the id {}, where the request has the number {id}", quote(stray)),
            ),
        };
    }
    match silence {
        Silence::Timeout => {
            let mut message = format!("the agent did not answer {} within {} s", quote(method), timeout.as_secs_f64());
            let unfinished = connection.wire.unfinished();
            if message::read(unfinished).is_ok() {
                message.push_str("; it wrote a message without the line end that every message must have");
            } else if !unfinished.trim_ascii().is_empty() {
                let beginning = String::from_utf8_lossy(&unfinished[..unfinished.len().min(1000)]).into_owned();
                message.push_str(&format!("; it stopped in the middle of a line: {}", quote(&beginning)));
            }
            HandshakeFailure::new(FailReason::Timeout, message)
        }
        Silence::Starved(starved) => HandshakeFailure::new(
            FailReason::MachineBusy,
            format!(
                "the machine was too busy to judge the agent: it did not answer {}, but waited {} s for a processor",
                quote(method),
                starved.as_secs_f64().round()
            ),
        ),
        Silence::Exited(exit) => {
            let stderr = connection.wire.stderr().await;
            let mut message = format!("the agent ended before it answered ({})", exit.describe());
            // Some agents write error messages to stdout.
            if let Some(cause) = cause::quoted(&stderr).or_else(|| cause::quoted(&connection.noise())) {
                message.push_str(&format!(": {cause}"));
            }
            HandshakeFailure::new(FailReason::Exited, message)
        }
        Silence::Closed => HandshakeFailure::new(
            FailReason::InvalidResponse,
            "the agent closed its stdout without an answer, and went on running",
        ),
        Silence::Overflow(overflow) => {
            let what = match overflow {
                Overflow::Line => format!("more than {} MiB to stdout without a line end", LINE >> 20),
                Overflow::Total => format!("more than {} MiB to stdout without an answer", TOTAL >> 20),
                Overflow::Messages => format!("more than {MESSAGES} messages without an answer"),
            };
            HandshakeFailure::new(FailReason::InvalidResponse, format!("the agent wrote {what}"))
        }
        Silence::Array => HandshakeFailure::new(
            FailReason::InvalidResponse,
            "the agent wrote messages in an array, and each must be a line of its own",
        ),
    }
}
