//! Validate, verify and update a registry.
//!
//! | module | what it does |
//! |---|---|
//! | [`config`] | LOAD: `registry.toml` |
//! | [`select`] | SELECT: the registry to work on, and a subset of its agents |
//! | [`finding`] | one problem in a registry: rules create findings, reports print them |
//! | [`advisories`] | ADVISE: reads exports of advisories, and finds the agents whose packages they call malicious |
//! | [`edit`] | EDIT: writes a file of a registry, unless another program has changed it |
//! | [`survey`] | GATHER: asks package registries and hosts about what manifests name; holds results of [`verify`] |
//! | [`check`] | CHECK: runs the rules over a loaded registry and, optionally, a survey; returns findings |
//! | [`closures`] | LIST: has npm and uv list all packages of agents, and keeps the lists beside the manifests |
//! | [`history`] | LOAD: when agents were added, updated and withdrawn, from git or a file |
//! | [`release`] | the page of a release, by the archives that it has |
//! | [`verify`] | VERIFY: installs, starts and checks agents in parallel; writes the capability snapshot |
//! | [`bump`] | BUMP: finds newer versions of agents and plans the smallest edit that moves to them |
//! | [`scaffold`] | SCAFFOLD: creates an agent's folder from npm, the Python package index or GitHub; creates the files of a new registry |
//! | [`propose`] | PROPOSE: opens pull requests on GitHub for updates |

pub mod advisories;
pub mod bump;
pub mod check;
pub mod closures;
pub mod config;
pub mod edit;
pub mod finding;
pub mod history;
pub mod propose;
pub mod release;
pub mod scaffold;
pub mod select;
pub mod survey;
pub mod verify;
