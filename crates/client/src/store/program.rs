//! Whether a program is the file that was installed: cheaply by its times, and by its digest where these are others.

use super::{Error, Stamp, Store, Version};
use acp_registry_host::lock::{Acquisition, Lock};

/// How a program compares with what was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramState {
    /// Size and times are the same.
    Untouched,
    /// The times differ, as in a copy or a restored backup, but the bytes are the same.
    Moved,
    /// The bytes differ.
    Changed,
}

impl Version {
    /// Compares the program with what was installed. Its bytes are read only if its times differ from those of the
    /// receipt.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the digests of the version cannot be read.
    pub fn program_state(&self) -> Result<ProgramState, Error> {
        let stamp = Stamp::of(&self.program()).ok();
        if stamp.is_some() && stamp == self.receipt.program_stamp {
            return Ok(ProgramState::Untouched);
        }
        Ok(if self.has_its_program()? { ProgramState::Moved } else { ProgramState::Changed })
    }
}

impl Store {
    /// Refuses to start a version whose program is not what was installed, or could be changed by other people.
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::OtherProgram`], or [`Error::Damaged`] when the digests cannot be read.
    pub fn vouch_for(&self, version: &Version) -> Result<(), Error> {
        self.refuse_foreign(Some(version))?;
        match version.program_state()? {
            ProgramState::Untouched => {}
            ProgramState::Moved => self.note_times(version),
            ProgramState::Changed => {
                let (id, program) = (version.receipt.id.to_string(), version.program());
                return Err(Error::OtherProgram { id, program });
            }
        }
        Ok(())
    }

    /// Records the new times of an unchanged program in its receipt, so that its bytes need not be read again. Does
    /// nothing if the store cannot be written, or another process changes the agent.
    fn note_times(&self, version: &Version) {
        if let Ok(Acquisition::Mine(_lock)) =
            Lock::ask(&self.lock_file(&version.receipt.id), "noting the times of a program")
            && let Ok(Some(mut current)) = Version::read(&version.directory)
            && let Ok(stamp) = Stamp::of(&current.program())
        {
            current.receipt.program_stamp = Some(stamp);
            // This only saves time in the next run.
            let _ = current.write_receipt();
        }
    }
}
