//! `--on`: starts, installs, updates and diagnoses agents on another machine, see [`acp_registry::elsewhere`].

use std::env::VarError;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, thread};

use acp_registry::doctor::{CheckStatus, Diagnosis};
use acp_registry::elsewhere::{Connection, Input, Machine, Order, Output, PATIENCE};
use acp_registry::failure::{Exit, Failure};
use acp_registry::install::Kind;
use acp_registry::json::to_line;
use acp_registry::session::{AgentSpec, Session};
use acp_registry::store::Version;
use acp_registry::text::{printable, printable_line, quote};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::flags::global::Global;
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::flags::value;
use crate::terminal::call::writing;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// The most that another machine may report, in bytes.
const REPORT: usize = 16 << 20;

/// The longest line of another machine that is shown as one, in bytes.
const LINE: usize = 1 << 16;

/// Flags that start an agent on another machine.
#[derive(Debug, clap::Args)]
pub(crate) struct OnArgs {
    /// Start the agent on another machine: `ssh:HOST` or `wsl:DISTRIBUTION`
    ///
    /// It is installed there if needed. Working directories are paths of that machine. An agent that is installed here is
    /// started there in the same version.
    #[arg(long, value_name = "MACHINE", value_parser = value::machine)]
    on: Option<Machine>,

    /// With --on, give the agent this variable, as it is set here (repeatable)
    ///
    /// No other variables are sent.
    #[arg(long, value_name = "NAME", value_parser = value::variable, requires = "on")]
    env: Vec<String>,
}

impl OnArgs {
    /// The other machine, if one is named.
    pub(crate) fn machine(&self) -> Option<&Machine> {
        self.on.as_ref()
    }

    /// These flags, for settings.
    pub(crate) fn flags(&self) -> Vec<String> {
        let machine = self.on.iter().flat_map(|machine| ["--on".to_owned(), machine.to_string()]);
        machine.chain(self.env.iter().flat_map(|name| ["--env".to_owned(), name.clone()])).collect()
    }

    fn variables(&self) -> Result<Vec<(String, String)>, Failure> {
        let variable = |name: &String| {
            let value = env::var(name).map_err(|error| {
                // The error shows the value.
                let problem = if error == VarError::NotPresent { "is not set" } else { "is not Unicode" };
                let failure = Failure::usage(format!("--env: the variable {} {problem}", quote(name)));
                failure.help("correct the variable, or leave out the flag")
            })?;
            Ok((name.clone(), value))
        };
        self.env.iter().map(variable).collect()
    }
}

/// An agent to start, with flags of `run` and its own arguments.
pub(crate) struct Wanted<'a> {
    pub(crate) agent: &'a AgentSpec,
    pub(crate) dist: Option<Kind>,
    pub(crate) flags: Vec<OsString>,
    pub(crate) arguments: &'a [OsString],
}

/// Starts an agent on another machine, between stdin and stdout.
pub(crate) fn run(
    machine: &Machine,
    on: &OnArgs,
    wanted: &Wanted<'_>,
    place: &SessionArgs,
    global: &Global,
) -> Result<Exit, Failure> {
    let shared = [global.network_flags(), place.flags_elsewhere()?, quiet(global)].concat();
    let (session, variables) = (open(place, PackageArgs::default(), global)?, on.variables()?);
    let Wanted { agent, dist, ref flags, arguments } = *wanted;
    let installed = session.find_version(agent, dist)?.filter(Version::is_whole);
    let exact = |version: &Version| AgentSpec::exact(&agent.id, &version.receipt.version);
    let agent = installed.as_ref().map_or_else(|| agent.clone(), exact);
    let given = flags.iter().chain(arguments).map(|word| word_there(word)).collect::<Result<Vec<_>, _>>()?;
    let (given, arguments) = given.split_at(flags.len());
    let code = signals::run_with_signals(2, |mut signals| async move {
        let connecting = connect(machine, &session, stderr(), true);
        let connection = unless_interrupted(&mut signals, connecting).await?;
        let (mut dist, mut digest) = (dist, None);
        // On another platform, the same version has another archive.
        if let Some(version) = installed.filter(|_| connection.is_alike()) {
            dist = Some(version.receipt.source.kind());
            digest = version.receipt.proof.digest().filter(|_| !given.iter().any(|flag| flag == "--digest"));
        }
        let mut words = vec!["run".to_owned()];
        words.extend(shared);
        words.extend(dist.iter().flat_map(|kind| ["--dist".to_owned(), kind.as_str().to_owned()]));
        words.extend(digest.into_iter().flat_map(|digest| ["--digest".to_owned(), digest]));
        words
            .extend(given.iter().cloned().chain([agent.to_string(), "--".to_owned()]).chain(arguments.iter().cloned()));
        let mut order = Order::new(words);
        order.variables = variables;
        Ok::<_, Failure>(connection.carry_out(&order, stdin(), &stdout(), &mut signals).await?)
    });
    Ok(Exit::Other(code??))
}

