//! The directory of installed agents, and the one for temporary files.

use std::io;
use std::path::Path;

use super::Diagnosis;
use crate::store::{Error, Store, remove_by_hand};
use acp_registry_host::fs::{ANOTHER_TEMPORARY, without_path};
use acp_registry_plan::text::printable;

/// Whether agents can be installed in a store, found out by writing to it: its mode alone does not tell. Other people
/// must not be able to write there.
pub(super) fn look(store: &Store) -> Diagnosis {
    if let Err(Error::Foreign { path, problem }) = store.refuse_foreign(None) {
        let shown = path.display().to_string();
        return Diagnosis::error("root", format!("{} {problem}", printable(&shown)), remove_by_hand());
    }
    let root = store.root();
    let shown = root.display().to_string();
    let shown = printable(&shown);
    // It is made with the first agent.
    let there = root.ancestors().find(|folder| folder.symlink_metadata().is_ok());
    let is_there = there == Some(root);
    let written = there.map_or(Err(io::ErrorKind::NotFound.into()), write_below);
    match written {
        Ok(()) if is_there => Diagnosis::ok("root", format!("{shown} can be written")),
        Ok(()) => Diagnosis::ok("root", format!("{shown} is not there yet; it is made with the first agent")),
        Err(error) => {
            let message = format!("agents cannot be installed in {shown}: {}", printable(&error.to_string()));
            let help = "make it writable, or name another with --root or ACP_REGISTRY_ROOT";
            Diagnosis::error("root", message, help)
        }
    }
}

/// The name of the check of the directory for temporary files.
pub(super) const TEMPORARY: &str = "temporary";

/// The check of the directory for temporary files, if nothing can be installed or started without another one.
pub(super) fn cannot_be_written(temporary: &Path) -> Option<Diagnosis> {
    let error = write_below(temporary).err()?;
    let shown = temporary.display().to_string();
    let message = format!("temporary files cannot be made in {}: {}", printable(&shown), printable(&error.to_string()));
    Some(Diagnosis::error(TEMPORARY, message, ANOTHER_TEMPORARY))
}

fn write_below(folder: &Path) -> io::Result<()> {
    // Without a name where the system can, so that a killed run leaves nothing.
    tempfile::tempfile_in(folder).map(drop).map_err(without_path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    #[test]
    fn a_place_for_agents_is_written_to_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let look = |path: &str| look(&Store::at(folder.path().join(path)).unwrap());
        assert_eq!(look("").status, CheckStatus::Ok);
        let check = look("new/place");
        assert_eq!(check.status, CheckStatus::Ok);
        assert!(check.message.ends_with("is made with the first agent"), "{}", check.message);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(cannot_be_written(folder.path()).is_none());
        let check = cannot_be_written(&folder.path().join("none")).unwrap();
        let shown = folder.path().join("none").display().to_string();
        assert!(
            check.message.starts_with(&format!("temporary files cannot be made in {shown}: ")),
            "{}",
            check.message
        );
        assert_eq!(check.message.matches(&shown).count(), 1, "{}", check.message);
        let check = look("file/place");
        assert_eq!(check.status, CheckStatus::Error);
        assert!(check.message.starts_with("agents cannot be installed in "), "{}", check.message);
    }
}
