//! A package of the Python package index.

use std::fs;
use std::path::Path;

use super::tool::Tool;
use super::{Error, Placed, Progress, Proof, Verified, Work};
use crate::manifest::{Pin, PypiSpec};
use crate::sys::fs::PathError;
use crate::text::quote;

/// Installs a package with uv into an environment of its own.
pub(super) async fn install(work: &Work<'_>, package: &str) -> Result<Placed, Error> {
    let Work { installer, directory, temporary, .. } = *work;
    let spec: PypiSpec = package.parse().map_err(|error| Error::Spec { package: package.to_owned(), error })?;
    let Pin::Exact(version) = &spec.pin else { return Err(Error::Unpinned(package.to_owned())) };
    let program =
        installer.environment.find("uv").ok_or(Error::MissingRuntime { program: "uv", remedy: "install uv" })?;
    let extras = if spec.extras.is_empty() { String::new() } else { format!("[{}]", spec.extras.join(",")) };
    let arguments = ["tool", "install", "--no-progress", "--"].map(ToOwned::to_owned).into_iter();
    let arguments = arguments.chain([format!("{}{extras}=={version}", spec.name)]).collect();
    let mut environment = installer.environment_with(&installer.uv);
    let programs = directory.join("bin");
    environment.set("UV_TOOL_DIR", directory.join("tools"));
    environment.set("UV_TOOL_BIN_DIR", &programs);
    // What uv fetches must outlive its home.
    environment.set("UV_PYTHON_INSTALL_DIR", directory.join("python"));
    let timeout = installer.timeout;
    (work.progress)(Progress::Running("uv"));
    Tool { name: "uv", program, arguments, environment, directory, temporary, timeout }.run().await?;
    let problem = |problem| Error::NoCommand { package: package.to_owned(), problem };
    let program = programs.join(choose(&spec.name, list(&programs)?).map_err(problem)?);
    let proof = Proof { verified: Verified::Pypi, sha256: None, integrity: None };
    Ok(Placed { program, interpreter: None, proof })
}

fn list(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for item in fs::read_dir(folder).map_err(PathError::at(folder))? {
        let name = item.map_err(PathError::at(folder))?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// Chooses as `uvx` does: the program named like the package, or else the only one.
fn choose(package: &str, mut programs: Vec<String>) -> Result<String, String> {
    let plain = |name: &str| name.trim_end_matches(".exe").to_ascii_lowercase().replace(['_', '.'], "-");
    if let Some(at) = programs.iter().position(|name| name.trim_end_matches(".exe") == package) {
        return Ok(programs.swap_remove(at));
    }
    if let Some(at) = programs.iter().position(|name| plain(name) == plain(package)) {
        return Ok(programs.swap_remove(at));
    }
    match programs.len() {
        0 => Err("has no command, so that uvx has nothing to start".to_owned()),
        1 => Ok(programs.swap_remove(0)),
        number => {
            let shown: Vec<String> = programs.iter().take(5).map(|name| quote(name)).collect();
            Err(format!("has {number} commands ({}), none of its own name, and uvx cannot choose", shown.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_chosen_as_uvx_does() {
        let choose =
            |package: &str, programs: &[&str]| choose(package, programs.iter().map(|&p| p.to_owned()).collect());
        assert_eq!(choose("tool", &["other", "tool"]).as_deref(), Ok("tool"));
        assert_eq!(choose("tool", &["tool.exe", "x"]).as_deref(), Ok("tool.exe"));
        assert_eq!(choose("my_tool", &["my-tool", "x"]).as_deref(), Ok("my-tool"));
        assert_eq!(choose("tool", &["other"]).as_deref(), Ok("other"));
        assert!(choose("tool", &[]).unwrap_err().contains("nothing to start"));
        assert!(choose("tool", &["a", "b"]).unwrap_err().contains("2 commands (`a`, `b`)"));
    }
}
