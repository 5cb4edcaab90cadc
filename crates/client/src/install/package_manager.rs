//! Running a package manager.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp_registry_host::fs::{PathError, available};
use acp_registry_host::process::{
    Environment, Home, Isolation, LaunchDirectories, LaunchSpec, Pipes, ProcessTree, Tail,
};
use acp_registry_http::Proxies;
use acp_registry_plan::text::{shown, without_secrets};
use acp_registry_sources::NamedRegistry;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use super::{Error, InstallJob, Progress, ToolFailure};

/// How long the last words are waited for after the end. They are there by then, but a busy machine may take long to read them.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A package manager, which works in the directory of an installation.
pub(super) struct Tool<'a> {
    pub(super) work: &'a InstallJob<'a>,
    /// Its name, for messages.
    pub(super) name: &'static str,
    /// Where it is.
    pub(super) program: PathBuf,
    pub(super) environment: Environment,
    /// The package registry that it is told to ask.
    pub(super) registry: Option<&'a NamedRegistry>,
}

/// The end of what a package manager that succeeded has written.
pub(super) struct ToolOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Tool<'_> {
    /// Runs it to its end, and ends all that it has started.
    pub(super) async fn run(&self, arguments: impl IntoIterator<Item: Into<OsString>>) -> Result<ToolOutput, Error> {
        let InstallJob { installer, directory, temporary, progress, .. } = *self.work;
        // Before the tree, so that it outlives it.
        let sandbox = LaunchDirectories::below(temporary, Home::Empty)?;
        let launch = LaunchSpec {
            program: self.program.clone().into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: Some(directory.to_owned()),
            environment: self.environment.clone(),
            isolation: Isolation::Environment,
            readable: Vec::new(),
            launcher: installer.launcher.clone(),
            namespace: None,
        };
        let (mut tree, Pipes { stdin, stdout, stderr }) = ProcessTree::start(&launch, &sandbox).await?;
        drop(stdin);
        let (said, told) = (OutputTail::default(), OutputTail::default());
        let (phase, mut phases) = watch::channel(String::new());
        let mut readers = JoinSet::new();
        let (words, mut ear) = (said.clone(), Ear::new(told.clone(), phase));
        readers.spawn(drain(stdout, move |bytes| words.push(bytes)));
        readers.spawn(async move {
            drain(stderr, |bytes| ear.hear(bytes)).await;
            ear.keep_line();
        });
        let exit = {
            let mut end = pin!(timeout(installer.timeout, tree.wait()));
            loop {
                tokio::select! {
                    exit = &mut end => break exit.ok(),
                    Ok(()) = phases.changed() => {
                        let phase = phases.borrow_and_update().clone();
                        progress(Progress::Phase(self.name, phase));
                    }
                }
            }
        };
        tree.end().await;
        // Something that could not be ended may hold the pipes for ever.
        let _ = timeout(LAST_WORDS, async { while readers.join_next().await.is_some() {} }).await;
        let mut stderr = told.text();
        if exit.is_some_and(|exit| exit.code == Some(0)) && !is_broken(&stderr) {
            return Ok(ToolOutput { stdout: said.text(), stderr });
        }
        if stderr.trim().is_empty() {
            stderr = said.text();
        }
        let (program, limit, asked) = (self.name, installer.timeout, self.registry.cloned());
        let phase = Some(phases.borrow().clone()).filter(|phase| !phase.is_empty());
        let mut failure = ToolFailure { program, exit, limit, stderr, proxy: None, full: None, phase, asked };
        let proxies = self.proxies();
        let proxy = failure.addresses().find_map(|url| Some(proxies.choose(&url).ok()??.to_string()));
        failure.proxy = proxy;
        failure.full = if failure.is_of_disk() { fullest(self.places()) } else { None };
        Err(Error::Tool(Box::new(failure)))
    }

    /// Refuses to ask a registry past a proxy whose variable is wrong, as some package managers do in silence.
    pub(super) fn check_proxy(&self) -> Result<(), Error> {
        let registry = self.registry.and_then(|registry| Url::parse(&registry.address).ok());
        let default = || Url::parse("https://registry.invalid").ok();
        if let Some(registry) = registry.or_else(default) {
            self.proxies().choose(&registry)?;
        }
        Ok(())
    }

    /// The proxies that it uses. npm's own settings override the variables of the system.
    fn proxies(&self) -> Proxies {
        let get = |name: &str| Some(self.environment.get(name)?.to_str()?.to_owned());
        let own = if self.name == "npm" { Proxies::for_npm(&get) } else { None };
        own.unwrap_or_else(|| self.work.installer.client.proxies().clone())
    }

    /// Where it writes.
    fn places(&self) -> Vec<PathBuf> {
        let caches = ["npm_config_cache", "UV_CACHE_DIR"].into_iter().filter_map(|name| self.environment.get(name));
        [self.work.directory, self.work.temporary]
            .into_iter()
            .map(Path::to_owned)
            .chain(caches.map(PathBuf::from))
            .collect()
    }
}

