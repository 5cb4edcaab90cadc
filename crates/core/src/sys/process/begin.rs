//! Prepares the command that starts a [`Launch`].

use std::ffi::OsString;
use std::io;

use super::platform::{OwnUser, Report};
use super::{Home, Launch, Sandbox};

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
        Ok(begin)
    }

    /// Prepends the launcher to the command, and allocates a user if the program gets one.
    #[cfg(target_os = "linux")]
    fn restrict(&mut self, launch: &Launch, sandbox: &Sandbox) -> io::Result<()> {
        use super::Isolation;
        use super::launcher::{Order, is_for_loader};
        use super::reach::keep_open_folders;
        use super::sandbox::let_in;

        let Some(launcher) = &launch.launcher else { return Ok(()) };
        let temporary = sandbox.path().parent().unwrap_or(sandbox.path());
        let wants_user = match &launch.isolation {
            Isolation::Environment => false,
            Isolation::OwnUser { .. } => launch.gets_own_user(temporary),
            Isolation::Bwrap { .. } => rustix::process::geteuid().is_root(),
        };
        if wants_user {
            let user = OwnUser::take()?;
            sandbox.give_to(user.number())?;
            if let Isolation::OwnUser { place } = &launch.isolation {
                place.iter().try_for_each(|place| let_in(place, user.number()))?;
                self.isolation = "user";
            }
            self.user = Some(user);
            if let Isolation::OwnUser { place } = &launch.isolation {
                keep_open_folders(&mut self.variables, place.as_deref());
            }
        }
        let report = Report::below(sandbox.path())?;
        let (late, early) = std::mem::take(&mut self.variables).into_iter().partition(|(name, _)| is_for_loader(name));
        self.variables = early;
        let order = Order {
            report: report.path().to_owned(),
            user: self.user.as_ref().map(OwnUser::number),
            directory: matches!(launch.isolation, Isolation::Bwrap { .. }).then(|| launch.directory(sandbox)),
            variables: late,
            program: std::mem::take(&mut self.program),
            arguments: std::mem::take(&mut self.arguments),
        };
        (self.program, self.arguments) = (launcher.clone().into(), order.words());
        self.report = Some(report);
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same call as on Linux")]
    fn restrict(&mut self, _launch: &Launch, _sandbox: &Sandbox) -> io::Result<()> {
        Ok(())
    }
}
