//! Joins a network namespace, and executes a program in it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::process::launcher::{FAILED, close_inherited, report_namespace};

/// The first argument with which the `acp-registry` executable must call [`join`].
pub const JOIN: &str = "__join-namespace";

/// The arguments of [`join`].
#[derive(Debug, PartialEq, Eq)]
pub(in crate::process) struct Order {
    /// The process whose namespace to join.
    pub(in crate::process) keeper: u32,
    /// Whether to join its user namespace as well.
    pub(in crate::process) with_users: bool,
    /// The FIFO to which to write why the program was not started.
    pub(in crate::process) report: PathBuf,
    /// The program, and its arguments.
    pub(in crate::process) command: Vec<OsString>,
}

impl Order {
    /// Encodes the order as arguments of the `acp-registry` executable.
    pub(in crate::process) fn words(self) -> Vec<OsString> {
        let kinds = if self.with_users { "users" } else { "-" };
        let mut words = vec![JOIN.into(), self.keeper.to_string().into(), kinds.into(), self.report.into()];
        words.extend(self.command);
        words
    }

    /// Parses the arguments after [`JOIN`].
    fn read(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        let keeper = words.next()?.to_str()?.parse().ok()?;
        let with_users = words.next()? == "users";
        let report = words.next()?.into();
        let command: Vec<OsString> = words.collect();
        (!command.is_empty()).then_some(Self { keeper, with_users, report, command })
    }
}

/// Joins the network namespace of a process, and executes a program: the launcher, or bubblewrap. `arguments` are those
/// after [`JOIN`]. The `acp-registry` executable must call this before it starts a thread. Returns its exit code if the
/// program could not be executed.
pub fn join(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    close_inherited();
    let Some(order) = Order::read(arguments) else { return FAILED };
    let error = match enter(&order) {
        Err(error) => error,
        #[expect(clippy::disallowed_methods, reason = "this is where programs are started")]
        Ok(()) => Command::new(&order.command[0]).args(&order.command[1..]).exec(),
    };
    // Opened only now: its reader takes the closing of the FIFO for the start of the program.
    report_namespace(&order.report, &error);
    FAILED
}

fn enter(order: &Order) -> io::Result<()> {
    let open = |kind: &str| File::open(Path::new("/proc").join(order.keeper.to_string()).join("ns").join(kind));
    let network = open("net")?;
    if order.with_users {
        // Gives this process the rights to join the network namespace. They are lost when the launcher is executed, or
        // given up by the launcher.
        move_into_link_name_space(open("user")?.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    Ok(move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_its_way() {
        for with_users in [false, true] {
            let order =
                || Order { keeper: 7, with_users, report: "/tmp/a".into(), command: vec!["bwrap".into(), "--".into()] };
            let words = order().words();
            assert_eq!(words[0], JOIN);
            assert_eq!(Order::read(words.into_iter().skip(1)), Some(order()));
        }
        for wrong in [&["7", "-", "/tmp/a"][..], &["x", "-", "/tmp/a", "b"], &["7"], &[]] {
            assert_eq!(Order::read(wrong.iter().map(Into::into)), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_keeper_that_has_ended_cannot_be_joined() {
        let order = Order { keeper: u32::MAX, with_users: false, report: PathBuf::new(), command: Vec::new() };
        assert_eq!(enter(&order).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
