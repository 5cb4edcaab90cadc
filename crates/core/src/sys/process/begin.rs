//! Prepares the command that starts a [`Launch`].

use std::ffi::OsString;
use std::io;

use super::platform::{OwnUser, Report};
use super::{Home, Launch, Namespace, Sandbox};

/// The command to start, and the resources that it holds until it ends.
pub(super) struct Begin {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The name of the isolation.
    pub(super) isolation: &'static str,
    /// The user that only this program has.
    pub(super) user: Option<OwnUser>,
    /// Receives the launcher's report on whether the program was started, if there is a launcher.
    pub(super) report: Option<Report>,
}

impl Begin {
    /// Prepares the sandbox, and builds the command.
    pub(super) fn of(launch: &Launch, sandbox: &Sandbox) -> io::Result<Self> {
        let mut variables: Vec<(OsString, OsString)> =
            launch.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        variables.extend(sandbox.variables().into_iter().map(|(name, value)| (name.into(), value.into())));
        let mut begin = Self {
            program: launch.program.clone(),
            arguments: launch.arguments.clone(),
            variables,
            isolation: launch.isolation.as_str(),
            user: None,
            report: None,
        };
        if sandbox.home() == Home::Empty {
            begin.restrict(launch, sandbox)?;
        }
        launch.isolation.wrap(&mut begin, launch, sandbox)?;
        if let Some(namespace) = &launch.namespace {
            begin.enter(namespace, launch)?;
        }
        Ok(begin)
    }

    /// Prepends the launcher to the command, and allocates a user if the program gets one.
    #[cfg(target_os = "linux")]
    fn restrict(&mut self, launch: &Launch, sandbox: &Sandbox) -> io::Result<()> {
        use super::launcher::{Order, is_for_loader};
        use super::reach::keep_open_folders;
        use super::{Isolation, Place};

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
                group = place.as_ref().map(Place::group).transpose()?;
                self.isolation = "user";
            }
            self.user = Some(user);
            if let Isolation::OwnUser { place } = &launch.isolation {
                keep_open_folders(&mut self.variables, place.as_ref().map(Place::path));
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
        self.report = Some(report);
        Ok(())
    }

    /// Prepends the program that joins the namespace. Bubblewrap, if there is one, runs in the namespace too.
    #[cfg(target_os = "linux")]
    fn enter(&mut self, namespace: &Namespace, launch: &Launch) -> io::Result<()> {
        use super::namespace::JoinOrder;
        use super::{Isolation, Network};

        let (Some(launcher), Some(report)) = (&launch.launcher, &self.report) else {
            return Err(io::Error::other("a network namespace needs a launcher, and a home of its own"));
        };
        let mut command = vec![std::mem::take(&mut self.program)];
        command.append(&mut self.arguments);
        let report = report.path().to_owned();
        let order = JoinOrder { keeper: namespace.keeper(), with_users: namespace.has_users(), report, command };
        (self.program, self.arguments) = (launcher.clone().into(), order.words());
        if let Isolation::Bwrap { .. } = launch.isolation {
            self.isolation = Isolation::Bwrap { network: Network::None }.as_str();
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same call as on Linux")]
    fn enter(&mut self, _namespace: &Namespace, _launch: &Launch) -> io::Result<()> {
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same call as on Linux")]
    fn restrict(&mut self, _launch: &Launch, _sandbox: &Sandbox) -> io::Result<()> {
        Ok(())
    }
}