/// The directory whose disk has the least space. After a failure, package managers may have removed the files that
/// filled it.
fn fullest(places: Vec<PathBuf>) -> Option<PathBuf> {
    let first = places.first().cloned();
    let known = places.into_iter().filter_map(|place| Some((available(&place)?, place)));
    known.min_by_key(|(bytes, _)| *bytes).map(|(_, place)| place).or(first)
}

/// Whether npm could not unpack a file. It only warns of that, and a full disk is a usual cause.
fn is_broken(stderr: &str) -> bool {
    stderr.lines().any(|line| line.to_ascii_lowercase().starts_with("npm warn tar tar_entry_error"))
}

/// Writes a file that the package manager reads.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    Ok(fs::write(path, text).map_err(PathError::at(path))?)
}

/// The beginnings of the lines in which npm logs each answer. They show the progress, not failures.
const NOTE: &[u8] = b"npm http ";

/// The longest line that is looked at, in bytes.
const LINE: usize = 4096;

/// How much of a phase is shown, in characters.
const SHOWN: usize = 60;

/// The end of what a program writes.
#[derive(Clone, Default)]
struct OutputTail(Arc<Mutex<Tail>>);

impl OutputTail {
    fn push(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }

    /// The end of the output, with passwords removed from addresses: package managers know those of the person's
    /// registries.
    fn text(&self) -> String {
        without_secrets(&self.0.lock().unwrap_or_else(PoisonError::into_inner).text()).into_owned()
    }
}

/// Hears what a program writes to stderr.
struct Ear {
    words: OutputTail,
    phase: watch::Sender<String>,
    /// The beginning of the current line.
    line: Vec<u8>,
    /// How much of it was kept already.
    kept: usize,
    /// How many descriptions and how many archives of packages npm has received.
    descriptions: usize,
    archives: usize,
    downloads: Downloads,
}

/// What uv has said of its downloads, of which many are under way at once.
#[derive(Default)]
struct Downloads {
    started: usize,
    /// Name and size of those that are under way.
    running: Vec<String>,
}

impl Ear {
    fn new(words: OutputTail, phase: watch::Sender<String>) -> Self {
        Self { words, phase, line: Vec::new(), kept: 0, descriptions: 0, archives: 0, downloads: Downloads::default() }
    }

    fn hear(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > LINE {
                // No line that means something is that long.
                self.keep_line();
                self.words.push(part);
                self.line.clear();
                self.kept = 0;
                continue;
            }
            self.line.extend_from_slice(part);
            let is_note = self.line.starts_with(NOTE);
            // What may become a note is held back until that is known.
            if !is_note && !NOTE.starts_with(&self.line) {
                self.keep_line();
            }
            if part.ends_with(b"\n") {
                self.end_line(is_note);
            }
        }
    }

    fn keep_line(&mut self) {
        self.words.push(&self.line[self.kept..]);
        self.kept = self.line.len();
    }

    fn end_line(&mut self, is_note: bool) {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        if let Some((_, why)) = line.split_once(" failed with ").filter(|_| is_note) {
            self.phase.send_replace(shown(&format!("asking again after {}", why.trim()), SHOWN));
        } else if is_note {
            let is_archive = line.split_whitespace().any(|word| word.rsplit('.').next() == Some("tgz"));
            *(if is_archive { &mut self.archives } else { &mut self.descriptions }) += 1;
            self.phase.send_replace(if self.archives > 0 {
                format!("fetching packages: {}", self.archives)
            } else {
                format!("looking up packages: {}", self.descriptions)
            });
        } else {
            self.keep_line();
            if let Some(phase) = self.downloads.phase(line.trim()) {
                self.phase.send_replace(shown(&without_secrets(&phase), SHOWN));
            }
        }
        self.line.clear();
        self.kept = 0;
    }
}

