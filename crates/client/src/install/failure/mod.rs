//! How a package manager has failed, or refuses to install because of a runtime, found in its output.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use acp_registry_host::cause;
use acp_registry_host::process::Exit;
use acp_registry_http::remedy;
use acp_registry_plan::text::quote;
use acp_registry_sources::NamedRegistry;
use serde_json::Value;

use super::node::Shortfall;

/// npm's codes for a registry that was not reached, or for an answer from something between.
const CODES: [&str; 13] = [
    "ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "EHOSTUNREACH",
    "ENETUNREACH", "E403", "E407", "E502", "E503", "E504",
];

/// Of these, the codes that the registry itself may have caused, so that other packages can still be asked for.
const OF_REGISTRY: [&str; 1] = ["E403"];

/// What package managers and systems write when names cannot be resolved, or the network cannot be reached.
const NO_NETWORK: [&str; 9] = [
    "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH", "dns error", "failed to lookup address information",
    "Temporary failure in name resolution", "Network is unreachable", "No route to host",
];

/// What they write when a disk is full.
const FULL: [&str; 5] =
    ["ENOSPC", "EDQUOT", "No space left on device", "no space left on device", "Disk quota exceeded"];

/// What to do where bytes are not those of a list.
pub(super) const OTHER_BYTES: &str =
    "the package registry has other bytes than the list of packages: use another registry, or tell who made the list";

/// What to do when an installation takes longer than this limit.
pub(super) fn slow(limit: Duration) -> String {
    format!("run it again with `--install-timeout {}m`", longer(limit))
}

/// A longer limit, in minutes.
pub(super) fn longer(limit: Duration) -> u64 {
    limit.as_secs().div_ceil(60).saturating_mul(2).max(5)
}

/// How a package manager has failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{program} {}", self.describe())]
#[non_exhaustive]
pub struct ToolFailure {
    /// Its name.
    pub program: &'static str,
    /// Its exit status; `None` when it ran out of time.
    pub exit: Option<Exit>,
    /// Its time limit.
    pub limit: Duration,
    /// The end of what it wrote to stderr, or to stdout if stderr is empty.
    pub stderr: String,
    /// The proxy for the addresses in its output, without secrets.
    pub proxy: Option<String>,
    /// The directory on whose disk no space is left.
    pub full: Option<PathBuf>,
    /// Its progress when it ran out of time, in a few words without hidden characters.
    pub phase: Option<String>,
    /// The package registry that it was configured to ask.
    pub asked: Option<NamedRegistry>,
}

impl ToolFailure {
    /// Whether npm or uv reports a wrong digest.
    pub(super) fn is_of_integrity(&self) -> bool {
        self.stderr.contains("code EINTEGRITY") || self.stderr.contains("Hash mismatch for ")
    }

    /// Whether the registry has answered that it lacks the version of this package itself, not of a dependency.
    pub(super) fn lacks_version(&self, name: &str, version: &str) -> bool {
        if self.program == "npm" {
            let missing = format!("{name}@{version}");
            return self.unmatched_by_npm().any(|(spec, _)| spec == missing);
        }
        let text = unfolded(&self.stderr);
        let Some((_, rest)) = text.split_once("Because there is no version of ") else { return false };
        let found = rest.split(' ').next().unwrap_or_default();
        // The name includes the extras of the manifest, which an index does not list as packages.
        let found = found.split_once("==").map(|(found, _)| found.split('[').next().unwrap_or_default());
        found == Some(acp_registry_sources::pypi::normalized(name).as_str()) && !self.is_refused()
    }

    /// The packages of which npm has found no version, and whether it says that this is so with a date before its cutoff: it
    /// says so for versions that do not exist, too.
    fn unmatched_by_npm(&self) -> impl Iterator<Item = (&str, bool)> {
        self.own_lines().filter_map(|line| {
            let (_, rest) = line.split_once(" No matching version found for ")?;
            let dated = rest.split_once(" with a date before ").map(|(spec, _)| (spec, true));
            dated.or_else(|| Some((rest.strip_suffix('.')?, false)))
        })
    }

    /// The package and version, or range, that npm's cooldown may have held back; the name of a package with no version that is
    /// old enough.
    pub(super) fn held_by_npm(&self) -> Option<&str> {
        match self.code().filter(|_| self.program == "npm")? {
            "ETARGET" => self.unmatched_by_npm().find_map(|(spec, is_dated)| is_dated.then_some(spec)),
            "ENOVERSIONS" => self.own_lines().find_map(|line| Some(line.split_once(" No versions available for ")?.1)),
            _ => None,
        }
    }

