//! Adds environment variables from manifests or users to an agent's environment.

use acp_registry_host::process::Environment;
use acp_registry_plan::manifest::env_name;
use acp_registry_plan::text::quote;

/// A variable that must not be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {} {problem}", quote(name))]
pub struct ReservedVariable {
    name: String,
    problem: &'static str,
}

/// Adds variables to an environment: all of them, or none if one is not allowed.
///
/// # Errors
/// Returns [`ReservedVariable`] for a name that affects which code runs or which credentials are used, such as `PATH`
/// or `NODE_OPTIONS`, and for values that contain NUL.
pub fn set_variables<'a>(
    environment: &mut Environment,
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), ReservedVariable> {
    let variables: Vec<_> = variables.into_iter().collect();
    for (name, value) in &variables {
        let problem =
            env_name::problem(name).or_else(|| value.contains('\0').then_some("has a value with a NUL in it"));
        if let Some(problem) = problem {
            return Err(ReservedVariable { name: (*name).to_owned(), problem });
        }
    }
    for (name, value) in variables {
        environment.set(name, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reserved_name_stops_all() {
        let mut environment = Environment::default();
        let error = set_variables(&mut environment, [("EXAMPLE", "1"), ("LD_PRELOAD", "x")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the environment variable `LD_PRELOAD` belongs to the system or to another program"
        );
        assert_eq!(environment, Environment::default());

        set_variables(&mut environment, [("EXAMPLE", "1")]).unwrap();
        assert_eq!(environment.get("EXAMPLE"), Some("1".as_ref()));
        assert!(set_variables(&mut environment, [("EXAMPLE", "a\0b")]).is_err());
    }
}
