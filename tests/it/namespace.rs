//! Network namespaces of examinations: what agents reach in them, and what is left of them.
#![cfg(target_os = "linux")]

use std::io::{ErrorKind, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use acp_registry::examination::{CheckVerdict, ExaminationPlan, Level, examine};
use acp_registry::handshake::{HandshakeOptions, Verdict, check};
use acp_registry::host::process::{Isolation, Namespace, Network};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::agent::{bwrap_works, check_with, fake_agent, launch, left_with, tag};
use crate::examined::{not_passed, planned_with};
use crate::isolation::run_as_user;
use crate::support::{Env, PROGRAM, Run, skipped, wait_until};
use crate::verify::Verify;

/// A user id without an account.
const USER: u32 = 54_323;

/// Listeners of the host that an agent must not reach.
struct Host {
    tcp: TcpListener,
    /// `None` on systems without IPv6.
    tcp_v6: Option<TcpListener>,
    udp: UdpSocket,
    unix: UnixListener,
    port: String,
    name: String,
}

impl Host {
    fn new() -> Self {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let name = tag();
        let unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let tcp_v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).ok();
        tcp_v6.iter().chain([&tcp]).for_each(|listener| listener.set_nonblocking(true).unwrap());
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        Self { tcp, tcp_v6, udp, unix, port: port.to_string(), name }
    }

    /// The fake agent's case.
    fn case(&self) -> [&str; 3] {
        ["network", &self.port, &self.name]
    }

    /// What has arrived.
    fn reached(&self) -> Vec<&'static str> {
        let is_quiet = |error: &std::io::Error| error.kind() == ErrorKind::WouldBlock;
        let results = [
            ("tcp", self.tcp.accept().map(drop)),
            ("udp", self.udp.recv(&mut [0; 9]).map(drop)),
            ("unix", self.unix.accept().map(drop)),
        ];
        let v6 = self.tcp_v6.iter().map(|listener| ("tcp", listener.accept().map(drop)));
        results
            .into_iter()
            .chain(v6)
            .filter(|(_, result)| !result.as_ref().is_err_and(is_quiet))
            .map(|(name, _)| name)
            .collect()
    }

    /// Asserts that an agent has reached nothing, by its own account and by what has arrived.
    fn assert_unreached(&self, told: &Value) {
        let mut failures = told.clone();
        for name in ["host_tcp", "host_unix"] {
            assert_eq!(failures[name].take(), "ConnectionRefused", "{name}: {told:#}");
        }
        for name in ["outside_tcp", "outside_udp"] {
            assert_eq!(failures[name].take(), "NetworkUnreachable", "{name}: {told:#}");
        }
        // On systems without IPv6, other errors.
        for name in ["host_tcp_v6", "outside_tcp_v6", "outside_udp_v6"] {
            let error = failures[name].take();
            assert!(error.is_string() && error != "reached" && error != "TimedOut", "{name}: {told:#}");
        }
        assert_eq!(self.reached(), [] as [&str; 0], "{told:#}");
        // Some kernels add unused tunnels to each namespace.
        let packets = told["packets"].as_object().unwrap();
        assert!(packets.contains_key("lo"), "{told:#}");
        let left: Vec<_> = packets.iter().filter(|(name, count)| *name != "lo" && **count != 0).collect();
        assert!(left.is_empty() && !packets.contains_key("eth0"), "packets have left the namespace: {told:#}");
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn an_agent_reaches_the_listener_in_its_namespace_and_nothing_else() {
    const TEST: &str = "an_agent_reaches_the_listener_in_its_namespace_and_nothing_else";
    let mut isolations = vec![Isolation::Environment, Isolation::OwnUser { place: None }];
    if bwrap_works() {
        isolations.extend([Network::Shared, Network::None].map(|network| Isolation::Bwrap { network }));
    } else {
        skipped(TEST, "bwrap is not installed, or does not work here");
    }
    let host = Host::new();
    let runtime = runtime();
    for isolation in isolations {
        let temporary = tempfile::tempdir().unwrap();
        open(temporary.path(), 0o711);
        let told = runtime.block_on(async {
            let namespace = Namespace::create(Some(PROGRAM.as_ref())).await.unwrap();
            let listener = namespace.listen().await.unwrap();
            let address = listener.local_addr().unwrap();
            assert!(address.ip().is_loopback());
            let server = thread::spawn(move || listener.accept().unwrap().0.write_all(b"hello").unwrap());
            let inside = address.port().to_string();
            let tag = tag();
            let mut launch = launch(&[&host.case()[..], &[&inside]].concat(), &tag);
            launch.readable = vec![fake_agent()];
            (launch.isolation, launch.namespace) = (isolation.clone(), Some(namespace));
            let outcome = check(&launch, &HandshakeOptions::new(temporary.path().to_owned())).await.unwrap();
            assert_eq!(outcome.verdict, Verdict::Pass, "{outcome:?}");
            match isolation {
                Isolation::Bwrap { .. } => assert_eq!(outcome.isolation, "bwrap-no-network"),
                Isolation::Environment => assert_eq!(outcome.isolation, "environment"),
                // Depends on the user, and on where the program under test is.
                Isolation::OwnUser { .. } => {}
            }
            server.join().unwrap();
            serde_json::to_value(&outcome).unwrap()["handshake"]["agent_info"].clone()
        });
        assert_eq!(told["inside"], "hello", "{isolation:?}: {told:#}");
        host.assert_unreached(&told);
        // Root keeps nothing that could undo this: only the rights to use files of other users.
        let rights = told["capabilities"].as_str().unwrap();
        let is_known = rights == "0000000000000000" || (isolation == Isolation::Environment && rights.ends_with("1b"));
        assert!(is_known && rights.trim_start_matches('0').len() < 3, "{isolation:?}: {told:#}");
    }
}

/// Otherwise, the other tests would prove nothing.
#[test]
fn without_a_namespace_an_agent_reaches_the_host() {
    let host = Host::new();
    let told = check_with(&host.case(), |_| (), |_| ()).outcome;
    let told = serde_json::to_value(&told).unwrap()["handshake"]["agent_info"].clone();
    assert_eq!((&told["host_tcp"], &told["host_unix"]), (&json!("reached"), &json!("reached")), "{told:#}");
    let reached = [&["tcp", "udp", "unix"][..], if host.tcp_v6.is_some() { &["tcp"] } else { &[] }].concat();
    assert_eq!(host.reached(), reached);
}

#[test]
fn namespaces_do_not_reach_each_other() {
    runtime().block_on(async {
        let (one, other) =
            tokio::join!(Namespace::create(Some(PROGRAM.as_ref())), Namespace::create(Some(PROGRAM.as_ref())));
        let (one, other) = (one.unwrap(), other.unwrap());
        let listeners = [one.listen().await.unwrap(), one.listen().await.unwrap()];
        let ports = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port().to_string());
        assert_ne!(ports[0], ports[1]);
        let temporary = tempfile::tempdir().unwrap();
        let mut launch = launch(&["network", &ports[0], "x", &ports[1]], &tag());
        launch.namespace = Some(other);
        let outcome = check(&launch, &HandshakeOptions::new(temporary.path().to_owned())).await.unwrap();
        let told = serde_json::to_value(&outcome).unwrap()["handshake"]["agent_info"].clone();
        assert_eq!((&told["host_tcp"], &told["inside"]), (&json!("ConnectionRefused"), &json!("ConnectionRefused")));
        for listener in listeners {
            listener.set_nonblocking(true).unwrap();
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
    });
}

/// What can be told apart from the processes of other tests: a program with a name of its own.
fn named_launcher(folder: &Path) -> std::path::PathBuf {
    let launcher = folder.join(tag());
    symlink(PROGRAM, &launcher).unwrap();
    launcher
}

#[test]
fn no_process_is_left_of_a_namespace() {
    let temporary = tempfile::tempdir().unwrap();
    let launcher = named_launcher(temporary.path());
    let left = || left_with("cmdline", launcher.to_str().unwrap());
    runtime().block_on(async {
        let namespace = Namespace::create(Some(&launcher)).await.unwrap();
        let clone = namespace.clone();
        drop(namespace);
        assert_eq!(left().len(), 1);
        drop(clone);
        assert_eq!(left(), [] as [u32; 0]);
        // Cancelled at each step that waits.
        for microseconds in [0, 1, 300, 1000, 3000, 10_000] {
            let creation = timeout(Duration::from_micros(microseconds), Namespace::create(Some(&launcher))).await;
            drop(creation);
            assert_eq!(left(), [] as [u32; 0], "{microseconds}");
        }
        // Cancelled in an examination, while the agent runs.
        let tag = tag();
        let mut launch = launch(&["silent"], &tag);
        launch.launcher = Some(launcher.clone());
        launch.namespace = Some(Namespace::create(Some(&launcher)).await.unwrap());
        let options = HandshakeOptions::new(temporary.path().to_owned());
        assert!(timeout(Duration::from_millis(500), check(&launch, &options)).await.is_err());
        assert_eq!(left_with("environ", &tag), [] as [u32; 0]);
        drop(launch);
        assert_eq!(left(), [] as [u32; 0]);
    });
}

#[test]
fn if_the_keeper_has_ended_nothing_is_started_in_the_hosts_network() {
    let temporary = tempfile::tempdir().unwrap();
    let launcher = named_launcher(temporary.path());
    let host = Host::new();
    runtime().block_on(async {
        let namespace = Namespace::create(Some(&launcher)).await.unwrap();
        let keeper = left_with("cmdline", launcher.to_str().unwrap())[0];
        kill_process(Pid::from_raw(keeper.cast_signed()).unwrap(), Signal::KILL).unwrap();
        wait_until("the keeper's end", || fs::read(format!("/proc/{keeper}/cmdline")).unwrap().is_empty());
        assert!(namespace.listen().await.is_err());
        let mut launch = launch(&host.case(), &tag());
        launch.namespace = Some(namespace);
        let options = HandshakeOptions::new(temporary.path().to_owned());
        let outcome = check(&launch, &options).await.unwrap();
        let message = outcome.message.clone().unwrap_or_default();
        assert!(message.contains("its network namespace cannot be joined"), "{message}");
        let examination =
            examine(&launch, &options, &outcome, &ExaminationPlan::up_to(Level::Protocol), &|_, _| ()).await;
        assert_eq!((examination.reached, examination.has_network), (None, false));
    });
    assert_eq!(host.reached(), [] as [&str; 0]);
}

/// An agent that answered the handshake with a network, and answers nothing without one, violates nothing.
#[test]
fn silence_without_a_network_is_no_failure() {
    let temporary = tempfile::tempdir().unwrap();
    let launcher = named_launcher(temporary.path());
    let state = temporary.path().join("started");
    runtime().block_on(async {
        let mut launch = launch(&["played", ""], &tag());
        let script = "[ ! -e \"$0\" ] || { echo again >> \"$0\"; exec sleep 1000; }; : > \"$0\"; exec \"$@\"";
        let agent = std::mem::replace(&mut launch.program, "/bin/sh".into());
        launch.arguments.splice(0..0, ["-c".into(), script.into(), state.clone().into(), agent]);
        let mut options = HandshakeOptions::new(temporary.path().to_owned());
        options.probe = Some(Duration::from_millis(200));
        let outcome = check(&launch, &options).await.unwrap();
        assert_eq!(outcome.handshake.protocol_version, Some(1));
        launch.namespace = Some(Namespace::create(Some(&launcher)).await.unwrap());
        let plan = ExaminationPlan::up_to(Level::Protocol);
        let examination = examine(&launch, &options, &outcome, &plan, &|_, _| ()).await;
        for examined in &examination.checks {
            let message = examined.message.as_deref().unwrap_or_default();
            assert_eq!(examined.verdict, CheckVerdict::NotExercised, "{message}");
            // What is judged by the output of all has none to judge.
            let is_told = message.contains("it has no network, which it may need to start");
            assert!(is_told || message.contains("could not be started again"), "{}: {message}", examined.check.id);
        }
        // Four silent starts, and what two groups have begun by then.
        let starts = fs::read_to_string(&state).unwrap().lines().count();
        assert!((4..=6).contains(&starts), "{starts}");
    });
}

#[test]
fn a_namespace_without_a_launcher_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut launch = launch(&["ok"], &tag());
        launch.namespace = Some(Namespace::create(Some(PROGRAM.as_ref())).await.unwrap());
        launch.launcher = None;
        let outcome = check(&launch, &HandshakeOptions::new(temporary.path().to_owned())).await.unwrap();
        assert!(outcome.message.clone().unwrap().contains("needs a launcher"), "{outcome:?}");
    });
}

