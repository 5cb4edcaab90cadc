//! `--on`: agents on another machine, which is a real OpenSSH server on loopback with another home, and in WSL, for which a
//! script stands that is called like `wsl.exe`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use acp_registry::elsewhere::Connection;
use acp_registry::failure::Failure;
use acp_registry::host::process::Environment;
use nix::sys::signal::Signal::{self, SIGINT, SIGKILL, SIGTERM};
use serde_json::{Value, json};

use crate::agent::left_with;
use crate::earlier_versions;
use crate::people::{People, packed};
use crate::signed;
use crate::support::{PROGRAM, Run, skipped, wait_until};

const SSHD: &str = "/usr/sbin/sshd";

/// Where a copy of this program is, below the home of the other side.
fn copy() -> String {
    format!("there/.local/share/acp-registry/bin/acp-registry-{}", env!("CARGO_PKG_VERSION"))
}

/// An OpenSSH server with keys and a configuration of its own, and people who reach it as `ssh:box`.
pub(crate) struct Box {
    pub(crate) people: People,
    server: Child,
}

impl Drop for Box {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Box {
    /// `None` without OpenSSH's server, which is said.
    fn new(test: &str) -> Option<Self> {
        Self::reached_by(test, People::new)
    }

    fn reached_by(test: &str, people: fn() -> People) -> Option<Self> {
        // A server of root separates its privileges with this empty directory, which services create at each start.
        let is_root = rustix::process::geteuid().is_root();
        if !Path::new(SSHD).exists() || (is_root && fs::create_dir_all("/run/sshd").is_err()) {
            skipped(test, "OpenSSH's server is not installed");
            return None;
        }
        let people = people();
        for name in ["there/stubs", "ssh"] {
            fs::create_dir_all(people.env.path(name)).unwrap();
        }
        let path = |name: &str| people.env.path(name).display().to_string();
        for key in ["ssh/host", "ssh/person"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]).status();
            assert!(made.unwrap().success());
        }
        fs::copy(path("ssh/person.pub"), path("ssh/authorized")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // `PATH` there has no program of this machine's people, but first what a test puts there.
        let configuration = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nAcceptEnv THERE\nPasswordAuthentication no\nPermitRootLogin yes\nSetEnv HOME={} PATH={}:/usr/bin:/bin\n",
            path("ssh/host"),
            path("ssh/authorized"),
            path("there"),
            path("there/stubs"),
        );
        people.env.write("ssh/server", configuration);
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let known = fs::read_to_string(path("ssh/host.pub")).unwrap();
        people.env.write("ssh/known", format!("[127.0.0.1]:{port} {known}"));
        let client = format!(
            "Host box closed\n HostName 127.0.0.1\n Port {port}\n User {}\n IdentityFile {}\n IdentitiesOnly yes\n \
             UserKnownHostsFile {}\nHost closed\n Port 1\n",
            String::from_utf8(user).unwrap().trim(),
            path("ssh/person"),
            path("ssh/known"),
        );
        // The first value counts.
        let client = format!("Host closed\n Port 1\n{client}");
        people.env.write("ssh/client", client);
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F '{}' \"$@\"\n", path("ssh/client"));
        people.env.write_program("bin/ssh", &script);
        let mut server = Command::new(SSHD);
        server.args(["-D", "-e", "-f", &path("ssh/server")]).stderr(fs::File::create(path("ssh/log")).unwrap());
        let server = server.spawn().unwrap();
        let one = Self { people, server };
        wait_until("the server listens", || one.people.env.read("ssh/log").contains("listening"));
        Some(one)
    }

    /// Like `new`, with this program in the `PATH` there.
    pub(crate) fn with_program(test: &str) -> Option<Self> {
        let one = Self::new(test)?;
        symlink(PROGRAM, one.people.env.path("there/stubs/acp-registry")).unwrap();
        Some(one)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        with_path(self.people.command(arguments), &self.people.env.path("bin"))
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    fn stub(&self, name: &str, script: &str) {
        self.people.env.write_program(&format!("there/stubs/{name}"), script);
    }
}

fn with_path(mut command: Command, folder: &Path) -> Command {
    command.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()));
    command
}