/// What was found on another machine: checks, and the exit code and result of a command there, if this program is there.
pub(crate) type Found = (Vec<Diagnosis>, Option<(Exit, Vec<u8>)>);

/// Carries out a command on another machine, and shows its result, which is hostile.
pub(crate) fn carry_out(
    machine: &Machine,
    command: &str,
    words: Vec<String>,
    place: &SessionArgs,
    global: &Global,
    ui: &Ui,
) -> Result<Exit, Failure> {
    let is_json = words.iter().any(|word| word == "--json");
    let (exit, result) = ask(machine, command, words, place, global, true)?.1.unwrap_or((Exit::Unable, Vec::new()));
    let text = if is_json {
        format!("{}\n", to_line(&read_document::<Value>(machine, command, &result)?))
    } else {
        String::from_utf8_lossy(&result).lines().map(|line| format!("{}\n", printable_line(line))).collect()
    };
    ui.result(&text)?;
    Ok(exit)
}

/// Reads the document that a command has written on another machine.
pub(crate) fn read_document<T: DeserializeOwned>(machine: &Machine, command: &str, text: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(text).map_err(|error| {
        let message = format!("what `{command}` has written on {machine} is not a JSON document: {error}");
        Failure::unable(message).help(format!("run `acp-registry {command}` on {machine} to see its output"))
    })
}

/// Carries out a command on another machine, if this program is there or is to be copied.
pub(crate) fn ask(
    machine: &Machine,
    command: &str,
    words: Vec<String>,
    place: &SessionArgs,
    global: &Global,
    copies: bool,
) -> Result<Found, Failure> {
    let flags = [vec![command.to_owned()], global.network_flags(), place.flags_elsewhere()?, quiet(global)];
    let session = open(place, PackageArgs::default(), global)?;
    let result = Arc::<Mutex<Vec<u8>>>::default();
    let kept = result.clone();
    let output: Output = Arc::new(move |piece| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(piece);
        if kept.len() > REPORT { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    });
    let found = signals::run_with_signals(2, |mut signals| async move {
        let connecting = connect(machine, &session, printable_stderr(), copies);
        let connection = unless_interrupted(&mut signals, connecting).await?;
        let checks = checks(machine, &connection);
        if connection.program().is_none() {
            return Ok((checks, None));
        }
        let order = Order::new([flags.concat(), words].concat());
        let nothing = mpsc::channel(1).1;
        let code = connection.carry_out(&order, nothing, &output, &mut signals).await?;
        Ok::<_, Failure>((checks, Some(Exit::Other(code))))
    });
    let (checks, code) = found??;
    let result = std::mem::take(&mut *result.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((checks, code.map(|code| (code, result))))
}

fn checks(machine: &Machine, connection: &Connection) -> Vec<Diagnosis> {
    let version = env!("CARGO_PKG_VERSION");
    let check = |name, status, message: String, help| Diagnosis {
        name,
        status,
        message: printable(&message).into_owned(),
        help,
    };
    let program = match connection.program() {
        Some(path) => check("program", CheckStatus::Ok, format!("acp-registry {version} at {path}"), None),
        None if connection.is_alike() => {
            let message = format!("there is no acp-registry {version}, and `run --on {machine}` copies this one there");
            check("program", CheckStatus::Warning, message, None)
        }
        None => {
            let message = format!("there is no acp-registry {version}, and this one would not run there");
            let help = format!("install acp-registry {version} on {machine}, in its PATH");
            check("program", CheckStatus::Error, message, Some(help))
        }
    };
    vec![check("machine", CheckStatus::Ok, format!("{machine} answers: {}", connection.system()), None), program]
}

/// Connects, and copies this program there if that is wanted and needed.
async fn connect(machine: &Machine, session: &Session, errors: Output, copies: bool) -> Result<Connection, Failure> {
    let mut connection = Connection::open(machine, &session.environment(), PATIENCE, errors).await?;
    if copies {
        let own = env::current_exe().map_err(|error| Failure::unable(format!("the path of acp-registry: {error}")))?;
        connection.provide(&own).await?;
    }
    Ok(connection)
}

/// There is no program yet that a signal could be passed on to.
async fn unless_interrupted<T>(
    signals: &mut mpsc::Receiver<u8>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = work => done,
        Some(signal) = signals.recv() => Err(Failure::interrupted(signal)),
    }
}