#[test]
fn an_ordinary_user_needs_no_rights_for_an_examination_without_a_network() {
    const TEST: &str = "an_ordinary_user_needs_no_rights_for_an_examination_without_a_network";
    let (env, host) = (Env::empty(), Host::new());
    open(&env.path(""), 0o711);
    fs::create_dir(env.path("tmp")).unwrap();
    open(&env.path("tmp"), 0o1777);
    let agent = fake_agent();
    let sandboxed = ["--sandbox", "bwrap", "--readable", agent.to_str().unwrap()];
    for sandbox in [&[][..], &sandboxed].into_iter().take(1 + usize::from(bwrap_works())) {
        let flags = ["probe", "--json", "--level", "protocol", "--network", "none"];
        let agent = [&["--", agent.to_str().unwrap()], &host.case()[..]].concat();
        let mut command = env.command(&[&flags, sandbox, &agent].concat());
        let Some(run) = run_as_user(USER, command.env("TMPDIR", env.path("tmp")), TEST) else { return };
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        assert_eq!((&document["verdict"], &document["examination"]["network"]), (&json!("pass"), &json!("none")));
        let told = &document["handshake"]["agent_info"];
        host.assert_unreached(told);
        assert_eq!(told["capabilities"], "0000000000000000", "{told:#}");
    }
}