#[test]
fn an_agent_is_installed_and_started_there_by_a_copy_of_this_program() {
    let Some(there) = Box::new("an_agent_is_installed_and_started_there") else { return };
    there.people.publish(&[there.people.agent("a", "1.0.0")]);
    let hostile =
        ["--on", "ssh:box", "a", "--", "two words", "it's \"x\"", "$(id)`id`", "a\nb", "-x", "", "\\", "*", "!!"];
    let run = there.run(&[&["run"], &hostile[..]].concat());
    assert_eq!(
        (run.code, &*run.stdout),
        (0, "a-1.0.0 acp two words it's \"x\" $(id)`id` a\nb -x  \\ * !!\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("installing a 1.0.0"), "{}", run.stderr);
    let copied = there.people.env.path(&copy());
    assert_eq!(fs::metadata(&copied).unwrap().permissions().mode() & 0o7777, 0o755);
    assert!(fs::read(&copied).unwrap() == fs::read(PROGRAM).unwrap());
    assert_eq!(fs::read_dir(copied.parent().unwrap()).unwrap().count(), 1);
    assert!(there.people.env.path("there/.local/share/acp-registry/agents/a").is_dir());
    assert!(there.people.left().is_empty(), "nothing is installed here: {:?}", there.people.left());
    let (asked, written) = (there.people.server.asked().len(), fs::metadata(&copied).unwrap().modified().unwrap());
    assert_eq!(there.run(&["run", "a", "--on", "ssh:box"]).stdout, "a-1.0.0 acp\n");
    assert_eq!(there.people.server.asked().len(), asked);
    assert_eq!(fs::metadata(&copied).unwrap().modified().unwrap(), written);
}

#[cfg(target_os = "linux")]
#[test]
fn copies_of_earlier_versions_are_removed_unless_they_run() {
    let Some(there) = Box::new("copies_of_earlier_versions_are_removed") else { return };
    there.people.publish(&[there.people.agent("a", "1.0.0")]);
    let folder = there.people.env.path(&copy()).parent().unwrap().to_owned();
    fs::create_dir_all(&folder).unwrap();
    for (age, version) in ["0.0.4", "0.0.3", "0.0.2", "0.0.1"].iter().enumerate() {
        let file = folder.join(format!("acp-registry-{version}"));
        fs::copy("/bin/sleep", &file).unwrap();
        let modified = std::time::SystemTime::now() - Duration::from_hours(1 + age as u64);
        fs::File::options().append(true).open(&file).unwrap().set_modified(modified).unwrap();
    }
    fs::write(folder.join("other"), "").unwrap();
    let mut running = Command::new(folder.join("acp-registry-0.0.2")).arg("3600").spawn().unwrap();
    let left = || {
        assert_eq!(there.run(&["run", "a", "--on", "ssh:box"]).code, 0);
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let own = format!("acp-registry-{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(left(), ["acp-registry-0.0.2", "acp-registry-0.0.4", &own, "other"]);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(left(), ["acp-registry-0.0.4", &own, "other"]);
}

#[test]
fn a_machine_is_waited_for_as_the_configuration_of_ssh_says_or_half_a_minute() {
    let people = People::new();
    let stub = |limit: &str| {
        let arguments = people.env.path("arguments").display().to_string();
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = -G ]; then echo 'user me'; echo 'connecttimeout {limit}'; exit; fi\n\
             echo \"$1 $2 $3 $4 $5\" >'{arguments}'\n\
             echo 'ssh: connect to host box port 22: Connection timed out' >&2\nexit 255\n"
        );
        people.env.write_program("bin/ssh", &script);
        let run = Run::of(&mut with_path(people.command(&["run", "a", "--on", "ssh:box"]), &people.env.path("bin")));
        assert!(run.code == 3 && run.stderr.contains("port 22: Connection timed out\n"), "{}", run.stderr);
        assert!(run.stderr.contains("help: see that `ssh box true` succeeds; a `ConnectTimeout` "), "{}", run.stderr);
        people.env.read("arguments")
    };
    assert_eq!(stub("none"), "-T -o BatchMode=yes -o ConnectTimeout=30\n");
    assert_eq!(stub("7"), "-T -o BatchMode=yes -- box\n");
}

/// A machine that lets people in, and then says only a word of welcome. Nothing of `ssh` limits how long it is waited for.
#[cfg(target_os = "linux")]
struct Silent(Box);

#[cfg(target_os = "linux")]
impl Silent {
    fn new(test: &str) -> Option<Self> {
        let there = Box::new(test)?;
        let key = there.people.env.read("ssh/person.pub");
        there.people.env.write("ssh/authorized", format!("command=\"echo welcome >&2; exec sleep 3600\" {key}"));
        let path = |name: &str| there.people.env.path(name).display().to_string();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = -G ] && echo connecttimeout 0 && exit\nexport TAG={}\nsleep 3600 &\n\
             exec /usr/bin/ssh -F '{}' \"$@\"\n",
            path("tag"),
            path("ssh/client")
        );
        there.people.env.write_program("bin/ssh", &script);
        Some(Self(there))
    }

    /// What was started here has ended, or soon does. A server ends no program that reads nothing.
    fn end(self) {
        let left = |variable: &str, name: &str| {
            left_with("environ", &format!("{variable}={}", self.0.people.env.path(name).display()))
        };
        wait_until("nothing is left here", || left("TAG", "tag").is_empty());
        for process in left("HOME", "there") {
            Running::signal(process, SIGKILL);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_machine_that_lets_in_and_says_nothing_is_not_waited_for_without_end() {
    let Some(there) = Silent::new("a_machine_that_lets_in_and_says_nothing") else { return };
    let env = &there.0.people.env;
    let folders = std::env::join_paths([env.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
    let environment = Environment::for_person([("PATH".into(), folders)]);
    // A machine that receives no copy.
    let script = "#!/bin/sh\necho acp-registry-elsewhere absent $(uname -sm):\nexec sleep 3600\n";
    env.write_program("bin/wsl.exe", script);
    let provided = async |machine: &str| {
        let (machine, ignored) = (machine.parse().unwrap(), Arc::new(|_: &[u8]| Ok(())));
        let mut connection = Connection::open(&machine, &environment, Duration::from_secs(1), ignored).await?;
        connection.provide(Path::new(PROGRAM)).await
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for machine in ["ssh:box", "wsl:Debian"] {
        let failure = Failure::from(runtime.block_on(provided(machine)).unwrap_err());
        assert!(failure.to_string().starts_with(&format!("{machine} has said nothing for 1 s")), "{failure}");
    }
    there.end();
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_the_connection_to_a_machine_that_says_nothing() {
    let Some(there) = Silent::new("a_signal_ends_the_connection_to_a_machine") else { return };
    let mut command = there.0.command(&["run", "a", "--on", "ssh:box"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "welcome\n");
    Running::signal(child.id(), SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    there.end();
}

/// An editor that hangs reads nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_ends_a_start_whose_output_is_not_read() {
    for endless in ["printf '\\001\\000\\000\\020\\000'; head -c 4096 /dev/zero", "head -c 4096 /dev/zero >&2"] {
        let people = People::new();
        people.publish(&[people.agent("a", "1.0.0")]);
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = -G ] && exit\necho; echo acp-registry-elsewhere found Linux x86_64: /x\n\
             echo $$ > '{}'\nwhile :; do {endless} || exit; done\n",
            people.env.path("process").display()
        );
        people.env.write_program("bin/ssh", &script);
        let mut command = with_path(people.command(&["run", "a", "--on", "ssh:box"]), &people.env.path("bin"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = std::cell::RefCell::new(command.spawn().unwrap());
        wait_until("the other side writes", || people.env.path("process").exists());
        // A signal that is sent before the first is handled would be the same one.
        wait_until("it has ended", || {
            Running::signal(child.borrow().id(), SIGTERM);
            child.borrow_mut().try_wait().unwrap().is_some()
        });
        assert_eq!(child.borrow_mut().wait().unwrap().code(), Some(143), "{endless}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_machine_that_goes_on_after_a_signal_is_left() {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    let script = "#!/bin/sh\n[ \"$1\" = -G ] && exit\necho; echo acp-registry-elsewhere found Linux x86_64: /x\n\
                  while :; do printf '\\001\\000\\000\\000\\001x' || exit; sleep 1; done\n";
    people.env.write_program("bin/ssh", script);
    let mut command = with_path(people.command(&["run", "a", "--on", "ssh:box"]), &people.env.path("bin"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut byte = [0];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut byte).unwrap();
    Running::signal(child.id(), SIGTERM);
    std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn stdin_variables_and_exit_codes_pass_and_secrets_do_not() {
    let Some(there) = Box::with_program("stdin_variables_and_exit_codes_pass") else { return };
    let script = "#!/bin/sh\npwd\nenv\necho to-stderr >&2\ngrep -l n0tsh0wn /proc/[0-9]*/cmdline\ncat\nexit 255\n";
    there.people.publish(&[there.people.agent_of("a", "1.0.0", &packed(script), None)]);
    let mut command = there.command(&["run", "a", "--on", "ssh:box", "--env", "MINE", "--env", "EXAMPLE"]);
    command.env("MINE", "n0tsh0wn two\nlines").env("EXAMPLE", "mine").env("MY_TOKEN", "hidden");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let sent = format!("{{\"id\":1}}\n{}\n", "x".repeat(300_000));
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (said, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(255), "{errors}");
    let home = there.people.env.path("there").display().to_string();
    assert!(said.starts_with(&format!("{home}\n")) && said.contains(&format!("\nHOME={home}\n")), "{said}");
    assert!(said.contains("\nMINE=n0tsh0wn two\nlines\n") && said.contains("\nEXAMPLE=mine\n"), "{said}");
    assert!(!said.contains("hidden") && !said.contains("/proc/"), "{said}");
    assert!(said.ends_with(&sent), "stdin is passed on as a whole");
    assert!(errors.contains("to-stderr\n") && !errors.contains("error:"), "{errors}");
    for (name, why) in [("ABSENT", "the variable `ABSENT` is not set"), ("LD_PRELOAD", "it belongs to")] {
        let mut command = there.command(&["run", "a", "--on", "ssh:box", "--env", name]);
        let run = Run::of(command.env("LD_PRELOAD", ""));
        assert!(run.code == 2 && run.stderr.contains(why), "{}", run.stderr);
    }
}

#[test]
fn an_agent_that_is_installed_here_has_the_same_version_and_digest_there() {
    let Some(there) = Box::with_program("an_agent_that_is_installed_here") else { return };
    let people = &there.people;
    people
        .publish(&[people.agent("a", "1.0.0"), people.agent_of("b", "1.0.0", &packed("#!/bin/sh\necho one\n"), None)]);
    assert_eq!(people.run(&["install", "a", "b", "--no-check"]).code, 0);
    // The host of the archive sends something else from now on.
    people
        .publish(&[people.agent("a", "1.0.0"), people.agent_of("b", "1.0.0", &packed("#!/bin/sh\necho two\n"), None)]);
    let run = there.run(&["run", "b", "--on", "ssh:box"]);
    assert!(run.code == 4 && run.stdout.is_empty() && run.stderr.contains("has another digest than"), "{}", run.stderr);
    let run = there.run(&["run", "a", "--on", "ssh:box"]);
    assert_eq!((run.code, &*run.stdout), (0, "a-1.0.0 acp\n"), "{}", run.stderr);
    // What the index and no history has, nothing says there; a version of a package would be found.
    fs::remove_dir_all(there.people.env.path("there/.local/share/acp-registry/agents/a")).unwrap();
    people.publish(&[people.agent("a", "2.0.0")]);
    let run = there.run(&["run", "a", "--on", "ssh:box", "--refresh"]);
    assert!(run.code == 2 && run.stderr.contains("version `1.0.0` of `a` is not known"), "{}", run.stderr);
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(there.run(&["run", "a", "--on", "ssh:box", "--refresh"]).code, 0);
    // What is newer in the index is not started there before it is here.
    people.publish(&[people.agent("a", "2.0.0")]);
    let run = there.run(&["run", "a", "--on", "ssh:box", "--refresh"]);
    assert_eq!((run.code, &*run.stdout), (0, "a-1.0.0 acp\n"), "{}", run.stderr);
    assert_eq!(people.run(&["update", "a", "--refresh"]).code, 0);
    let run = there.run(&["run", "a", "--on", "ssh:box", "--refresh"]);
    assert_eq!((run.code, &*run.stdout), (0, "a-2.0.0 acp\n"), "{}", run.stderr);
    let digest = "0".repeat(64);
    let run = there.run(&["run", "a", "--digest", &digest]);
    assert!(run.code == 4 && run.stderr.contains("has another digest than"), "{}", run.stderr);
}

#[test]
fn a_version_that_the_index_has_no_more_is_installed_there_from_the_history() {
    let test = "a_version_that_the_index_has_no_more";
    let Some(there) = Box::reached_by(test, earlier_versions::in_git) else { return };
    assert_eq!(there.people.run(&["install", "a@1.0.0", "--no-check"]).code, 0);
    for (agent, said) in [("a", "a-1.0.0 acp-1.0.0\n"), ("a@1.1.0", "a-1.1.0 acp-1.1.0\n")] {
        let run = there.run(&["run", agent, "--on", "ssh:box"]);
        assert_eq!((run.code, &*run.stdout), (0, said), "{}", run.stderr);
    }
}

/// An agent there that has started another process, in a session of its own; the first line of stdout was read.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    tag: String,
}

impl Running {
    fn new(there: &Box) -> Self {
        // The folder of the test is in no other test's environment.
        let tag = there.people.env.path("tag").display().to_string();
        let script = format!("#!/bin/sh\nexport TAG={tag}\nsetsid sleep 3600 &\necho ready\nsleep 3600\n");
        there.people.publish(&[there.people.agent_of("a", "1.0.0", &packed(&script), None)]);
        let mut command = there.command(&["run", "a", "--on", "ssh:box"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut running = Self { stdout: BufReader::new(child.stdout.take().unwrap()), child, tag };
        assert_eq!(running.line(), "ready\n");
        wait_until("both processes run", || running.left() == 2);
        running
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    fn left(&self) -> usize {
        left_with("environ", &format!("TAG={}", self.tag)).len()
    }

    fn signal(process: u32, signal: Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(process.cast_signed()), signal).unwrap();
    }

    /// The exit code and stderr. All that was started there has ended then, or soon does.
    fn end(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        wait_until("nothing is left there", || left_with("environ", &format!("TAG={}", self.tag)).is_empty());
        (output.status.code(), errors)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_the_agent_there() {
    let Some(there) = Box::with_program("a_signal_ends_the_agent_there") else { return };
    for (signal, code) in [(SIGINT, Some(130)), (SIGTERM, Some(143)), (SIGKILL, None)] {
        let running = Running::new(&there);
        Running::signal(running.child.id(), signal);
        let (ended, errors) = running.end();
        assert_eq!(ended, code, "{errors}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lost_connection_ends_the_agent_there_and_is_said_here() {
    let Some(there) = Box::with_program("a_lost_connection_ends_the_agent_there") else { return };
    let running = Running::new(&there);
    // The process of the server that has the connection.
    let sessions = left_with("cmdline", "sshd: ");
    let parent = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse::<u32>().ok())
    };
    let session = sessions.iter().find(|process| parent(**process) == Some(there.server.id())).unwrap();
    // Its children are those of another process once it has ended.
    let children: Vec<u32> = sessions.iter().copied().filter(|process| parent(*process) == Some(*session)).collect();
    Running::signal(*session, SIGKILL);
    for child in children {
        let pid = nix::unistd::Pid::from_raw(child.cast_signed());
        let _ = nix::sys::signal::kill(pid, SIGKILL);
    }
    let (code, errors) = running.end();
    assert!(code == Some(3) && errors.contains("error: the connection to ssh:box was lost"), "{code:?} {errors}");
}

#[test]
fn what_cannot_be_reached_copied_or_started_is_said_with_its_own_words() {
    let Some(there) = Box::new("what_cannot_be_reached_copied_or_started") else { return };
    there.people.publish(&[there.people.agent("a", "1.0.0")]);
    let fails = |machine: &str, message: &str, help: &str| {
        let run = there.run(&["run", "a", "--on", machine]);
        assert!(run.code == 3 && run.stdout.is_empty(), "{} {}", run.code, run.stderr);
        assert!(run.stderr.contains(&format!("error: {message}")), "{}", run.stderr);
        assert!(help.is_empty() || run.stderr.ends_with(&format!("help: {help}\n")), "{}", run.stderr);
    };
    let refused = "ssh:closed cannot be reached: ssh: connect to host 127.0.0.1 port 1: Connection refused";
    fails("ssh:closed", refused, "see that `ssh closed true` succeeds without a question");
    fails("wsl:Debian", "wsl:Debian needs `wsl.exe`, which is not in PATH", "run it on Windows, with WSL installed");
    let install = format!("install acp-registry {} on ssh:box, in its PATH", env!("CARGO_PKG_VERSION"));
    // A program of another version is not taken.
    there.stub("acp-registry", "#!/bin/sh\necho acp-registry 0.0.1\n");
    there.stub("uname", "#!/bin/sh\necho Plan9 z80\n");
    fails("ssh:box", "ssh:box has no acp-registry ", &install);
    fs::remove_file(there.people.env.path("there/stubs/uname")).unwrap();
    there.stub("gzip", "#!/bin/sh\nhead -c 9 >/dev/null\necho no space >&2\nexit 1\n");
    fails("ssh:box", "acp-registry cannot be copied to ssh:box: no space", "");
    assert_eq!(fs::read_dir(there.people.env.path(&copy()).parent().unwrap()).unwrap().count(), 0);
    fs::remove_file(there.people.env.path("there/stubs/gzip")).unwrap();
    there.stub("chmod", "#!/bin/sh\n");
    fails("ssh:box", "ssh:box has no acp-registry ", &install);
    for name in ["ssh:-oProxyCommand=id", "ssh:a b", "box", "wsl:-e", "ssh:"] {
        let run = there.run(&["run", "a", "--on", name]);
        assert!(run.code == 2 && run.stderr.contains("write `ssh:HOST` or `wsl:DISTRIBUTION`"), "{}", run.stderr);
    }
    let mut command = there.command(&["run", "a", "--on", "ssh:box", "--index", "r"]);
    let run = Run::of(command.env_remove("ACP_REGISTRY_INDEX"));
    assert!(run.code == 2 && run.stderr.contains("is on this machine only"), "{}", run.stderr);
    // What the agent's installation fails with is said there.
    fs::remove_file(there.people.env.path("there/stubs/chmod")).unwrap();
    let run = there.run(&["run", "unknown", "--on", "ssh:box"]);
    assert!(run.code == 2 && run.stderr.contains("there is no agent"), "{}", run.stderr);
}

#[test]
fn doctor_says_what_is_there_and_copies_nothing() {
    let Some(there) = Box::new("doctor_says_what_is_there") else { return };
    there.people.publish(&[there.people.agent("a", "1.0.0")]);
    let run = there.run(&["doctor", "--on", "ssh:box"]);
    assert!(run.code == 0 && run.stdout.contains("ssh:box answers: "), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("`run --on ssh:box` copies this one there"), "{}", run.stdout);
    let document = |arguments: &[&str]| {
        let run = there.run(&[&["doctor", "--on", "ssh:box", "--json"], arguments].concat());
        (run.code, serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr)))
    };
    let (code, absent) = document(&[]);
    assert_eq!((code, &absent["checks"][1]["status"], &absent["agents"]), (0, &json!("warning"), &json!([])));
    assert!(!there.people.env.path(&copy()).exists());
    there.stub("uname", "#!/bin/sh\necho Plan9 \"$(printf 'z\\33')\"\n");
    let (code, other) = document(&[]);
    assert_eq!((code, &other["checks"][1]["status"]), (1, &json!("error")));
    assert!(other["checks"][0]["message"].as_str().unwrap().ends_with("Plan9 z\\u{1b}"), "{other}");
    fs::remove_file(there.people.env.path("there/stubs/uname")).unwrap();
    symlink(PROGRAM, there.people.env.path("there/stubs/acp-registry")).unwrap();
    assert_eq!(there.run(&["run", "a", "--on", "ssh:box"]).code, 0);
    let (_, found) = document(&["--timeout", "90s"]);
    assert_eq!(found["checks"][1]["status"], "ok");
    assert!(found["checks"].as_array().unwrap().iter().any(|check| check["name"] == "index"), "{found}");
    assert_eq!((&found["agents"][0]["id"], &found["agents"][0]["version"]), (&json!("a"), &json!("1.0.0")));
    let run = there.run(&["doctor", "--on", "ssh:box"]);
    assert!(run.stdout.contains("\na 1.0.0\n"), "{}", run.stdout);
    // What only pretends to be this program is not believed.
    fs::remove_file(there.people.env.path("there/stubs/acp-registry")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo acp-registry {version} && exit\nprintf '\\1\\0\\0\\0\\1x\\4\\0\\0\\0\\1\\0'\n"
    );
    there.stub("acp-registry", &script);
    let run = there.run(&["doctor", "--on", "ssh:box", "--json"]);
    assert!(run.code == 3 && run.stderr.contains("is not a JSON document: "), "{}", run.stderr);
}

#[test]
fn agents_are_installed_and_updated_there() {
    let Some(there) = Box::with_program("agents_are_installed_and_updated_there") else { return };
    let people = &there.people;
    people.publish(&[people.agent("a", "1.0.0"), people.agent("b", "1.0.0")]);
    let run = there.run(&["install", "a", "b", "--no-check", "--install-timeout", "90s", "--on", "ssh:box"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("installed a 1.0.0 (binary"), "{}", run.stdout);
    assert!(people.left().is_empty(), "nothing is installed here: {:?}", people.left());
    people.publish(&[people.agent("a", "2.0.0"), people.agent("b", "2.0.0")]);
    let document = |command: &[&str]| {
        let run = there.run(&[command, &["--json", "--no-check", "--on", "ssh:box"]].concat());
        (run.code, serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr)))
    };
    let (code, held) = document(&["update", "--dry-run", "--min-age", "3d", "--refresh", "a"]);
    assert_eq!((code, &held["command"], &held["held"][0]["to"]), (0, &json!("update"), &json!("2.0.0")), "{held}");
    assert_eq!(document(&["update", "--dry-run", "a"]).0, 1);
    assert_eq!(document(&["install", "b@1.0.0"]).0, 0);
    let run = there.run(&["update", "--no-check", "--on", "ssh:box"]);
    let text = "updated a 1.0.0 -> 2.0.0\npinned b 1.0.0 (the index has 2.0.0)\n";
    assert_eq!((run.code, &*run.stdout), (0, text), "{}", run.stderr);
    let (code, updated) = document(&["update", "--unpin", "--accept-publisher", "--no-cache", "--allow-build"]);
    assert_eq!((code, &updated["updates"][0]["id"]), (0, &json!("b")), "{updated}");
    assert_eq!(document(&["update", "b", "--to", "1.0.0"]).1["updates"][0]["to"], "1.0.0");
    // What is wrong is said there.
    let (code, wrong) = document(&["install", "c", "--dist", "binary", "--require", "digest"]);
    assert_eq!((code, &wrong["error"]["code"]), (2, &json!("unknown_agent")), "{wrong}");
    let run = there.run(&["install", "a", "--lock", "x.lock", "--on", "ssh:box"]);
    assert!(run.code == 2 && run.stderr.contains("cannot be used with"), "{}", run.stderr);
    let (code, wrong) = document(&["install", "b", "--platform", "windows-x86_64"]);
    assert_eq!((code, &wrong["error"]["code"]), (2, &json!("unsupported_platform")), "{wrong}");
    // What only pretends to be this program is not believed, and cannot paint.
    fs::remove_file(people.env.path("there/stubs/acp-registry")).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo acp-registry {} && exit\n\
         printf '\\1\\0\\0\\0\\4\\33[1m\\4\\0\\0\\0\\1\\0'\n",
        env!("CARGO_PKG_VERSION")
    );
    there.stub("acp-registry", &script);
    assert_eq!(there.run(&["update", "--on", "ssh:box"]).stdout, "\\u{1b}[1m\n");
    let run = there.run(&["update", "--on", "ssh:box", "--json"]);
    assert!(run.code == 3 && run.stderr.contains("is not a JSON document: "), "{}", run.stderr);
    for (answer, flags, shown) in [
        (r"\1\0\0\0\6\42\302\233\177\42\n", &["--json"][..], "\"\\u009b\\u007f\"\n"),
        (r"\1\0\0\0\5 ::x\n", &[], " \\u{3a}:x\n"),
    ] {
        let version = env!("CARGO_PKG_VERSION");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo acp-registry {version} && exit\nprintf '{answer}\\4\\0\\0\\0\\1\\0'\n"
        );
        there.stub("acp-registry", &script);
        assert_eq!(there.run(&[&["update", "--on", "ssh:box"], flags].concat()).stdout, shown);
    }
}

/// The other machine does not know the registry yet.
#[test]
fn the_signer_that_a_variable_names_here_is_the_one_that_counts_there() {
    let Some(there) = Box::with_program("the_signer_that_a_variable_names_here") else { return };
    there.people.publish(&[there.people.agent("a", "1.0.0")]);
    let run = |words: &[&str]| {
        let mut command = there.command(&[words, &["a", "--on", "ssh:box"]].concat());
        let run = Run::of(command.env("ACP_REGISTRY_SIGNER", signed::public(0).to_string()));
        assert!(run.code == 4 && run.stderr.contains("is not signed"), "{words:?} {}: {}", run.code, run.stderr);
    };
    run(&["run"]);
    run(&["install"]);
    assert!(!there.people.env.path("there/.local/share/acp-registry/agents").exists());
}

#[test]
fn a_directory_that_others_can_change_there_is_used_if_that_is_wanted() {
    let Some(there) = Box::with_program("a_directory_that_others_can_change_there") else { return };
    there.people.publish(&[there.people.agent("a", "1.0.0")]);
    assert_eq!(there.run(&["run", "a", "--on", "ssh:box"]).code, 0);
    let agents = there.people.env.path("there/.local/share/acp-registry/agents");
    fs::set_permissions(&agents, fs::Permissions::from_mode(0o777)).unwrap();
    let run = there.run(&["run", "a", "--on", "ssh:box"]);
    assert!(run.code == 4 && run.stderr.contains("--trust-root"), "{} {}", run.code, run.stderr);
    let run = there.run(&["run", "a", "--on", "ssh:box", "--trust-root", "--wait", "1.5s"]);
    assert_eq!((run.code, &*run.stdout), (0, "a-1.0.0 acp\n"), "{}", run.stderr);
}

#[test]
fn settings_start_the_agent_there() {
    let Some(there) = Box::with_program("settings_start_the_agent_there") else { return };
    there.people.publish(&[there.people.agent("a", "1.0.0")]);
    let run = there.run(&["config", "zed", "a", "--on", "ssh:box", "--env", "MINE"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let settings: Value = serde_json::from_str(&run.stdout).unwrap();
    let server = &settings["agent_servers"]["a"];
    let words: Vec<String> = serde_json::from_value(server["args"].clone()).unwrap();
    assert!(words.iter().any(|word| word == "ssh:box"), "{words:?}");
    let mut command = Command::new(server["command"].as_str().unwrap());
    command.args(words).stdin(Stdio::null()).env("MINE", "x");
    let run = Run::of(&mut with_path(command, &there.people.env.path("bin")));
    assert_eq!((run.code, &*run.stdout), (0, "a-1.0.0 acp\n"), "{}", run.stderr);
    // Which version that is, is told by what is installed here.
    let run = there.run(&["config", "zed", "a", "--on", "ssh:box", "--root", "other"]);
    let root = Value::from(there.people.env.path("other").display().to_string()).to_string();
    assert!(run.stdout.contains(&root), "{}", run.stdout);
    assert!(run.stderr.contains("current on ssh:box") && !run.stderr.contains("not installed"), "{}", run.stderr);
    let run = there.run(&["config", "zed", "a", "--on", "ssh:box", "--direct"]);
    assert!(run.code == 2 && run.stderr.contains("cannot be used with"), "{}", run.stderr);
}

#[test]
fn an_agent_is_started_in_a_distribution_of_wsl() {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    let home = people.env.path("there");
    fs::create_dir_all(&home).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2 $3\" = '--distribution Debian --exec' ] || {{ echo There is no distribution >&2; exit 1; }}\n\
         shift 3\nexec env -i HOME='{}' PATH=/usr/bin:/bin \"$@\"\n",
        home.display()
    );
    people.env.write_program("bin/wsl.exe", &script);
    let run = |arguments: &[&str]| Run::of(&mut with_path(people.command(arguments), &people.env.path("bin")));
    let started = run(&["run", "a", "--on", "wsl:Debian", "--", "two words"]);
    assert_eq!((started.code, &*started.stdout), (0, "a-1.0.0 acp two words\n"), "{}", started.stderr);
    let missing = run(&["run", "a", "--on", "wsl:Other"]);
    let message = "error: wsl:Other cannot be reached: There is no distribution\n";
    assert!(missing.code == 3 && missing.stderr.contains(message), "{}", missing.stderr);
}
