//! Runs the program from outside: what it prints, what it writes, and how it exits.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests start programs, and say when they are skipped"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg_attr(windows, allow(dead_code, unused_imports, reason = "some tests are for Unix only"))]

mod advisories;
mod agent;
mod agents;
mod agents_failures;
mod agents_repairs;
mod agents_update;
mod architecture;
mod archives;
mod at_once;
mod attester;
mod authorities;
mod bad_input;
mod bindings;
mod build;
mod bump;
mod bump_examined;
mod bump_lists;
mod bump_scenarios;
#[cfg(target_os = "linux")]
mod canaries;
mod circles;
mod closures;
mod completions;
mod contract;
mod corpus;
mod damage;
mod damage_packages;
mod damage_records;
mod diff;
mod docs;
#[cfg(unix)]
mod doctor;
mod documents;
mod dry_runs;
mod earlier_versions;
#[cfg(unix)]
mod elsewhere;
mod entries;
mod examine;
mod examine_commands;
mod examine_drafts;
mod examine_formats;
mod examine_sessions;
mod examine_snapshot;
mod examine_transport;
mod examine_turns;
mod examined;
mod extensions;
mod failures;
#[cfg(unix)]
mod git;
#[cfg(all(target_os = "linux", feature = "world"))]
mod guides;
#[cfg(all(target_os = "linux", feature = "world"))]
mod guides_world;
mod handshake;
mod history;
mod index;
mod init;
mod interrupts;
mod isolation;
#[cfg(all(unix, feature = "world"))]
mod journey;
mod library;
mod locks;
#[cfg(unix)]
mod login;
#[cfg(unix)]
mod login_terminal;
mod long_history;
#[cfg(target_os = "linux")]
mod memory;
mod merge;
mod messages;
mod named_versions;
mod namespace;
mod net;
mod net_download;
mod new;
mod new_failures;
mod new_sources;
#[cfg(unix)]
mod npm_trees;
#[cfg(unix)]
mod package_managers;
#[cfg(unix)]
mod packaged;
#[cfg(unix)]
mod packaged_debian;
#[cfg(unix)]
mod packaged_homebrew;
#[cfg(unix)]
mod packaged_installers;
#[cfg(unix)]
mod packaged_npm;
#[cfg(unix)]
mod packaged_recipes;
#[cfg(unix)]
mod packaged_wheel;
mod packages;
mod people;
mod previous;
mod previous_entries;
mod probe;
mod programs;
mod propose;
mod provenance;
mod proxies;
mod publish;
#[cfg(all(unix, feature = "world"))]
mod publish_gzip;
mod publish_lease;
mod publish_listing;
mod publish_order;
mod publish_prune;
mod publish_reader;
mod publish_refused;
mod publish_rollback;
#[cfg(all(unix, feature = "world"))]
mod publish_s3;
#[cfg(all(unix, feature = "world"))]
mod publish_s3_reader;
#[cfg(all(unix, feature = "world"))]
mod publish_s3_takeover;
mod publish_takeover;
mod published;
#[cfg(feature = "world")]
mod real;
#[cfg(feature = "world")]
mod real_agents;
#[cfg(feature = "world")]
mod real_cooldowns;
#[cfg(all(unix, feature = "world"))]
mod real_elsewhere;
#[cfg(feature = "world")]
mod real_npm;
#[cfg(feature = "world")]
mod real_provenance;
#[cfg(feature = "world")]
mod real_runners;
mod remedies;
#[cfg(unix)]
mod remote;
mod report;
mod reports;
mod revoked;
#[cfg(unix)]
mod rpc;
#[cfg(unix)]
mod rpc_agents;
mod rules;
#[cfg(unix)]
mod runtimes;
#[cfg(all(unix, feature = "world"))]
mod s3;
#[cfg(unix)]
mod sandbox;
mod search;
mod serve;
mod server;
mod settings;
#[cfg(unix)]
mod setup;
mod short_path;
mod signed;
mod site;
mod site_budgets;
mod site_examined;
mod site_hostile;
mod site_matrix;
mod site_pages;
mod site_pictures;
mod site_setup;
mod snippets;
#[cfg(all(unix, feature = "world"))]
mod steady;
mod support;
mod tampering;
mod terminal;
mod trust;
mod unchanged;
mod urls;
mod validate;
#[cfg(unix)]
mod validate_handshake;
mod verify;
mod verify_again;
mod verify_killed;
mod verify_places;
mod verify_quarantine;
#[cfg(unix)]
mod wasm;
#[cfg(unix)]
mod wasm_index;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
mod workflow_gate;
#[cfg(unix)]
mod workflow_publish;
#[cfg(unix)]
mod workflow_release;
mod workflow_runs;
#[cfg(unix)]
mod workflows;