/// The verdict is that of the handshake, which must not depend on the level.
#[test]
fn by_default_only_the_examination_has_no_network() {
    let (env, host) = (Env::empty(), Host::new());
    let agent = fake_agent();
    let agent = [&["--", agent.to_str().unwrap()], &host.case()[..]].concat();
    let examined = |flags: &[&str]| {
        let run = env.run(&[&["probe", "--json", "--level", "protocol"], flags, &agent].concat());
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        let told = document["handshake"]["agent_info"]["host_tcp"].clone();
        (told, document["examination"]["network"].clone(), host.reached().contains(&"unix"))
    };
    assert_eq!(examined(&[]), (json!("reached"), json!("none"), true));
    let (told, network, _) = examined(&["--network", "shared"]);
    assert_eq!((told, network), (json!("reached"), json!("shared")));
    // The handshake and several instances in the examination have reached it.
    while !host.reached().is_empty() {}
    assert_eq!(examined(&["--network", "none"]), (json!("ConnectionRefused"), json!("none"), false));
}

#[test]
fn an_interrupted_examination_leaves_no_process() {
    let env = Env::empty();
    let agent = fake_agent();
    // It answers `initialize`, and then nothing.
    let mut command = env.command(&["probe", "--level", "protocol", "--", agent.to_str().unwrap(), "reply", "$OK\n"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let keepers = || left_with("cmdline", &format!("acp-registry-{}-", child.id()));
    wait_until("the namespace", || !keepers().is_empty());
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let keepers = keepers();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(keepers.iter().all(|keeper| !Path::new(&format!("/proc/{keeper}")).exists()), "{keepers:?}");
}

/// The keeper ends by itself.
#[test]
fn a_killed_program_leaves_no_keeper() {
    let env = Env::empty();
    let agent = fake_agent();
    let mut command = env.command(&["probe", "--level", "protocol", "--", agent.to_str().unwrap(), "silent"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let name = format!("acp-registry-{}-", child.id());
    wait_until("the namespace", || !left_with("cmdline", &name).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of the keeper", || left_with("cmdline", &name).is_empty());
}

/// Prepares a command that runs the program in a user namespace that may have no network namespaces. `None` if this
/// system has no user namespaces.
fn without_namespaces(command: &Command) -> Option<Command> {
    const SCRIPT: &str = "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$@\"";
    let mut refusing = Command::new("unshare");
    refusing.args(["--user", "--map-root-user", "sh", "-c", SCRIPT, "sh"]);
    let mut trial = Command::new("unshare");
    trial.args(["--user", "--map-root-user", "sh", "-c", SCRIPT, "sh", "true"]);
    if !trial.output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    refusing.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    refusing.current_dir(command.get_current_dir()?).env_clear();
    refusing.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(refusing)
}

#[test]
fn where_the_system_refuses_the_error_names_the_flag_and_no_agent_is_started() {
    const TEST: &str = "where_the_system_refuses_the_error_names_the_flag_and_no_agent_is_started";
    let verify = Verify::new();
    let started = verify.env.path("started");
    verify.npx("a", &["crash-once", started.to_str().unwrap()]);
    let agent = fake_agent();
    let probe = ["--", agent.to_str().unwrap(), "crash-once", started.to_str().unwrap()];
    for (flags, rest) in
        [(&["probe", "--level", "protocol"][..], &probe[..]), (&["verify", "--level", "protocol"], &[])]
    {
        for (flag, is_error) in [(&[][..], true), (&["--network", "none"], true), (&["--network", "shared"], false)] {
            let arguments = [flags, flag, rest].concat();
            let command = if flags[0] == "verify" {
                verify.command(&[&flags[1..], flag].concat())
            } else {
                verify.env.command(&arguments)
            };
            let Some(mut command) = without_namespaces(&command) else {
                return skipped(TEST, "there are no user namespaces");
            };
            let run = Run::of(&mut command);
            assert_eq!((run.code == 3, started.exists()), (is_error, !is_error), "{arguments:?}: {}", run.stderr);
            let said = "cannot make a network namespace on this system: unshare: the limit of namespaces is reached: ";
            assert_eq!(run.stderr.contains(said), is_error, "{}", run.stderr);
            assert_eq!(run.stderr.contains("`--network shared`"), is_error, "{}", run.stderr);
            let _ = fs::remove_file(&started);
        }
    }
}

/// The cause may be the sandbox; with a network, it is not.
#[test]
fn failures_of_an_agent_that_misses_its_network_say_so() {
    const TEST: &str = "failures_of_an_agent_that_misses_its_network_say_so";
    if !bwrap_works() {
        return skipped(TEST, "bwrap is not installed, or does not work here");
    }
    let mut plan = ExaminationPlan::up_to(Level::Sessions);
    plan.only = |check| ["sessions/close", "sessions/load"].contains(&check.id);
    // A refusal may come from the missing network, an answer of a wrong type may not.
    for (deviation, may_be_of_network) in [("close-refused", true), ("load-text", false)] {
        for network in [Network::None, Network::Shared] {
            let isolation = Isolation::Bwrap { network };
            let examination = planned_with(&["sessions", deviation, ""], Duration::from_secs(5), &plan, |launch| {
                let script = "echo 'getaddrinfo ENOTFOUND models.example' >&2; exec \"$0\" \"$@\"";
                launch.arguments.splice(0..0, ["-c".into(), script.into(), fake_agent().into()]);
                launch.program = "/bin/sh".into();
                (launch.isolation, launch.readable) = (isolation, vec![fake_agent()]);
            });
            let is_explained = may_be_of_network && network == Network::None;
            assert_eq!(not_passed(&examination).is_empty(), is_explained, "{deviation} {network:?}: {examination:?}");
            let why = "its stderr reports a failed connection to another host, and it has no network";
            let says_so =
                examination.checks.iter().any(|check| check.message.as_deref().is_some_and(|text| text.contains(why)));
            assert_eq!(says_so, is_explained, "{deviation} {network:?}: {examination:?}");
        }
    }
}