impl Downloads {
    /// How far uv is by one of its lines; `None` when that says nothing of it.
    fn phase(&mut self, line: &str) -> Option<String> {
        let (word, rest) = line.split_once(' ')?;
        // `104 packages in 1.7s`
        let packages = || rest.split(" in ").next().unwrap_or_default();
        Some(match word {
            "Resolved" => format!("resolved {}", packages()),
            "Downloading" => {
                self.started += 1;
                self.running.push(rest.to_owned());
                self.under_way()?
            }
            "Downloaded" => {
                self.running.retain(|running| running.split(' ').next() != Some(rest));
                self.under_way().unwrap_or_else(|| "fetched packages".to_owned())
            }
            "Building" => format!("building {rest}"),
            "Prepared" => format!("installing {}", packages()),
            "Installed" => format!("installed {}", packages()),
            _ => return None,
        })
    }

    /// The download that has taken longest, with the number of those that are done.
    fn under_way(&self) -> Option<String> {
        let first = self.running.first()?;
        let done = self.started - self.running.len();
        Some(match self.started {
            1 => format!("downloading {first}"),
            started => format!("downloading {first}, {done} of {started} done"),
        })
    }
}

/// Takes what a pipe brings, to its end.
async fn drain(mut pipe: impl AsyncRead + Unpin, mut take: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        take(&buffer[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> (String, String) {
        let (words, (phase, seen)) = (OutputTail::default(), watch::channel(String::new()));
        let mut ear = Ear::new(words.clone(), phase);
        for piece in pieces {
            ear.hear(piece.as_bytes());
        }
        ear.keep_line();
        let phase = seen.borrow().clone();
        (words.text(), phase)
    }

    #[test]
    fn notes_of_npm_are_counted_and_not_kept() {
        let get = |path: &str| format!("npm http fetch GET 200 https://h.example/{path} 12ms (cache miss)\n");
        let (kept, phase) = heard(&[&get("a"), &get("b"), "npm warn x\nnpm h"]);
        assert_eq!((kept.as_str(), phase.as_str()), ("npm warn x\nnpm h", "looking up packages: 2"));
        let (kept, phase) = heard(&["npm http fetch GET https://h.example/a attempt 1 failed with EAI_AGAIN\n"]);
        assert_eq!((kept.as_str(), phase.as_str()), ("", "asking again after EAI_AGAIN"));
        let (kept, phase) =
            heard(&["npm", " http fetch GET 200 https://h.example/a/-/a-1.tgz 1ms\nnpm er", "ror code E\n"]);
        assert_eq!((kept.as_str(), phase.as_str()), ("npm error code E\n", "fetching packages: 1"));
    }

    #[test]
    fn phases_of_uv_are_told_in_few_words() {
        // As uv 0.13 writes them.
        let mut words = String::new();
        for (line, expected) in [
            ("Resolved 104 packages in 1.73s", "resolved 104 packages"),
            ("Downloading numpy (16.1MiB)", "downloading numpy (16.1MiB)"),
            ("Downloading pillow (6.8MiB)", "downloading numpy (16.1MiB), 0 of 2 done"),
            (" Downloaded numpy", "downloading pillow (6.8MiB), 1 of 2 done"),
            (" Downloaded pillow", "fetched packages"),
            ("   Building docopt==0.6.2", "building docopt==0.6.2"),
            ("      Built docopt==0.6.2", "building docopt==0.6.2"),
            ("Prepared 104 packages in 2.10s", "installing 104 packages"),
            ("Installed 104 packages in 351ms", "installed 104 packages"),
            (" + aiohttp==3.14.5", "installed 104 packages"),
            ("Installed 3 executables: mc, mcode", "installed 3 executables: mc, mcode"),
        ] {
            words.push_str(line);
            words.push('\n');
            let (kept, phase) = heard(&[&words]);
            assert_eq!((phase.as_str(), kept), (expected, words.clone()), "{line}");
        }
        let (kept, phase) = heard(&["Downloading x\u{1b}[31m (9MiB)\n", "error: no\n"]);
        assert_eq!(phase, "downloading x[31m (9MiB)");
        assert_eq!(kept, "Downloading x\u{1b}[31m (9MiB)\nerror: no\n");
    }

    #[test]
    fn no_password_of_a_registry_is_kept_or_shown() {
        let (kept, phase) = heard(&[
            "Downloading x from https://u:sec",
            "ret@h.example/x\nnpm error 401 https://u:secret@h.example/a\n",
        ]);
        assert_eq!(phase, "downloading x from https://h.example/x");
        assert_eq!(kept, "Downloading x from https://h.example/x\nnpm error 401 https://h.example/a\n");
    }

    #[test]
    fn a_line_of_any_length_is_kept_once() {
        let long = "x".repeat(3 * LINE);
        for pieces in [vec![long.as_str(), "\nend"], vec![&long[..10], &long[10..], "\nend"]] {
            assert_eq!(heard(&pieces).0, format!("{long}\nend"));
        }
    }
}
