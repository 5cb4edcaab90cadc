//! `acp-registry rpc`: commands as methods of JSON-RPC 2.0, one message per line on stdin and stdout.
//!
//! | file | what it does |
//! |---|---|
//! | `message.rs` | reads lines of limited length, turns each into a call or a cancellation, and refuses everything else; answers, errors and notifications |
//! | `calls.rs` | the calls in progress: their ids, their cancellation and their end |
//! | `methods.rs` | the methods, each of which reads its parameters and runs a use case |
//! | `output.rs` | writes messages |

mod calls;
mod message;
mod methods;
mod output;

use std::future::pending;
use std::io::{self, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::{oneshot, watch};

use self::calls::Calls;
use self::message::{ClientMessage, INTERNAL, Line, METHOD_NOT_FOUND, Refusal, Response, RpcErrorDocument};
use self::methods::{Base, Call, METHODS, Method};
use self::output::MessageQueue;
use crate::documents::Event;
use crate::flags::global::Global;
use crate::flags::session::{PackageArgs, SessionArgs};
use crate::terminal::call::RpcCall;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    packages: PackageArgs,

    #[command(flatten)]
    place: SessionArgs,
}

/// Serves until stdin ends.
pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let base = Base { global: global.clone(), place: args.place.clone(), packages: args.packages };
    let output =
        MessageQueue::start().map_err(|error| Failure::unable(format!("the system starts no thread: {error}")))?;
    let server = Arc::new(Server { base, calls: Calls::new(), output });
    let (reader, (ended, input_ended)) = (server.clone(), oneshot::channel::<()>());
    let done = signals::run(ui, async {
        // Reading and writing block, which must not keep a signal from being handled.
        thread::spawn(move || {
            let mut input = BufReader::new(io::stdin());
            while let Some(line) = message::next(&mut input) {
                reader.receive(line);
            }
            drop(ended);
        });
        let hangs_up = async {
            message::hung_up(message::Stream::Stdin).await;
            server.output.end();
            pending::<()>().await;
        };
        tokio::select! {
            _ = input_ended => {}
            () = server.output.closed() => {}
            () = hangs_up => {}
        }
    });
    server.output.end();
    for refused in server.calls.end(calls::PATIENCE) {
        server.output.send(&Response::failed(&refused.id, *refused.error));
    }
    let written = server.output.finish();
    done?;
    written.map_err(|error| Failure::unable(format!("cannot write the answers: {error}")))?;
    Ok(Exit::Success)
}

/// Everything that calls share.
struct Server {
    base: Base,
    calls: Calls,
    output: Arc<MessageQueue>,
}

impl Server {
    fn receive(self: &Arc<Self>, line: Line) {
        let refused = match message::parse(line) {
            Ok(ClientMessage::Call { id, method, params }) => match self.begin(&id, &method, params) {
                Ok(()) => return,
                Err(refusal) => refusal,
            },
            Ok(ClientMessage::Cancel(id)) => return self.calls.cancel(&id),
            Ok(ClientMessage::Ignored) => return,
            Err(refusal) => refusal,
        };
        self.output.send(&Response::failed(&refused.id, *refused.error));
    }

    /// Starts the work for a call.
    fn begin(self: &Arc<Self>, id: &Value, name: &str, params: Map<String, Value>) -> Result<(), Refusal> {
        let Some(method) = METHODS.iter().find(|method| method.name == name) else {
            let error = methods::unknown(name);
            return Err(Refusal::of(id, RpcErrorDocument::new(METHOD_NOT_FOUND, &error)));
        };
        let is_cancelled = self.calls.begin(id, method)?;
        let (server, of_thread) = (self.clone(), id.clone());
        let started = thread::Builder::new().spawn(move || server.work(&of_thread, method, params, is_cancelled));
        if let Err(error) = started {
            self.calls.free(id);
            self.calls.leave(method);
            let error = Failure::unable(format!("the system starts no thread: {error}"));
            return Err(Refusal::of(id, RpcErrorDocument::new(INTERNAL, &error)));
        }
        Ok(())
    }

    /// Runs the command of a call, and answers.
    fn work(&self, id: &Value, method: &Method, params: Map<String, Value>, is_cancelled: watch::Receiver<bool>) {
        let (of_events, output) = (id.clone(), self.output.clone());
        let notify = move |event: &Event<'_>| output.send(&message::progress(&of_events, event));
        let call = Arc::new(RpcCall::new(Box::new(notify), is_cancelled));
        let ui = Ui::for_call(call.clone());
        // A bug in one command must not take the answers of the others with it.
        let done = catch_unwind(AssertUnwindSafe(|| (method.run)(Call { params, base: &self.base, ui: &ui })));
        let answer = call.take();
        let document = answer.as_ref().and_then(|answer| serde_json::from_str::<&RawValue>(&answer.document).ok());
        let error = answer.as_ref().and_then(|answer| answer.error.clone());
        // From here on, the client may use the id again.
        if !self.calls.free(id) {
            return self.calls.leave(method);
        }
        self.output.send(&match (done, document, error) {
            (Ok(Err(refused)), ..) => Response::failed(id, *refused),
            // What `login` has found is its result, as it is with `doctor`.
            (Ok(Ok(Exit::Findings)), Some(document), _) | (Ok(Ok(_)), Some(document), None) => {
                Response::result(id, document)
            }
            (Ok(Ok(_)), Some(document), Some(error)) => {
                Response::failed(id, message::command_error(&error).with_result(document))
            }
            (Ok(Ok(_)), None, _) | (Err(_), ..) => {
                let failure = Failure::unable("internal error; stderr may say more").help("report it as a bug");
                Response::failed(id, RpcErrorDocument::new(INTERNAL, &failure))
            }
        });
        self.calls.leave(method);
    }
}
