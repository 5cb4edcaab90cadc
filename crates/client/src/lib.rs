//! Read an index of agents, install agents, and start them.
//!
//! | module | what it does |
//! |---|---|
//! | [`session`] | USE: the entry point: open an index, choose an agent, install it, start it |
//! | [`index`] | READ: a published index, leniently, with copies from one run to the next; a place to the agents it has |
//! | [`resolve`] | RESOLVE: which version, for which platform, from where, by which runtime; an id to a plan |
//! | [`install`] | INSTALL: what a manifest names, put below a directory by npm, uv or the HTTP client; a distribution to a program |
//! | [`store`] | STORE: installed agents, versions side by side, with receipts and locks; a plan to a program that stays |
//! | [`lockfile`] | LOCK: versions with everything that says which bytes they are, to be the same elsewhere |
//! | [`update`] | UPDATE: what is installed, compared with what is offered now |
//! | [`doctor`] | EXAMINE: the runtimes, the directory of installed agents, and each of these; what is wrong, and what helps |
//! | [`login`] | SIGN IN: what an authentication method asks for, and whether the agent opens a session then; and the way out |
//! | [`settings`] | SETTINGS: a program to what a client of the protocol reads to start it |

pub mod doctor;
pub mod index;
pub mod install;
pub mod lockfile;
pub mod login;
pub mod resolve;
pub mod session;
pub mod settings;
pub mod store;
pub mod update;