    /// Whether the registry has answered that it has no package of this name.
    pub(super) fn lacks_name(&self, name: &str) -> bool {
        if self.program == "npm" {
            let package = format!("'{name}@");
            let said = ["' is not in this registry.", "' could not be found or you do not have permission"];
            let is_said = |line: &str| line.contains(&package) && said.iter().any(|said| line.contains(said));
            return self.code() == Some("E404") && self.own_lines().any(is_said);
        }
        let name = acp_registry_sources::pypi::normalized(name);
        let sentence = format!("Because {name} was not found in the package registry");
        unfolded(&self.stderr).contains(&sentence) && !self.is_refused()
    }

    /// Whether the package registry has answered that it has no such package or version, dependencies included.
    ///
    /// An index that asks for credentials does not say what it has.
    pub(super) fn lacks_package(&self) -> bool {
        if self.program == "npm" {
            return self.code().is_some_and(|code| ["E404", "ETARGET"].contains(&code));
        }
        let text = unfolded(&self.stderr);
        let is_absent =
            text.contains("Because there is no version of ") || text.contains(" was not found in the package registry");
        text.contains("No solution found when resolving") && is_absent && !self.is_refused()
    }

    /// Whether the request for the package itself was not answered. Other addresses that a package names, and the
    /// output of its scripts, say nothing about the registry.
    pub(super) fn lacks_source(&self, package: &str) -> bool {
        let is_asked = |line: &str, path: &str| {
            line.split_whitespace()
                .any(|word| word.trim_matches(['(', ')', '`', ':', ';']).trim_end_matches('/').ends_with(path))
        };
        if self.program == "npm" {
            let name = package.rfind('@').filter(|at| *at > 0).map_or(package, |at| &package[..at]);
            let path = format!("/{}", name.replace('/', "%2f"));
            let is_down = |code: &str| CODES.contains(&code) && !OF_REGISTRY.contains(&code);
            return self.code().is_some_and(is_down) && self.own_lines().any(|line| is_asked(line, &path));
        }
        let name = package.split(['=', '[', '@', '<', '>', ' ']).next().unwrap_or_default();
        let path = format!("/{}", acp_registry_sources::pypi::normalized(name));
        self.unfetched().is_some_and(|line| is_asked(line, &path))
    }

    /// What to do where this machine or its network is the cause.
    pub(super) fn remedy(&self) -> Option<String> {
        if let Some(full) = &self.full {
            return Some(format!("free space on the disk of {}", full.display()));
        }
        if self.exit.is_none() {
            return Some(slow(self.limit));
        }
        if self.wrong_address().is_some() {
            return Some(remedy::VARIABLE.into());
        }
        if let Some(setting) = self.wrong_time() {
            return Some(format!("correct npm's setting {setting}"));
        }
        if self.wants_credentials()
            && let Some(asked) = self.asked()
        {
            return Some(self.credentials(asked));
        }
        if self.is_of_integrity() {
            return Some(OTHER_BYTES.into());
        }
        if !self.is_of_network() {
            return if self.is_garbled() || self.lacks_package() { self.other_registry() } else { None };
        }
        if self.proxy.is_some() {
            return Some(remedy::PROXY.into());
        }
        let remedy = NO_NETWORK.iter().any(|words| self.stderr.contains(words)).then_some(remedy::NETWORK);
        match (self.asked(), remedy) {
            (Some(asked), Some(remedy)) => Some(format!("correct {}, or {remedy}", asked.setting)),
            (Some(asked), None) => Some(format!("correct {}, or see whether that address answers", asked.setting)),
            (None, remedy) => remedy.map(String::from),
        }
    }

    /// What to do where a configured registry lacks the package.
    pub(super) fn other_registry(&self) -> Option<String> {
        self.asked().map(|asked| format!("correct {} if that is not where the package is", asked.setting))
    }

    /// How credentials for a registry are configured.
    fn credentials(&self, asked: &NamedRegistry) -> String {
        let NamedRegistry { address, setting } = asked;
        let host = address.split_once("://").map_or(address.as_str(), |(_, host)| host);
        if self.program == "npm" {
            let host = host.trim_end_matches('/');
            return format!("give npm its token, with `//{host}/:_authToken=TOKEN` in ~/.npmrc, or correct {setting}");
        }
        let host = host.split(['/', ':']).next().unwrap_or_default();
        format!("give uv its name and password, with a line for {host} in ~/.netrc, or correct {setting}")
    }

    /// The configured registry that was asked for the addresses in its output.
    fn asked(&self) -> Option<&NamedRegistry> {
        let asked = self.asked.as_ref()?;
        let origin = Url::parse(&asked.address).ok().map(|url| url.origin());
        let mut named = self.addresses().map(|url| Some(url.origin())).peekable();
        // For missing credentials, npm names only the address of its own registry.
        let is_asked = self.code() == Some("E401") || named.peek().is_none() || named.any(|url| url == origin);
        is_asked.then_some(asked)
    }

