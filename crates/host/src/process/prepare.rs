//! Prepares the command that starts a [`LaunchSpec`].

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::isolation::Reach;
use super::platform::{OwnUser, Report};
use super::{Home, Isolation, LaunchDirectories, LaunchSpec, Namespace, Network};

/// The command to start, and the resources that it holds until it ends.
pub(super) struct Begin {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Whether the program makes a session for itself. To make it from outside, the whole process is copied.
    pub(super) makes_session: bool,
    /// The name of the isolation.
    pub(super) isolation: &'static str,
    /// The user that only this program has.
    pub(super) user: Option<OwnUser>,
    /// Receives the launcher's report on whether the program was started, if there is a launcher.
    pub(super) report: Option<Report>,
}

impl Begin {
    /// Prepares the sandbox, and builds the command.
    pub(super) fn of(launch: &LaunchSpec, sandbox: &LaunchDirectories) -> io::Result<Self> {
        let mut variables: Vec<(OsString, OsString)> =
            launch.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        variables.extend(sandbox.variables().into_iter().map(|(name, value)| (name.into(), value.into())));
        let mut begin = Self {
            program: launch.program.clone(),
            arguments: launch.arguments.clone(),
            variables,
            makes_session: false,
            isolation: launch.isolation.as_str(),
            user: None,
            report: None,
        };
        if sandbox.home() == Home::Empty {
            begin.restrict(launch, sandbox)?;
        }
        if let Isolation::Bwrap { network } = &launch.isolation {
            begin.wrap(*network, launch, sandbox)?;
        }
        if let Some(namespace) = &launch.namespace {
            begin.enter(namespace, launch)?;
        }
        Ok(begin)
    }

    /// Prepends bubblewrap to the command.
    fn wrap(&mut self, network: Network, launch: &LaunchSpec, sandbox: &LaunchDirectories) -> io::Result<()> {
        #[cfg(unix)]
        if self.user.is_none() && rustix::process::geteuid().is_root() {
            return Err(io::Error::other("as root, it would keep root's rights in bubblewrap without a launcher"));
        }
        let launcher = self.report.as_ref().and(launch.launcher.as_ref());
        let reach = Reach {
            readable: launch.readable.iter().chain(launcher).map(PathBuf::as_path).collect(),
            writable: sandbox.path(),
            // A namespace is a network of its own.
            network: if launch.namespace.is_some() { Network::Shared } else { network },
            has_user: self.user.is_some(),
            directory: self.report.is_none().then(|| launch.directory(sandbox)),
        };
        let mut arguments = reach.arguments();
        arguments.push(std::mem::replace(&mut self.program, "bwrap".into()));
        arguments.append(&mut self.arguments);
        self.arguments = arguments;
        self.makes_session = false;
        Ok(())
    }

    /// Prepends the launcher to the command, and allocates a user if the program gets one.
    #[cfg(target_os = "linux")]
    fn restrict(&mut self, launch: &LaunchSpec, sandbox: &LaunchDirectories) -> io::Result<()> {
        use super::UserDirectory;
        use super::launcher::{Order, is_for_loader};
        use super::reach::keep_open_folders;

        let Some(launcher) = &launch.launcher else { return Ok(()) };
        let temporary = sandbox.path().parent().unwrap_or(sandbox.path());
        let wants_user = match &launch.isolation {
            Isolation::Environment => false,
            Isolation::OwnUser { .. } => launch.gets_own_user(temporary),
            Isolation::Bwrap { .. } => {
                let has_users = launch.namespace.as_ref().is_some_and(Namespace::has_users);
                rustix::process::geteuid().is_root() && !has_users
            }
        };
        let mut group = None;
        if wants_user {
            let user = OwnUser::take()?;
            sandbox.give_to(user.number())?;
            if let Isolation::OwnUser { place } = &launch.isolation {
                group = place.as_ref().map(UserDirectory::group).transpose()?;
                self.isolation = "user";
            }
            self.user = Some(user);
            if let Isolation::OwnUser { place } = &launch.isolation {
                keep_open_folders(&mut self.variables, place.as_ref().map(UserDirectory::path));
            }
        }
        let report = Report::below(sandbox.path())?;
        let (late, early) = std::mem::take(&mut self.variables).into_iter().partition(|(name, _)| is_for_loader(name));
        self.variables = early;
        let order = Order {
            report: report.path().to_owned(),
            user: self.user.as_ref().map(OwnUser::number),
            group,
            is_restricted: launch.namespace.is_some(),
            directory: matches!(launch.isolation, Isolation::Bwrap { .. }).then(|| launch.directory(sandbox)),
            variables: late,
            program: std::mem::take(&mut self.program),
            arguments: std::mem::take(&mut self.arguments),
        };
        (self.program, self.arguments) = (launcher.clone().into(), order.words());
        self.makes_session = true;
        self.report = Some(report);
        Ok(())
    }

