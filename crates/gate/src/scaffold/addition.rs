//! Adds an agent: from its id to its folder and the remaining steps.

use super::packages::OTHER_COMMAND;
use super::todo::{put_right, similar, start_todos};
use super::{Draft, Error, Proposal, Todo, check_id, place, propose, settle_name};
use crate::check::CheckOptions;
use crate::verify::Attempts;
use acp_registry_client::registry::Registry;
use acp_registry_plan::manifest::Distribution;

/// An agent to add to a registry.
#[derive(Debug)]
pub struct Addition<'a> {
    id: &'a str,
    registry: Registry,
    options: CheckOptions<'a>,
}

/// An agent that was added, or would be.
#[derive(Debug)]
pub struct Added {
    /// The agent, with the arguments that start it.
    pub draft: Draft,
    /// The results of starting it, if it was started.
    pub attempts: Option<Attempts>,
    /// Its files.
    pub proposal: Proposal,
    /// The remaining steps.
    pub left: Vec<Todo>,
}

impl<'a> Addition<'a> {
    /// Checks that an agent with this id can be added.
    ///
    /// # Errors
    /// Returns [`Error::Id`] for an invalid id, with a similar valid one, and [`Error::Exists`] if its folder exists.
    pub fn begin(id: &'a str, mut registry: Registry, options: CheckOptions<'a>) -> Result<Self, Error> {
        check_id(id, &mut registry, &options).map_err(|mut error| {
            let like = agent_id(id);
            if let Error::Id { near, .. } = &mut error
                && *like != *id
                && check_id(&like, &mut registry, &options).is_ok()
            {
                *near = Some(like);
            }
            error
        })?;
        Ok(Self { id, registry, options })
    }

    /// Gives the agent a name that the rules accept: that of the source, or else one of the words of its id.
    ///
    /// # Errors
    /// Returns [`Error::Unfit`] if they accept neither.
    pub fn settle_name(&mut self, draft: &mut Draft) -> Result<(), Error> {
        settle_name(draft, &mut self.registry, &self.options)
    }

    /// Creates the agent's files, and writes them into the registry if `is_written` is set. The agent gets the
    /// arguments in `named`, or else those of the best attempt.
    ///
    /// # Errors
    /// Returns the errors of [`place`], and [`Error::Unfit`] for a Python package in which uvx finds nothing to start.
    pub fn end(
        mut self,
        mut draft: Draft,
        named: Option<Vec<String>>,
        attempts: Option<Attempts>,
        is_written: bool,
    ) -> Result<Added, Error> {
        if let Some((_, message)) = attempts.as_ref().and_then(Attempts::problem_of_package)
            && draft.agent.distribution.uvx.is_some()
        {
            return Err(Error::unfit_with(message, OTHER_COMMAND));
        }
        let is_withdrawn = self.options.config.withdrawn.contains_key(self.id);
        let mut left = similar(&self.registry, &draft.agent);
        left.extend(is_withdrawn.then(|| Todo::Withdrawn(self.id.to_owned())));
        let has_arguments = named.is_some();
        let found = || attempts.as_ref().and_then(Attempts::best).map(|attempt| attempt.arguments.clone());
        set_arguments(&mut draft.agent.distribution, &named.or_else(found).unwrap_or_default());
        left.extend(draft.notes.drain(..).map(Todo::Note));
        left.extend(start_todos(has_arguments, attempts.as_ref()));
        let proposal = propose(&draft, &mut self.registry, &self.options);
        if is_written {
            place(&self.registry.root, self.id, &proposal)?;
        }
        left.extend(proposal.left_out.iter().cloned().map(Todo::Note));
        let errors = put_right(&proposal.errors, &left);
        left.extend(errors);
        Ok(Added { draft, attempts, proposal, left })
    }
}

/// Derives a valid id from a text.
fn agent_id(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    let plain: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.trim_start_matches(|c: char| !c.is_ascii_lowercase()).trim_end_matches('-').to_owned()
}

fn set_arguments(distribution: &mut Distribution, arguments: &[String]) {
    for package in distribution.npx.iter_mut().chain(&mut distribution.uvx) {
        package.args = arguments.to_vec();
    }
    for target in &mut distribution.binary {
        target.args = arguments.to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_id_is_made_of_what_was_meant() {
        for (text, id) in [("My Agent", "my-agent"), (" 1st.agent ", "st-agent"), ("fine", "fine"), ("__", "")] {
            assert_eq!(agent_id(text), id, "{text}");
        }
    }
}
