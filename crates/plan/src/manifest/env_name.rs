//! Names of environment variables: which ones a manifest may set.

/// Variables of the system, of shells, and of programs that load code.
const NAMES: &[&str] = &[
    "ALL_PROXY", "ANSIBLE_CONFIG", "APPDATA", "BASHOPTS", "BASH_ENV", "BASH_LOADABLES_PATH", "BROWSER", "CDPATH", "CI",
    "CLASSPATH", "COMSPEC", "CURL_CA_BUNDLE", "CURL_HOME", "EDITOR", "EMACSLOADPATH", "ENV", "FTP_PROXY",
    "FZF_DEFAULT_COMMAND", "GCONV_PATH", "GLIBC_TUNABLES", "GOENV", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "HGRCPATH",
    "HOME", "HOMEDRIVE", "HOMEPATH", "HOSTALIASES", "HTTPS_PROXY", "HTTP_PROXY", "IFS", "KRB5_CONFIG", "KUBECONFIG",
    "LESS", "LESSCLOSE", "LESSKEYIN", "LESSOPEN", "LOCALAPPDATA", "LOCPATH", "LOGNAME", "MAKEFILES", "MAKEFLAGS",
    "MANPAGER", "NLSPATH", "NO_PROXY", "OLDPWD", "PAGER", "PATH", "PATHEXT", "PHPRC", "PROGRAMDATA", "PROGRAMFILES",
    "PROMPT_COMMAND", "PS4", "PSMODULEPATH", "PWD", "REQUESTS_CA_BUNDLE", "RES_OPTIONS", "R_ENVIRON", "R_HOME",
    "R_LIBS", "R_LIBS_SITE", "R_LIBS_USER", "R_PROFILE", "RIPGREP_CONFIG_PATH", "RSYNC_RSH", "SHELL", "SHELLOPTS",
    "SSLKEYLOGFILE", "SVN_SSH", "SYSTEMDRIVE", "SYSTEMROOT", "TAR_OPTIONS", "TEMP", "TERM", "TMP", "TMPDIR", "USER",
    "USERNAME", "USERPROFILE", "VIRTUAL_ENV", "VIMINIT", "VISUAL", "WGETRC", "WINDIR", "ZDOTDIR",
];

/// Prefixes of further such variables: of systems, package managers, runtimes and libraries. Prefixes also cover
/// variables that new versions add, such as `LUA_INIT_5_4`.
const PREFIXES: &[&str] = &[
    "ACP_REGISTRY_", "ACTIONS_", "BASH_FUNC_", "BUNDLE_", "BUN_", "CAML", "CARGO_", "CONDA_", "CORECLR_", "COREPACK_",
    "COR_", "DENO_", "DOCKER_", "DOTNET_", "DYLD_", "ELECTRON_", "ELIXIR_", "ERL_", "GCONV_", "GDK_", "GEM_", "GIO_",
    "GIT_", "GRADLE_", "GST_", "GTK_", "GUILE_", "JAVA_", "JDK_", "JULIA_", "LD_", "LIBGL_", "LUA_", "MALLOC_",
    "MAVEN_", "MESA_", "MONO_", "NODE_", "NPM_", "OCAML", "OPENSSL_", "PERL", "PHP_", "PIP_", "PYTHON", "QML", "QT_",
    "RUBY", "RUNNER_", "RUSTC", "RUSTUP_", "SSH_", "SSL_CERT_", "TCL", "TS_NODE_", "UV_", "VK_", "VSCODE_", "XDG_",
    "YARN_",
];

/// Suffixes of variables that name code to load, or options of the runtime that loads it, in any program.
const SUFFIXES: &[&str] = &[
    "_AFLAGS", "_ASKPASS", "_ENGINES", "_ENV_OPTIONS", "_IM_MODULE", "_JAVA_OPTIONS", "_JAVA_OPTS", "_JVM_OPTIONS",
    "_LIBRARY_PATH", "_LOAD_PATH", "_MODULES", "_MODULE_PATH", "_NODE_OPTIONS", "_PLUGIN_DIR", "_PLUGIN_PATH",
    "_PRELOAD", "_VM_OPTIONS", "_ZFLAGS",
];

/// Suffixes of variables that contain the URL of a service.
const SERVICES: &[&str] = &["_API_BASE", "_API_URL", "_BASE_URI", "_BASE_URL", "_ENDPOINT"];

/// Prefixes of variables with the user's accounts at services, which only the user may set.
const ACCOUNTS: &[&str] = &["AWS_", "AZURE_", "GCLOUD_", "GH_", "GITHUB_", "GOOGLE_"];

/// Suffixes of variables that name a program to start, or where a program has its settings. Users may be asked for them,
/// but a manifest does not know the machine.
const PLACES: &[&str] = &[
    "_BINARY_PATH", "_BIN_PATH", "_CLI_PATH", "_COMMAND_PATH", "_EXE", "_EXECUTABLE", "_EXECUTABLE_PATH", "_EXE_PATH",
    "_HOME", "_PROGRAM_PATH",
];

/// Variables of agents that do the same and have no such suffix.
const PLACE_NAMES: &[&str] = &[
    "CLAUDE_CODE_SHELL", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR",
    "PI_CODING_AGENT_DIR",
];

