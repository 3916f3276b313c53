# The whole of foresee by name. Every target does its own set-up.

CARGO ?= cargo
JOBS ?= 2
PREFIX ?= /usr/local
# Where Python looks for modules, if that is under PREFIX.
PYTHON_DIR ?= $(shell python3 -c 'import site, sys; under = "$(PREFIX)/"; \
	print(next((it for it in site.getsitepackages() if it.startswith(under)), \
	under + "lib/python%d.%d/site-packages" % sys.version_info[:2]))')
export CARGO_BUILD_JOBS ?= $(JOBS)
# Property tests try the same cases each time, so that one that fails is the last change's doing; HACKING says how to try others.
export PROPTEST_RNG_SEED ?= 1

.PHONY: build libforesee demo test check test-fresh test-models test-miri test-programs bench bench-apps bench-advice bench-unhinted \
	bench-listing bench-policies bench-programs bench-stripe bench-mounts bench-mount bench-local bench-hits bench-tier \
	bench-serving mount install install-mount clean

# What speaks with object stores takes longer to compile than all else, and one program needs it: see mount.
build: libforesee
	$(CARGO) build --release --workspace --exclude foresee-object --exclude foresee-mount

# What `foresee mount` starts; some minutes.
mount:
	$(CARGO) build --release --package foresee-mount

# The hint library for C, one file; the others who speak of it load it.
libforesee:
	mkdir -p target/release
	$(CC) -O2 -Wall -Wextra -fPIC -c bindings/c/foresee.c -o target/release/foresee.o
	$(CC) -shared -Wl,-soname,libforesee.so target/release/foresee.o -ldl -o target/release/libforesee.so
	rm -f target/release/libforesee.a
	$(AR) rcs target/release/libforesee.a target/release/foresee.o

# The main job on real files of this machine: search the sources of foresee's own dependencies, each time from a cold cache.
demo: build
	./bench/demo

# The preload library as it ships, which is built otherwise (no std, optimised as a whole), and the end-to-end tests that load it.
SHIPPED = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/release/libforesee_preload.so
LIVE = hints join odd_programs status

# Everything: formatting, lints, tests of all kinds, documentation, the README's commands.
test: check
	$(CARGO) build --workspace
	$(CARGO) test --workspace
	$(CARGO) build --release --package foresee-preload
	FORESEE_TEST_LIBRARY=$(SHIPPED) $(CARGO) test --package foresee-preload
	FORESEE_TEST_LIBRARY=$(SHIPPED) $(CARGO) test --package foresee-cli $(LIVE:%=--test %)

# The manager's property tests and the fuzz targets with fewer cases of another seed: CI draws one each time. What fails here fails
# again with that seed.
FRESH_CASES ?= 20
test-fresh:
	@echo "PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) PROPTEST_CASES=$(FRESH_CASES): again with make test-fresh PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED)"
	PROPTEST_CASES=$(FRESH_CASES) $(CARGO) test --quiet -p foresee-manager --test conformance --test model --test advice \
		--test sequential --test partitioned --test windows --test messages
	PROPTEST_CASES=$(FRESH_CASES) $(CARGO) test --quiet -p foresee-fuzz --test targets

# The ring's algorithm in the orders in which its steps can happen, as far as loom tries them; with its compile less than a minute.
MODELS = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/models
test-models:
	CARGO_TARGET_DIR=$(MODELS) RUSTFLAGS="--cfg loom" $(CARGO) test --lib -p foresee-ring

# The ring's tests, with a small ring, in an interpreter that finds undefined behaviour and data races; the manager has no unsafe code.
# Needs `rustup +nightly component add miri`.
test-miri:
	MIRIFLAGS="-Zmiri-ignore-leaks -Zmiri-tree-borrows" $(CARGO) +nightly miri test --lib -p foresee-ring

# Test suites of zlib, PostgreSQL, CPython and busybox, plainly and under foresee, outcomes compared; a quarter of an hour.
# python3 bench/programs/run.py --only python --python PYTHON tests another Python than the first on the path.
test-programs: build
	python3 bench/programs/run.py

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

# Needs root, /dev/fuse and loop devices; takes about half an hour. Raw results stay in bench/results.
bench: build
	python3 bench/run.py

# The five applications of paper 000, each in less memory than its data; as bench, and a memory control group.
bench-apps: build
	python3 bench/apps/run.py

# Programs of paper 002 in less memory than their data, with advice and without; as bench-apps, and cscope, ld, Debian's packages.
bench-advice: build
	python3 bench/advice/run.py

# Programs that disclose nothing: mixed sequential and random readers, and the same reads again and again; as bench-apps, and rg, cscope.
bench-unhinted: build
	python3 bench/unhinted/run.py

# One file striped over several slow disks; as bench.
bench-stripe: build
	python3 bench/stripe.py

# Programs that read in ways of their own: mappings; as bench, and numpy.
bench-programs: build
	python3 bench/programs/measure.py

# Programs that say nothing and read the files of a directory; as bench.
bench-listing: build
	python3 bench/listing.py

# Policies on traces and recordings, by the simulator: those that are told nothing, ten minutes, and those that are told, some hours
# (python3 bench/policies/run.py --quick: minutes).
bench-policies: build
	python3 bench/policies/untold.py
	python3 bench/policies/run.py

# This machine's own disk, where there is little to gain, and nothing may be lost; two minutes.
bench-local: build
	./bench/local

# Hits of the library beside pread and other caches, which are compiled for it: five minutes.
bench-hits:
	mkdir -p target
	cd bench/hits && $(CARGO) run --release -- $(CURDIR)/target

# The library's disk beside foyer's hybrid cache, which is compiled for it: three rounds, ten minutes.
bench-tier:
	mkdir -p target
	cd bench/tier && $(CARGO) run --release -- $(CURDIR)/target

# The library over an object store beside object_store and fsspec: versitygw behind a slow link, a Python with s3fs (PYTHON=...).
PYTHON ?= python3
bench-serving:
	$(CARGO) build --release --package foresee-slowlink
	cd bench/serving && $(CARGO) build --release
	python3 bench/serving/run.py --python $(PYTHON)

# Programs on rclone, s3fs, sshfs, bindfs, overlayfs and NFS; bench/mounts/README.md says what it needs. Three hours.
bench-mounts: build
	python3 bench/mounts/run.py

# foresee mount beside rclone and s3fs on one bucket; bench/mounts/README.md says what they need. A quarter of an hour a round.
bench-mount: build mount
	python3 bench/mount/run.py

install: build
	install -D target/release/foresee $(DESTDIR)$(PREFIX)/bin/foresee
	install -D target/release/slowdisk $(DESTDIR)$(PREFIX)/bin/slowdisk
	install -D target/release/libforesee_preload.so $(DESTDIR)$(PREFIX)/lib/foresee/libforesee_preload.so
	install -D -m 644 bindings/c/foresee.h $(DESTDIR)$(PREFIX)/include/foresee.h
	install -D target/release/libforesee.so $(DESTDIR)$(PREFIX)/lib/libforesee.so
	install -D -m 644 target/release/libforesee.a $(DESTDIR)$(PREFIX)/lib/libforesee.a
	install -D -m 644 bindings/python/foresee.py $(DESTDIR)$(PYTHON_DIR)/foresee.py

# Beside the command, which looks for it there.
install-mount: mount
	install -D target/release/foresee-mount $(DESTDIR)$(PREFIX)/bin/foresee-mount

clean:
	$(CARGO) clean