    /// Where that registry is, as the rest of a sentence about it.
    pub(super) fn place(&self) -> String {
        let place = |asked: &NamedRegistry| format!(" at {}, as {} says", asked.address, asked.setting);
        self.asked().map(place).unwrap_or_default()
    }

    /// Whether the registry requires credentials.
    fn wants_credentials(&self) -> bool {
        if self.program == "npm" {
            return self.code() == Some("E401") || (self.code() == Some("E403") && self.proxy.is_none());
        }
        let text = unfolded(&self.stderr);
        ["401 Unauthorized", "403 Forbidden"].iter().any(|status| text.contains(status)) && self.proxy.is_none()
    }

    /// Whether uv has found nothing because its index requires credentials, which it adds as a hint only.
    fn is_index_closed(&self) -> bool {
        let text = unfolded(&self.stderr);
        self.program == "uv" && text.contains("No solution found when resolving") && text.contains("401 Unauthorized")
    }

    /// Whether npm reports only that it was ended, which happens when it runs out of time.
    fn is_of_end(&self, cause: &str) -> bool {
        self.exit.is_none() && (cause.contains("process terminated") || cause.contains("signal SIG"))
    }

    /// The configured registry whose value is not an address.
    fn wrong_address(&self) -> Option<&NamedRegistry> {
        let is_told = self.program == "npm" && self.code() == Some("ERR_INVALID_URL");
        self.asked.as_ref().filter(|asked| is_told && Url::parse(&asked.address).is_err())
    }

    /// The setting of npm's cooldown that is no time, where npm says only that one is; in npm's own words, if it warns of it.
    fn wrong_time(&self) -> Option<String> {
        if self.program != "npm" || !self.own_lines().any(|line| line.ends_with(" Invalid time value")) {
            return None;
        }
        let named = self.own_lines().find_map(|line| {
            let (_, setting) = line.split_once(" invalid config ")?;
            ["before=", "min-release-age="].iter().any(|key| setting.starts_with(key)).then(|| quote(setting))
        });
        Some(named.unwrap_or_else(|| "`before` or `min-release-age`, which `npm config list` shows".to_owned()))
    }

    /// Whether something other than a registry has answered npm.
    fn is_garbled(&self) -> bool {
        self.program == "npm" && self.own_lines().any(|line| line.contains("invalid json response body at "))
    }

    /// Whether it has not reached its registry, or something between has answered.
    fn is_of_network(&self) -> bool {
        if self.program == "npm" {
            return self.code().is_some_and(|code| CODES.contains(&code) || is_server_error(code));
        }
        self.unfetched().is_some() || self.is_refused()
    }

    /// Whether a disk was full.
    pub(super) fn is_of_disk(&self) -> bool {
        FULL.iter().any(|full| self.stderr.contains(full))
    }

    /// Where it looks for packages.
    pub(super) fn registry(&self) -> &'static str {
        if self.program == "npm" { "npm" } else { "the Python package index" }
    }

    /// The newest version in a message.
    pub(super) fn newest(&self, newest: Option<&str>) -> String {
        match newest {
            None => String::new(),
            Some(newest) if self.program == "npm" => format!("; newest {newest}"),
            // It is uv's choice, which depends on Python.
            Some(newest) => format!("; newest for this Python {newest}"),
        }
    }

    /// npm's own code. Scripts of packages write below it.
    fn code(&self) -> Option<&str> {
        const BEGINS: [&str; 2] = ["npm error code ", "npm ERR! code "];
        let code = |line: &'_ str| BEGINS.iter().find(|begin| line.starts_with(**begin)).map(|begin| begin.len());
        self.stderr.lines().find_map(|line| line.get(code(line)?..)).map(str::trim)
    }

    /// The addresses that were asked, according to its output.
    pub(super) fn addresses(&self) -> impl Iterator<Item = Url> {
        let begins = |line: &&str| ["npm error", "npm ERR!", "error: "].iter().any(|begin| line.starts_with(begin));
        let lines = self.stderr.lines().skip_while(move |line| !begins(line));
        let words = lines
            .flat_map(|line| line.split([' ', '(', ')', '`', '\'', '"', ',']))
            .filter(|word| word.starts_with("http"));
        words.filter_map(|word| Url::parse(word.trim_end_matches([':', ';', '.'])).ok())
    }

    fn own_lines(&self) -> impl Iterator<Item = &str> {
        self.stderr.lines().filter(|line| line.starts_with("npm "))
    }

    /// uv's line about what it could not fetch.
    fn unfetched(&self) -> Option<&str> {
        let mut lines = self.stderr.lines().skip_while(|line| !line.starts_with("error: "));
        lines.find(|line| line.contains("Failed to fetch: "))
    }

    /// Whether an index requires credentials from uv.
    fn is_refused(&self) -> bool {
        let text = unfolded(&self.stderr);
        ["401 Unauthorized", "403 Forbidden", "407 Proxy"].iter().any(|status| text.contains(status))
    }

    fn describe(&self) -> String {
        let mut text = match self.exit {
            // It only warns of files that it could not write.
            Some(exit) if exit.code == Some(0) => "did not write all files".to_owned(),
            Some(exit) => format!("failed ({})", exit.describe()),
            None => {
                let phase = self.phase.as_ref().map_or_else(String::new, |phase| format!(" ({phase})"));
                format!("did not end within {} s{phase}", self.limit.as_secs_f64())
            }
        };
        if let Some(asked) = self.wrong_address() {
            text.push_str(&format!(": {} is {}, which is not an address", asked.setting, quote(&asked.address)));
            return text;
        }
        if self.is_index_closed() {
            text.push_str(": the package index wants a name and a password (401 Unauthorized)");
        } else if let Some(cause) = cause::quoted(&self.stderr).filter(|cause| !self.is_of_end(cause)) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        if let Some(asked) = self.asked()
            && (self.is_of_network() || self.wants_credentials() || self.is_garbled() || self.lacks_package())
        {
            text.push_str(&format!("; it asked {}, as {} says", asked.address, asked.setting));
        }
        if let Some(proxy) = self.proxy.as_ref().filter(|_| self.is_of_network()) {
            text.push_str(&format!("; {} asked through the proxy {proxy}", self.program));
        }
        text
    }
}

