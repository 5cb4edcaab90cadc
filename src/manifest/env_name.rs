//! Names of environment variables: those that a manifest may set, and those that belong to others.

/// Variables of the system, of shells and of the programs that load code.
const NAMES: &[&str] = &[
    "ALL_PROXY", "APPDATA", "BASHOPTS", "BASH_ENV", "BROWSER", "CDPATH", "CI", "CLASSPATH", "COMSPEC",
    "CURL_CA_BUNDLE", "CURL_HOME", "EDITOR", "ELECTRON_RUN_AS_NODE", "ENV", "FTP_PROXY", "GCONV_PATH",
    "GLIBC_TUNABLES", "GRADLE_OPTS", "HOME", "HOMEDRIVE", "HOMEPATH", "HOSTALIASES", "HTTPS_PROXY", "HTTP_PROXY",
    "IFS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "KUBECONFIG", "LOCALAPPDATA", "LOCPATH", "LOGNAME", "LUA_CPATH",
    "LUA_INIT", "LUA_PATH", "MAVEN_OPTS", "NLSPATH", "NO_PROXY", "OLDPWD", "OPENSSL_CONF", "OPENSSL_MODULES", "PAGER",
    "PATH", "PATHEXT", "PERL5DB", "PERL5LIB", "PERL5OPT", "PERLLIB", "PHPRC", "PHP_INI_SCAN_DIR", "PROGRAMDATA",
    "PROGRAMFILES", "PROMPT_COMMAND", "PS4", "PSMODULEPATH", "PWD", "REQUESTS_CA_BUNDLE", "RES_OPTIONS", "RUBYLIB",
    "RUBYOPT", "R_ENVIRON", "R_PROFILE", "SHELL", "SHELLOPTS", "SSLKEYLOGFILE", "SUDO_ASKPASS", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR", "USER", "USERNAME", "USERPROFILE", "VIRTUAL_ENV", "VISUAL",
    "WINDIR", "ZDOTDIR", "_JAVA_OPTIONS",
];

/// Families of such variables.
const PREFIXES: &[&str] = &[
    "ACP_REGISTRY_", "ACTIONS_", "BASH_FUNC_", "BUN_", "CARGO_", "CONDA_", "CORECLR_", "COREPACK_", "COR_", "DENO_",
    "DOCKER_", "DOTNET_", "DYLD_", "GEM_", "GIT_", "LD_", "MALLOC_", "NODE_", "NPM_", "PIP_", "PYTHON", "RUNNER_",
    "RUSTC", "RUSTUP_", "SSH_", "SSL_CERT_", "UV_", "XDG_", "YARN_",
];

/// Families of variables with a person's accounts at services, which are the person's to set and nobody else's.
const ACCOUNTS: &[&str] = &["AWS_", "AZURE_", "GCLOUD_", "GITHUB_", "GOOGLE_"];

const FOREIGN: &str = "belongs to the system or to another program";

/// Why a manifest must not set a variable of this name, as the rest of a sentence that begins with the name; `None` when
/// it may.
#[must_use]
pub fn problem(name: &str) -> Option<&'static str> {
    let upper = name.trim().to_ascii_uppercase();
    if ACCOUNTS.iter().any(|prefix| upper.starts_with(prefix)) { Some(FOREIGN) } else { problem_for_person(name) }
}

/// Why nobody should be told to set a variable of this name, in the same words; `None` for an agent's own and for those
/// with a person's accounts, which agents sign in with.
#[must_use]
pub fn problem_for_person(name: &str) -> Option<&'static str> {
    let upper = name.trim().to_ascii_uppercase();
    if NAMES.contains(&upper.as_str()) || PREFIXES.iter().any(|prefix| upper.starts_with(prefix)) {
        Some(FOREIGN)
    } else if is_portable(name) {
        None
    } else {
        Some("is not a name of an environment variable")
    }
}

/// Whether every system and shell can set a variable of this name.
#[must_use]
pub fn is_portable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_keeps_its_names_in_any_case_and_with_spaces_around() {
        for name in ["PATH", "path", " Path ", "LD_PRELOAD", "node_options", "PYTHONSTARTUP", "BASH_FUNC_ls%%"] {
            assert_eq!(problem(name), Some("belongs to the system or to another program"), "{name}");
        }
    }

    #[test]
    fn a_persons_accounts_are_set_by_the_person_alone() {
        for name in ["AZURE_OPENAI_API_KEY", "google_api_key", "AWS_ACCESS_KEY_ID", "GITHUB_TOKEN"] {
            assert_eq!((problem(name), problem_for_person(name)), (Some(FOREIGN), None), "{name}");
        }
        for name in ["LD_PRELOAD", "path", "NODE_OPTIONS", "HTTPS_PROXY", "GIT_SSH_COMMAND", "ACP_REGISTRY_ROOT"] {
            assert_eq!(problem_for_person(name), Some(FOREIGN), "{name}");
        }
        assert_eq!(problem_for_person("A=B"), Some("is not a name of an environment variable"));
        assert_eq!(problem_for_person("EXAMPLE_API_KEY"), None);
    }

    #[test]
    fn an_agent_has_its_own_names() {
        assert_eq!(problem("EXAMPLE_API_KEY"), None);
        for name in ["", "1A", "A-B", "A=B", "Ä"] {
            assert_eq!(problem(name), Some("is not a name of an environment variable"), "{name}");
        }
    }
}
