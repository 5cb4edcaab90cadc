# What people run is what CI runs. `make help` lists the recipes.

export PATH := $(CURDIR)/target/tools/uv/bin:$(HOME)/.cargo/bin:$(PATH)

# The published tree that `make demo` writes.
OUT ?= dist

# Where `make packages` writes.
PACKAGES ?= target/packages

# The program of `make demo` and `make browser`. The one of `make test` has other features of dependencies, so that both would
# compile a third of them again.
RUN ?= cargo run --quiet --
BUILD ?= cargo build --quiet --all-features

# The port of `make serve`.
PORT ?= 8017

.PHONY: help setup tools test-tools install serve demo test browser pictures budgets test-real examine-real steady newest-protocol lint ci check-platforms test-platforms release check-release packages wasm bench fuzz deny typos quick

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## install what is missing: a C linker, git, Rust; says what, and asks on a terminal unless YES=1
	@YES='$(YES)' .ci/setup

tools: ## as setup, and what some tests use: Node.js with npm, Chromium, bubblewrap, jq, Neovim, Emacs, OpenSSH, uv, Rust's target for WebAssembly; tests say what they skip without them
	@YES='$(YES)' .ci/setup tools

install: setup ## build the program and install it into ~/.cargo/bin, or where CARGO_INSTALL_ROOT says
	cargo install --locked --path . --profile quick

serve: setup ## show the catalog of the bundled registry on 127.0.0.1
	cargo run -- serve --port $(PORT)

demo: setup ## validate the bundled registry and build its published tree
	$(RUN) validate
	$(RUN) build --out $(OUT)
	@echo "The published tree is in $(OUT)/: registry.json is what clients read, index.html what people do."

# With the whole program, so that dependencies have the features that they are already compiled with.
quick: setup ## run the unit tests of one crate: CRATE=gate, see crates/
	cargo test --quiet --package acp-registry --package acp-registry-$(CRATE) --lib

# Most tests wait for the programs that they start: one test per core leaves half of the time unused.
test: tools ## run all tests: those of Rust, and the site in a real browser beside them
	cargo test --all-features --no-run
	@mkdir -p target; TMPDIR=$$(.ci/scratch) || exit; export TMPDIR; trap 'chmod -R u+rwX "$$TMPDIR"; rm -rf "$$TMPDIR"' EXIT; trap exit INT TERM; \
		$(MAKE) --no-print-directory browser BUILD=: > target/browser.log 2>&1 & browser=$$!; \
		RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$((3 * $$(getconf _NPROCESSORS_ONLN || echo 2)))} cargo test --all-features; rust=$$?; \
		echo "waiting for the browser tests (target/browser.log)"; wait $$browser; browser=$$?; cat target/browser.log; \
		[ $$rust = 0 ] && [ $$browser = 0 ]

# What npm installs stays as it is until the lock file changes.
BROWSER_MODULES = tests/browser/node_modules/.package-lock.json
$(BROWSER_MODULES): tests/browser/package-lock.json
	@! command -v npm >/dev/null || { cd tests/browser && npm ci --loglevel=error && touch node_modules/.package-lock.json; } \
		|| echo "npm cannot install what tests in a browser need: they are skipped" >&2

# What `make test` needs, without running it.
test-tools: tools $(BROWSER_MODULES)

browser: test-tools ## the site in a real browser; TESTS="search.test.mjs …" runs some files only
	$(BUILD)
	@if command -v node >/dev/null; then node tests/browser/run.mjs $(TESTS); \
		else echo "SKIPPED: browser tests: no Node.js"; [ -z "$$CI" ]; fi

pictures: test-tools ## make the pictures of the README anew, in docs/images; needs npm and a browser
	cargo build --quiet --all-features
	node tests/browser/pictures.mjs

budgets: ## what the site takes to load and to answer, of the bundled registry and with 10,000 agents; fails when a budget is missed
	BUDGETS=strict $(MAKE) --no-print-directory browser TESTS="measure-interaction.test.mjs measure-lighthouse.test.mjs"

examine-real: tools ## examine all agents of the bundled registry that npm and uv can install, twice, and compare: hours and gigabytes
	mkdir -p target/examined
	for run in 1 2; do cargo run --quiet -- verify --level turns --jobs 1 --out target/examined/$$run.json || [ $$? = 1 ] || exit; done
	.ci/compare-examinations target/examined/1.json target/examined/2.json

