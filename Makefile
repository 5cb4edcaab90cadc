# What people run is what CI runs. `make help` lists the recipes.

export PATH := $(CURDIR)/target/tools/uv/bin:$(HOME)/.cargo/bin:$(PATH)

# The published tree that `make demo` writes.
OUT ?= dist

# The port of `make serve`.
PORT ?= 8017

.PHONY: help setup tools serve demo test test-real lint ci bench fuzz deny

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## install what is missing: a C linker, git, Rust
	@command -v cc >/dev/null && command -v git >/dev/null || { \
		command -v apt-get >/dev/null || { echo "install a C compiler and git first" >&2; exit 1; }; \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update && $$sudo apt-get install -y build-essential curl git; }
	@command -v cargo >/dev/null || curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --no-modify-path

tools: setup ## install what some tests use: Node.js with npm, and uv; tests say what they skip without them
	@command -v npm >/dev/null || ! command -v apt-get >/dev/null || { \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update && $$sudo apt-get install -y nodejs npm; } || echo "no npm: tests that need it are skipped" >&2
	@command -v uv >/dev/null || { python3 -m venv target/tools/uv && target/tools/uv/bin/pip install --quiet uv; } \
		|| { ! command -v apt-get >/dev/null || { \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update && $$sudo apt-get install -y python3-venv && python3 -m venv --clear target/tools/uv \
		&& target/tools/uv/bin/pip install --quiet uv; }; } || echo "no uv: tests that need it are skipped" >&2

serve: setup ## show the catalog of the bundled registry on 127.0.0.1
	cargo run --quiet -- serve --port $(PORT)

demo: setup ## validate the bundled registry and build its published tree
	cargo run --quiet -- validate
	cargo run --quiet -- build --out $(OUT)
	@echo "The published tree is in $(OUT)/: registry.json is what clients read, index.html what people do."

test: tools ## run all tests
	cargo test --all-features

test-real: tools ## start all agents of the bundled registry that npm and uv can install: minutes and gigabytes
	ACP_REGISTRY_REAL=1 cargo test --all-features --test it real::

lint: setup ## formatting, clippy, and the links of the documentation
	cargo fmt --check
	cargo clippy --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --lib

ci: lint test demo ## everything that must be green

bench: setup ## measure everything that must be quick, as ratios to common tools, and checks of agents against plain pipes
	cargo bench --bench registry

fuzz: setup ## feed the parsers random input, SECONDS each (default 60); needs cargo-fuzz and a nightly toolchain
	cargo +nightly fuzz run --fuzz-dir tests/fuzz manifest -- -max_total_time=$(or $(SECONDS),60)
	cargo +nightly fuzz run --fuzz-dir tests/fuzz icon -- -max_total_time=$(or $(SECONDS),60)
	cargo +nightly fuzz run --fuzz-dir tests/fuzz archive -- -max_total_time=$(or $(SECONDS),60)

deny: setup ## licences, advisories and sources of all dependencies; needs cargo-deny
	cargo deny check
