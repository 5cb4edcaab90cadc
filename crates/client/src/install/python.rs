//! The Python of a package: which one uv has not found, and which ones are there.

use super::error::UV_PYTHON;
use super::tool::Tool;
use super::{Error, TooOld};
use acp_registry_plan::text::{printable, quote};

/// How many versions of Python are named.
const NAMED: usize = 8;

/// The Python that the person has chosen for uv.
pub(super) fn chosen(uv: &Tool<'_>) -> Option<String> {
    let value = uv.environment.get(UV_PYTHON)?.to_str()?;
    (!value.is_empty()).then(|| quote(value).trim_matches('`').to_owned())
}

/// The failure of uv with no Python named, as the lack of a Python if it is that.
pub(super) async fn none(error: Error, uv: &Tool<'_>) -> Error {
    match error {
        Error::Tool(failure) if has_none(&failure.stderr) => {
            Error::NoPython { chosen: chosen(uv), found: installed(uv).await, failure }
        }
        error => error,
    }
}

/// Completes the message that a package accepts no Python that is there: `again` is what uv wrote when it was told which
/// ones the package accepts.
pub(super) async fn explain(error: Error, again: &str, uv: &Tool<'_>) -> Error {
    let Error::RuntimeTooOld(too_old) = error else { return error };
    let by = chosen(uv).map(|chosen| format!(" (by {UV_PYTHON}={chosen})")).unwrap_or_default();
    let mut others = installed(uv).await;
    others.retain(|version| *version != too_old.shortfall.found);
    let there = if others.is_empty() { String::new() } else { format!("; there is also {}", others.join(", ")) };
    let words = again.split_whitespace().collect::<Vec<_>>().join(" ");
    let download = failed_download(again);
    let hint = if words.contains("Python downloads are set to") {
        "; uv is configured to download none".to_owned()
    } else {
        download.as_ref().map(|why| format!("; uv could not download another: {why}")).unwrap_or_default()
    };
    let is_downloadable = download.is_none();
    Error::RuntimeTooOld(Box::new(TooOld { note: format!("{by}{there}{hint}"), is_downloadable, ..*too_old }))
}

/// Why uv could not download a Python: the address and the last cause, both printable. `None` if it has not tried.
fn failed_download(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim);
    // Packages are named, not their addresses.
    let mut named = lines.by_ref().filter_map(|line| line.split_once("Failed to download `")?.1.strip_suffix('`'));
    let address = named.find(|text| text.contains("://"))?;
    let mut causes = lines.filter_map(|line| line.strip_prefix("cause: ").or(line.strip_prefix("Caused by: ")));
    let cause = causes.next_back().unwrap_or("the request failed");
    Some(format!("{}: {}", quote(address), printable(cause)))
}

/// The versions of Python that uv finds.
async fn installed(uv: &Tool<'_>) -> Vec<String> {
    let listed = uv.run(["python", "list", "--only-installed", "--no-progress"]).await;
    listed.map(|output| versions(&output.stdout)).unwrap_or_default()
}

/// Whether uv has found no Python of the kind that it was to use.
fn has_none(stderr: &str) -> bool {
    let words = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    [
        "error: No interpreter found ",
        "error: No download found for request",
        "error: Failed to inspect Python interpreter ",
    ]
    .iter()
    .any(|begin| words.contains(begin))
}

/// The versions of `CPython` in uv's list, in its order.
fn versions(list: &str) -> Vec<String> {
    let mut versions: Vec<String> = Vec::new();
    for key in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let Some(version) = key.strip_prefix("cpython-").and_then(|rest| rest.split('-').next()) else { continue };
        let is_plain = version.len() < 40 && version.chars().all(|c| c.is_ascii_alphanumeric() || ".+".contains(c));
        if is_plain && !versions.iter().any(|known| known == version) && versions.len() < NAMED {
            versions.push(version.to_owned());
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lack_of_a_python_is_told_from_other_failures() {
        for text in [
            "error: No interpreter found for Python 3.99 in managed installations or search path",
            "error: No interpreter found at path `/nowhere/python`",
            "warning: x\nerror: No interpreter found for Python\n  >=3.15 in search path\n\nhint: A managed Python download is",
            "error: Failed to inspect Python interpreter from search path at `/x/python3.9`",
        ] {
            assert!(has_none(text), "{text}");
        }
        for text in ["", "error: x", "warning: Failed to inspect Python interpreter from search path at `/x/python3.9`"]
        {
            assert!(!has_none(text), "{text}");
        }
    }

    #[test]
    fn a_download_that_failed_is_told_with_its_last_cause() {
        let text = "error: Request failed after 3 retries in 7.5s\n  cause: Failed to download `https://h.example/p.tar.gz`\n  \
                    cause: client error (Connect)\n  cause: dns error\u{1b}[2J";
        assert_eq!(failed_download(text).as_deref(), Some("`https://h.example/p.tar.gz`: dns error\\u{1b}[2J"));
        let old = "error: Failed to download `https://h.example/p`\n  Caused by: timeout";
        assert_eq!(failed_download(old).as_deref(), Some("`https://h.example/p`: timeout"));
        for other in
            ["error: No interpreter found for Python >=3.12", "error: Failed to download `q==1.0.0`\n  cause: timeout"]
        {
            assert_eq!(failed_download(other), None, "{other}");
        }
    }

    #[test]
    fn versions_are_read_from_the_list_of_uv() {
        let list = "cpython-3.14.0a1+freethreaded-linux-x86_64-gnu  /a\ncpython-3.11.7-linux-x86_64-gnu    /opt/python3.11\n\
                    cpython-3.11.7-linux-x86_64-gnu  /b\npypy-3.10.14-linux-x86_64-gnu /c\ncpython-\u{1b}[2J-x /d\n\ngarbage";
        assert_eq!(versions(list), ["3.14.0a1+freethreaded", "3.11.7"]);
        assert_eq!(
            versions(&(0..99).map(|minor| format!("cpython-3.{minor}.0-x /a\n")).collect::<String>()).len(),
            NAMED
        );
    }
}