/// Programs whose path variables with this as the last word before `_PATH` contain.
const TOOLS: &[&str] = &[
    "AUGGIE", "BASH", "BUN", "CARGO", "CHROME", "CHROMIUM", "CLANGD", "CLAUDE", "CLINE", "CODEX", "COPILOT", "CURL",
    "CURSOR", "DENO", "DOCKER", "DROID", "EDITOR", "FD", "FFMPEG", "FIREFOX", "FISH", "GEMINI", "GH", "GIT", "GO",
    "GOOSE", "GOPLS", "JAVA", "KIMI", "NPM", "NPX", "NVIM", "OPENCODE", "PNPM", "PODMAN", "POWERSHELL", "PWSH",
    "PYTHON", "PYTHON3", "QWEN", "RG", "RIPGREP", "RUBY", "RUSTC", "SH", "SHELL", "SSH", "TMUX", "UV", "UVX", "VIM",
    "VSCODE", "WGET", "YARN", "ZSH",
];

const FOREIGN: &str = "belongs to the system or to another program";

/// Why a manifest must not set a variable with this name, worded to follow the name; `None` if it may.
#[must_use]
pub fn problem(name: &str) -> Option<&'static str> {
    let upper = name.trim().to_ascii_uppercase();
    let path = upper.strip_suffix("_PATH").and_then(|program| program.rsplit('_').next());
    let is_place = PLACES.iter().any(|suffix| upper.ends_with(suffix))
        || PLACE_NAMES.contains(&upper.as_str())
        || path.is_some_and(|program| TOOLS.contains(&program));
    if ACCOUNTS.iter().any(|prefix| upper.starts_with(prefix)) {
        Some(FOREIGN)
    } else {
        problem_for_person(name).or(is_place.then_some("names a program or a directory of the machine"))
    }
}

/// Why a manifest must not set a variable to this value, as [`problem`] words it.
#[must_use]
pub fn problem_with_value(name: &str, value: &str) -> Option<&'static str> {
    problem(name).or_else(|| value.contains('\0').then_some("has a value with a NUL in it"))
}

/// Why users must not be asked to set a variable with this name, in the same words. `None` for an agent's own variables
/// and for those with the user's accounts, which agents use to sign in.
#[must_use]
pub fn problem_for_person(name: &str) -> Option<&'static str> {
    let upper = name.trim().to_ascii_uppercase();
    let is_foreign = NAMES.contains(&upper.as_str())
        || PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| upper.ends_with(suffix));
    if is_foreign {
        Some(FOREIGN)
    } else if is_portable(name) {
        None
    } else {
        Some("is not a name of an environment variable")
    }
}

/// Whether a variable with this name usually contains the URL of a service, to which prompts and keys are sent.
#[must_use]
pub fn is_service_address(name: &str) -> bool {
    let upper = name.trim().to_ascii_uppercase();
    SERVICES.iter().any(|suffix| upper.ends_with(suffix))
}

/// Whether every system and shell can set a variable with this name.
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
    fn variables_that_load_code_are_known_by_their_class() {
        for name in [
            "LUA_INIT_5_4", "LUA_CPATH_5_3", "ERL_AFLAGS", "ERL_ZFLAGS", "MONO_ENV_OPTIONS", "MONO_PATH",
            "GTK_MODULES", "GTK3_MODULES", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH", "LESSOPEN",
            "OPENSSL_ENGINES", "OPENSSL_CONF", "PERL5OPT", "RUBYOPT", "PHP_INI_SCAN_DIR", "GIO_EXTRA_MODULES",
            "GST_PLUGIN_PATH_1_0", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "IDEA_VM_OPTIONS", "ELECTRON_NODE_OPTIONS",
            "VK_LAYER_PATH", "SUDO_ASKPASS", "SOME_LIBRARY_PATH", "OTHER_PRELOAD", "GRADLE_OPTS", "MAVEN_OPTS",
            "JDK_JAVA_OPTIONS", "GUILE_LOAD_PATH", "TS_NODE_COMPILER", "MAKEFLAGS", "OTHER_LOAD_PATH",
        ] {
            assert_eq!(problem_for_person(name), Some(FOREIGN), "{name}");
        }
        for name in
            ["FAST_AGENT_MODEL", "VT_ACP_ENABLED", "DROID_DISABLE_AUTO_UPDATE", "LESSON_API_KEY", "JAVELIN_TOKEN"]
        {
            assert_eq!(problem(name), None, "{name}");
        }
    }

    #[test]
    fn programs_and_directories_of_the_machine_are_named_by_its_user() {
        for name in [
            "CODEX_HOME", "kimi_home", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR", "CURSOR_CLI_PATH",
            "ESBUILD_BINARY_PATH", "PUPPETEER_EXECUTABLE_PATH", "CHROME_PATH", "CLAUDE_CODE_GIT_BASH_PATH", "RG_PATH",
            "PYTHON3_PATH",
        ] {
            assert!(problem(name).is_some(), "{name}");
        }
        assert_eq!((problem("CODEX_HOME").is_some(), problem_for_person("CODEX_HOME")), (true, None));
        for name in ["VSCODE_INSPECTOR_OPTIONS", "ELECTRON_RUN_AS_NODE", "ELECTRON_OVERRIDE_DIST_PATH"] {
            assert_eq!(problem_for_person(name), Some(FOREIGN), "{name}");
        }
        for name in [
            "EXAMPLE_MODEL_PATH", "EXAMPLE_API_PATH", "EXAMPLE_HOMEPAGE", "EXAMPLE_CONFIG", "EXAMPLE_CONFIG_DIR",
            "EXAMPLE_LOGO_PATH",
        ] {
            assert_eq!(problem(name), None, "{name}");
        }
    }

    #[test]
    fn addresses_of_services_are_told_by_their_ending() {
        for (name, is_one) in
            [("OPENAI_BASE_URL", true), ("anthropic_base_url", true), ("X_ENDPOINT", true), ("BASE_URL_MODE", false)]
        {
            assert_eq!(is_service_address(name), is_one, "{name}");
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