fn quiet(global: &Global) -> Vec<String> {
    global.output.quiet.then(|| "--quiet".to_owned()).into_iter().collect()
}

fn word_there(word: &OsStr) -> Result<String, Failure> {
    let text = word.to_str().map(ToOwned::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{} is not Unicode, which --on needs", quote(&word.to_string_lossy()))))
}

/// Serves another machine, as the order that it sends demands.
#[cfg(unix)]
pub(crate) fn serve() -> std::process::ExitCode {
    let served = signals::run_with_signals(2, |mut signals| async move {
        let own = env::current_exe()?;
        acp_registry::elsewhere::serve(&own, stdin(), &stdout(), &mut signals).await
    });
    match served.map_err(|failure| failure.to_string()).and_then(|served| served.map_err(|error| error.to_string())) {
        Ok(code) => code.into(),
        Err(error) => {
            crate::terminal::call::write_stderr(&format!("acp-registry: {}\n", printable(&error)));
            Exit::Unable.into()
        }
    }
}

/// What comes in on stdin. A blocking read cannot be cancelled: the thread ends with the process.
fn stdin() -> Input {
    let (send, input) = mpsc::channel(4);
    thread::spawn(move || {
        let (mut stdin, mut buffer) = (io::stdin().lock(), vec![0; 1 << 16]);
        while let Ok(count @ 1..) = stdin.read(&mut buffer) {
            if send.blocking_send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    input
}

fn stdout() -> Output {
    Arc::new(|piece| {
        let mut stdout = io::stdout().lock();
        writing(|| stdout.write_all(piece).and_then(|()| stdout.flush()))
    })
}

/// For what no agent has written, so that no escape sequence is meant.
fn printable_stderr() -> Output {
    let lines = Mutex::new(WholeLines::new(|line: &str| writing(|| io::stderr().write_all(line.as_bytes()))));
    Arc::new(move |piece| lines.lock().unwrap_or_else(PoisonError::into_inner).push(piece))
}

/// Shows lines once they are whole: in pieces, they could be commands of a CI runner that no piece is. The last one is shown
/// at the end.
struct WholeLines<S: FnMut(&str) -> io::Result<()>> {
    rest: Vec<u8>,
    show: S,
}

impl<S: FnMut(&str) -> io::Result<()>> WholeLines<S> {
    fn new(show: S) -> Self {
        Self { rest: Vec::new(), show }
    }

    fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let mut rest = bytes.as_slice();
        // A line that is too long is shown in parts.
        while let Some(end) =
            rest.iter().take(LINE + 1).position(|byte| *byte == b'\n').or((rest.len() > LINE).then_some(LINE))
        {
            let (line, behind) = rest.split_at(end + 1);
            self.line(line)?;
            rest = behind;
        }
        self.rest = rest.to_vec();
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let line = String::from_utf8_lossy(line);
        (self.show)(&format!("{}\n", printable_line(line.trim_end_matches(['\r', '\n']))))
    }
}

impl<S: FnMut(&str) -> io::Result<()>> Drop for WholeLines<S> {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            // Without stderr, the last line is still in the error.
            let _ = self.line(&rest);
        }
    }
}

fn stderr() -> Output {
    Arc::new(|piece| writing(|| io::stderr().write_all(piece)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_pieces_are_no_commands_of_a_runner() {
        let mut shown = String::new();
        let mut lines = WholeLines::new(|line: &str| {
            shown.push_str(line);
            Ok(())
        });
        let long = "x".repeat(LINE);
        for piece in ["a\r\n ", ":", ":add-mask::x\n#", "#vso[task.x]y", "\n\n\u{1b}[1m", &long, "##", "[error]"] {
            lines.push(piece.as_bytes()).unwrap();
        }
        drop(lines);
        let expected = format!(
            "a\n \\u{{3a}}:add-mask::x\n\\u{{23}}#vso[task.x]y\n\n\\u{{1b}}[1m{}\nxxx\\u{{23}}#[error]\n",
            &long[..LINE - 3]
        );
        assert!(shown == expected, "{}", shown.replace(&long[..LINE - 4], "…"));
    }
}