/// Whether npm's code is that of a server error.
fn is_server_error(code: &str) -> bool {
    code.strip_prefix("E5").is_some_and(|rest| rest.len() == 2 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The output of uv, which breaks long lines.
pub(super) fn unfolded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// npm failed because a package requires another Node.js: by `engine-strict`, or in an install script after npm had
/// warned. `name` is the package that the manifest names.
pub(super) fn node_shortfall(stderr: &str, name: &str) -> Option<Shortfall> {
    let shortfall = |wanted: &str, found: &str| Shortfall {
        runtime: "Node.js",
        wanted: wanted.to_owned(),
        found: found.trim_start_matches('v').to_owned(),
        place: None,
    };
    if stderr.contains("npm error code EBADENGINE") {
        let node = |key: &str| {
            let json = stderr.lines().find_map(|line| line.trim().split_once(key))?.1;
            let value: Value = serde_json::from_str(json.trim()).ok()?;
            value.get("node")?.as_str().map(ToOwned::to_owned)
        };
        return Some(shortfall(&node("notsup Required:")?, &node("notsup Actual:")?));
    }
    // Only a script of the package can fail because of the version; a download cannot.
    if !stderr.contains("npm error command ") {
        return None;
    }
    let lines: Vec<&str> = stderr.lines().filter_map(|line| line.trim().strip_prefix("npm warn EBADENGINE")).collect();
    let of_package = format!("package: '{name}@");
    let at = lines.iter().position(|line| line.trim().starts_with(&of_package))?;
    let node = |key: &str| {
        let line = lines.get(at..)?.iter().map(|line| line.trim()).find(|line| line.starts_with(key))?;
        line.split_once("node: '")?.1.split_once('\'').map(|(text, _)| text)
    };
    Some(shortfall(node("required:")?, node("current:")?))
}

/// uv found that a package requires a Python other than the one that it would use.
pub(super) fn python_shortfall(stderr: &str) -> Option<Shortfall> {
    let text = unfolded(stderr);
    let (found, rest) = text.split_once("current Python version (")?.1.split_once(')')?;
    let wanted = rest.strip_prefix(" does not satisfy Python")?.split([' ', ';']).next()?;
    let is_range = |c: char| c.is_ascii_alphanumeric() || "<>=!~,.*".contains(c);
    let is_plain = !wanted.is_empty() && wanted.chars().all(is_range) && wanted.starts_with(['<', '>', '=', '!', '~']);
    let wanted = wanted.trim_end_matches([',', '.']);
    is_plain.then(|| Shortfall { runtime: "Python", wanted: wanted.to_owned(), found: found.to_owned(), place: None })
}

/// Whether uv has found nothing but the source of a package, which it may not build.
pub(super) fn is_of_build(stderr: &str) -> bool {
    unfolded(stderr).contains("building from source is disabled")
}

/// The package that uv would have to build.
pub(super) fn needs_build(stderr: &str) -> Option<String> {
    let text = unfolded(stderr);
    let (_, rest) = text.split_once("Wheels are required for `")?;
    rest.split_once('`').map(|(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests;
