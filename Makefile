# The whole of foresee by name. Every target does its own set-up.

CARGO ?= cargo
JOBS ?= 2
PREFIX ?= /usr/local
export CARGO_BUILD_JOBS ?= $(JOBS)

.PHONY: build demo test check bench install clean

build:
	$(CARGO) build --release --workspace

# The main job on real files of this machine: search the sources of foresee's own dependencies, each time from a cold cache.
demo: build
	./bench/demo

# Everything: formatting, lints, tests of all kinds, documentation, the README's commands.
test: check
	$(CARGO) build --workspace
	$(CARGO) test --workspace

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

# Needs root, /dev/fuse and loop devices; takes about half an hour. Raw results stay in bench/results.
bench: build
	python3 bench/run.py

install: build
	install -D target/release/foresee $(DESTDIR)$(PREFIX)/bin/foresee
	install -D target/release/slowdisk $(DESTDIR)$(PREFIX)/bin/slowdisk
	install -D target/release/libforesee_preload.so $(DESTDIR)$(PREFIX)/lib/foresee/libforesee_preload.so

clean:
	$(CARGO) clean