    /// Prepends the program that joins the namespace. Bubblewrap, if there is one, runs in the namespace too.
    #[cfg(target_os = "linux")]
    fn enter(&mut self, namespace: &Namespace, launch: &LaunchSpec) -> io::Result<()> {
        use super::namespace::JoinOrder;

        let (Some(launcher), Some(report)) = (&launch.launcher, &self.report) else {
            return Err(io::Error::other("a network namespace needs a launcher, and a home of its own"));
        };
        let mut command = vec![std::mem::take(&mut self.program)];
        command.append(&mut self.arguments);
        let report = report.path().to_owned();
        let order = JoinOrder { keeper: namespace.keeper(), with_users: namespace.has_users(), report, command };
        (self.program, self.arguments) = (launcher.clone().into(), order.words());
        self.makes_session = false;
        if let Isolation::Bwrap { .. } = launch.isolation {
            self.isolation = Isolation::Bwrap { network: Network::None }.as_str();
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same call as on Linux")]
    fn enter(&mut self, _namespace: &Namespace, _launch: &LaunchSpec) -> io::Result<()> {
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same call as on Linux")]
    fn restrict(&mut self, _launch: &LaunchSpec, _sandbox: &LaunchDirectories) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use super::super::Environment;

    fn begin(isolation: Isolation, parent: &Path) -> (LaunchDirectories, io::Result<Begin>) {
        let sandbox = LaunchDirectories::below(parent, Home::Empty).unwrap();
        let launch = LaunchSpec {
            program: "/place/install/agent".into(),
            arguments: vec!["--bind".into(), "/".into()],
            directory: None,
            environment: Environment::default(),
            isolation,
            readable: vec!["/place/install".into()],
            launcher: Some("/opt/acp-registry".into()),
            namespace: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begin = runtime.block_on(async { Begin::of(&launch, &sandbox) });
        (sandbox, begin)
    }

    #[test]
    fn the_sandbox_comes_last_and_the_agent_behind_the_dashes() {
        let temporary = tempfile::tempdir().unwrap();
        let (sandbox, begun) = begin(Isolation::Bwrap { network: Network::Shared }, temporary.path());
        let begun = begun.unwrap();
        assert_eq!((begun.program.to_str(), begun.isolation), (Some("bwrap"), "bwrap"));
        let text: Vec<&str> = begun.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        let at = |words: &[&str]| text.windows(words.len()).position(|window| window == words);
        let own = sandbox.path().to_str().unwrap();
        let (temporary, install) =
            (at(&["--tmpfs", "/tmp"]), at(&["--ro-bind-try", "/place/install", "/place/install"]));
        let launcher = at(&["--ro-bind-try", "/opt/acp-registry", "/opt/acp-registry"]);
        let writable = at(&["--bind", own, own]);
        assert!(temporary.is_some() && temporary < install && install < launcher && launcher < writable, "{text:?}");
        let dashes = at(&["--"]).unwrap();
        // The launcher executes the agent, whose arguments are not options of bubblewrap.
        assert_eq!(text[dashes + 1..dashes + 3], ["/opt/acp-registry", super::super::LAUNCH]);
        assert!(text[dashes + 3..].contains(&sandbox.work().to_str().unwrap()), "{text:?}");
        assert!(text.ends_with(&["--", "/place/install/agent", "--bind", "/"]), "{text:?}");
        let options = &text[..dashes];
        assert_eq!(options.iter().filter(|word| **word == "--bind").count(), 1);
        for needed in ["--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc"] {
            assert!(options.contains(&needed), "{needed}");
        }
        assert!(options.windows(2).any(|pair| pair == ["--cap-drop", "ALL"]));
        // Most agents need the network to reach their service.
        assert!(!options.contains(&"--unshare-net"));
    }

    #[test]
    fn the_network_can_be_left_out_and_reports_say_so() {
        let temporary = tempfile::tempdir().unwrap();
        let (_sandbox, begun) = begin(Isolation::Bwrap { network: Network::None }, temporary.path());
        let begun = begun.unwrap();
        assert_eq!(begun.isolation, "bwrap-no-network");
        let dashes = begun.arguments.iter().position(|word| word == "--").unwrap();
        assert!(begun.arguments[..dashes].iter().any(|word| word == "--unshare-net"));
    }

    #[test]
    fn without_bubblewrap_the_launcher_becomes_the_agent() {
        let temporary = tempfile::tempdir().unwrap();
        let (_sandbox, begun) = begin(Isolation::Environment, temporary.path());
        let begun = begun.unwrap();
        assert_eq!((begun.program.to_str(), begun.isolation), (Some("/opt/acp-registry"), "environment"));
        assert!(begun.arguments.ends_with(&["--", "/place/install/agent", "--bind", "/"].map(Into::into)));
    }
}