steady: test-tools ## show that examinations have the same results beside 8 busy loops and with a slow start; half an hour
	cargo build --quiet --all-features --examples
	ACP_REGISTRY_STEADY=1 cargo test --all-features --test it steady:: -- --nocapture

newest-protocol: setup ## compare the methods of the protocol's newest release with those that checks know
	rm -rf target/newest && mkdir -p target/newest && git archive HEAD | tar -x -C target/newest
	cd target/newest && cargo add --quiet --package acp-registry-examine --build agent-client-protocol-schema@'>=1' \
		--features unstable,unstable_protocol_v2 && cargo update --quiet agent-client-protocol-schema
	cd target/newest && CARGO_TARGET_DIR=../newest-build cargo test --quiet --package acp-registry-examine --lib schema

packages: setup ## build packages (npm, Python, Debian, installers, …) of the release archives in ARCHIVES, else of PROGRAM, else of what cargo builds
	@[ -n "$(ARCHIVES)$(PROGRAM)" ] || cargo build --release
	@[ -n "$(ARCHIVES)" ] || rm -rf target/archives
	@[ -n "$(ARCHIVES)" ] || python3 .github/packages/build.py pack $(or $(PROGRAM),target/release/acp-registry) target/archives
	python3 .github/packages/build.py packages $(or $(ARCHIVES),target/archives) $(PACKAGES)

wasm: setup ## build the npm package that plans in browsers and Electron, as WebAssembly, below target/packages; needs rustup
	rustup target add wasm32-unknown-unknown
	crates/wasm/build $(PACKAGES)/acp-registry-wasm

test-real: tools ## start all agents of the bundled registry that npm and uv can install: minutes and gigabytes
	ACP_REGISTRY_REAL=1 cargo test --all-features --test it -- real:: real_elsewhere::

lint: setup ## formatting, clippy, and the links of the documentation
	cargo fmt --check
	cargo clippy --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --lib --examples --all-features --workspace

# Nothing is linked, so that C code of dependencies needs no compiler for the other system.
check-platforms: setup ## compile for this system without features, and for Windows and macOS, as far as that goes without their linkers; needs rustup
	rustup target add x86_64-pc-windows-gnu aarch64-apple-darwin
	cargo check --all-targets
	CC_x86_64_pc_windows_gnu=true AR_x86_64_pc_windows_gnu=true cargo check --all-targets --target x86_64-pc-windows-gnu
	CC_aarch64_apple_darwin=true AR_aarch64_apple_darwin=true cargo check --all-targets --target aarch64-apple-darwin

# The table of all commands comes from these runs.
test-platforms: tools ## run the tests on Windows (Wine), Linux aarch64 (QEMU) and this machine, and write their results into docs/platforms.md
	.ci/windows
	.ci/aarch64
	rm -rf target/platforms/here
	mkdir -p target/platforms/here
	ACP_REGISTRY_TEST_RUNS=$(CURDIR)/target/platforms/here/runs cargo test --all-features --test it > target/platforms/here/tests
	.ci/matrix 'Linux x86-64=target/platforms/here' 'Linux aarch64=target/platforms/aarch64' 'Windows x86-64=target/platforms/windows'

release: setup ## build the archives of all platforms, packages, SBOM and digests of a release; see .ci/release
	.ci/release

check-release: setup ## build the release again, from a clone in another directory, and compare the bytes
	second=$$(mktemp -d) && trap 'rm -rf "$$second"' EXIT && git clone --quiet . "$$second/clone" \
		&& OUT=$$second/files "$$second/clone/.ci/release" && diff -r target/release-files "$$second/files"

ci: lint test demo ## everything that must be green

bench: setup ## measure everything that must be quick, as ratios to common tools, and checks of agents against plain pipes
	cargo build --release --example fake-agent
	cargo bench --bench registry

fuzz: setup ## feed the parsers random input, SECONDS each (default 60); needs cargo-fuzz and a nightly toolchain
	cargo +nightly fuzz run --fuzz-dir tests/fuzz manifest -- -max_total_time=$(or $(SECONDS),60)
	cargo +nightly fuzz run --fuzz-dir tests/fuzz icon -- -max_total_time=$(or $(SECONDS),60)
	cargo +nightly fuzz run --fuzz-dir tests/fuzz archive -- -max_total_time=$(or $(SECONDS),60)

deny: setup ## licences, advisories and sources of all dependencies; needs cargo-deny
	cargo deny check

typos: ## spelling, in code and text; needs uv
	uvx typos@1.52.0
