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

.DELETE_ON_ERROR:
.PHONY: build libforesee demo test check test-fresh test-long test-models test-miri test-programs bench bench-apps bench-advice \
	bench-unhinted bench-varied bench-listing bench-walks bench-policies bench-programs bench-stripe bench-mounts bench-mount \
	bench-local bench-short bench-direct bench-hits bench-tier bench-serving bench-python mount wheel sdist pages test-python install \
	install-mount install-pages dist test-dist clean

# What speaks with object stores takes longer to compile than all else, and one program needs it: see mount.
build: libforesee
	$(CARGO) build --release --workspace --exclude foresee-object --exclude foresee-object-server --exclude foresee-mount \
		--exclude foresee-pages --exclude foresee-python

# What `foresee mount` starts; some minutes.
mount:
	$(CARGO) build --release --package foresee-mount

# The Python package as a wheel in $(WHEELS): the native module, the commands and their preload library, laid out as `install` does; some
# minutes. maturin comes from the registry, and takes what lies there under this name.
WHEEL_DATA = bindings/python/foresee._foresee.data
WHEELS ?= target/wheels
NOTICES = bindings/python/NOTICES
wheel: build mount $(NOTICES)
	for command in foresee foresee-mount; do install -D -s target/release/$$command $(WHEEL_DATA)/scripts/$$command || exit; done
	install -D target/release/libforesee_preload.so $(WHEEL_DATA)/data/lib/foresee/libforesee_preload.so
	install -D target/release/libforesee.so $(WHEEL_DATA)/data/lib/libforesee.so
	bindings/python/environment
	target/python/bin/maturin build --manifest-path bindings/python/Cargo.toml --out $(WHEELS)

# The Python package's sources, which build the native module where there is Rust; the commands come by the other packages.
sdist: $(NOTICES)
	bindings/python/environment
	target/python/bin/maturin sdist --manifest-path bindings/python/Cargo.toml --out $(WHEELS)

# What the licences of all that is linked into the package ask to be passed on.
$(NOTICES): Cargo.lock dist/notices
	dist/notices foresee-cli foresee-mount foresee-preload foresee-python > $@

# The Python package's tests, in an environment of their own (target/python) with what the registry has of the libraries that they try;
# without pip or maturin they are skipped, and say so.
test-python:
	bindings/python/test

# The hint library for C, one file; the others who speak of it load it.
libforesee:
	mkdir -p target/release
	$(CC) -O2 -Wall -Wextra -fPIC -c bindings/c/foresee.c -o target/release/foresee.o
	$(CC) -shared -Wl,-soname,libforesee.so target/release/foresee.o -ldl -o target/release/libforesee.so
	rm -f target/release/libforesee.a
	$(AR) rcs target/release/libforesee.a target/release/foresee.o

# The main job on real files: search the sources of foresee's own dependencies, from a cold cache, on this machine's disk and on slower ones.
demo: build
	./bench/demo

# The preload library as it ships, which is built otherwise (no std, optimised as a whole), and the tests that load it. Of the whole
# workspace: a package by itself would be compiled again, as its dependencies have other features then.
SHIPPED = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/release/libforesee_preload.so
LIVE = elsewhere harmless hints join odd_programs records sites status

# Everything: formatting, lints, tests of all kinds, documentation, the README's commands.
test: check
	$(CARGO) build --workspace --exclude foresee-python --lib --bins --tests
	$(CARGO) test --workspace --no-fail-fast
	$(CARGO) build --release --package foresee-preload
	FORESEE_TEST_LIBRARY=$(SHIPPED) $(CARGO) test --workspace $(LIVE:%=--test %)
	bindings/python/test

# The manager's property tests and the fuzz targets with fewer cases of another seed: CI draws one each time. What fails here fails
# again with that seed.
FRESH_CASES ?= 20
test-fresh:
	@echo "PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) PROPTEST_CASES=$(FRESH_CASES): again with make test-fresh PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED)"
	PROPTEST_CASES=$(FRESH_CASES) $(CARGO) test --quiet -p foresee-manager --test all -- conformance:: model:: advice:: sequential:: \
		partitioned:: windows:: messages::
	PROPTEST_CASES=$(FRESH_CASES) $(CARGO) test --quiet -p foresee-fuzz --test targets

# What `test` has time for a little of: readers of a store that misbehaves, processes killed at the cache's disk, object stores that
# misbehave, and one that is away for a minute. Optimised: five minutes, and seven to compile it at first.
test-long:
	FORESEE_SEEDS=10000 $(CARGO) test --release -p foresee --test interleavings
	FORESEE_KILLS=100 $(CARGO) test --release -p foresee --test tier killed
	FORESEE_SEEDS=200 $(CARGO) test --release -p foresee-object --test objects faults
	$(CARGO) test --release -p foresee-object --test objects minute -- --ignored

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
	if command -v cargo-deny; then $(CARGO) deny check bans licenses sources; else echo "skipped: cargo-deny is not installed"; fi

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

# Programs that run again with other words, or by another seed, with what is remembered of their earlier runs; as bench-unhinted, and git.
bench-varied: build
	python3 bench/varied/run.py

# One file striped over several slow disks; as bench.
bench-stripe: build
	python3 bench/stripe.py

# Programs that read in ways of their own: mappings; as bench, and numpy.
bench-programs: build
	python3 bench/programs/measure.py

# Programs that say nothing and read the files of a directory; as bench.
bench-listing: build
	python3 bench/listing.py

# Needs what bench needs; three minutes.
bench-walks: build
	python3 bench/walks.py

# Policies on traces, recordings and kinds of workloads, by the simulator: told nothing, six minutes, and told, some hours
# (python3 bench/policies/run.py --quick: minutes). What the default costs; and, of the raw results there are, programs beside plain.
bench-policies: build
	python3 bench/policies/untold.py
	python3 bench/policies/again.py
	python3 bench/policies/chance.py
	python3 bench/policies/kinds.py
	CARGO=$(CARGO) python3 bench/policies/cost.py
	python3 bench/policies/alive.py
	python3 bench/policies/run.py

# This machine's own disk, where there is little to gain, and nothing may be lost; two minutes.
bench-local: build
	./bench/local

# Short commands whose files are in memory: what foresee costs them; two minutes.
bench-short: build
	python3 bench/short.py

# A local file larger than memory, told, beside the best that fio gets of the device: three minutes, a GiB.
bench-direct:
	mkdir -p target
	cd bench/direct && $(CARGO) build --release
	python3 bench/direct/run.py

# Hits of the library beside pread and other caches, which are compiled for it: ten minutes.
bench-hits:
	mkdir -p target
	cd bench/hits && $(CARGO) run --release -- $(CURDIR)/target

# The library's disk beside foyer's hybrid cache, which is compiled for it: three rounds, twenty minutes.
bench-tier:
	mkdir -p target
	cd bench/tier && $(CARGO) run --release -- $(CURDIR)/target

# The library over S3 beside object_store, fsspec and mountpoint: versitygw behind a slow link, a Python with s3fs (PYTHON=...).
PYTHON ?= python3
bench-serving:
	$(CARGO) build --release --package foresee-slowlink
	cd bench/serving && $(CARGO) build --release
	python3 bench/serving/run.py --python $(PYTHON)

# The Python package beside fsspec's caches, obspec-utils and zarr's, as bench-serving; a quarter of an hour.
bench-python: wheel
	$(CARGO) build --release --package foresee-slowlink
	target/python/bin/pip install --quiet --force-reinstall --no-deps target/wheels/foresee-*.whl
	target/python/bin/pip install --quiet obspec-utils obstore
	target/python/bin/python bench/python/run.py

# Programs on rclone, s3fs, sshfs, bindfs, overlayfs and NFS; bench/mounts/README.md says what it needs. Three hours.
bench-mounts: build
	python3 bench/mounts/run.py

# foresee mount beside rclone, s3fs and mountpoint on one bucket; bench/mount/README.md says what they need. A quarter of an hour a round.
bench-mount: build mount
	python3 bench/mount/run.py

install: build
	install -D target/release/foresee $(DESTDIR)$(PREFIX)/bin/foresee
	install -D target/release/slowdisk $(DESTDIR)$(PREFIX)/bin/slowdisk
	install -D target/release/libforesee_preload.so $(DESTDIR)$(PREFIX)/lib/foresee/libforesee_preload.so
	install -D -m 644 bindings/c/foresee.h $(DESTDIR)$(PREFIX)/include/foresee.h
	install -D target/release/libforesee.so $(DESTDIR)$(PREFIX)/lib/libforesee.so
	install -D -m 644 target/release/libforesee.a $(DESTDIR)$(PREFIX)/lib/libforesee.a
	for file in bindings/python/foresee/*.py; do install -D -m 644 $$file $(DESTDIR)$(PYTHON_DIR)/foresee/$${file##*/} || exit; done

# Beside the command, which looks for it there; and where mount(8) looks for who mounts file systems of these types: nowhere under PREFIX.
SBIN ?= /sbin
install-mount: mount
	install -D target/release/foresee-mount $(DESTDIR)$(PREFIX)/bin/foresee-mount
	mkdir -p $(DESTDIR)$(SBIN)
	for name in mount.foresee mount.fuse.foresee; do ln -sf $(PREFIX)/bin/foresee-mount $(DESTDIR)$(SBIN)/$$name || exit; done

# Man pages and completions of the shells.
pages: mount
	$(CARGO) build --release --package foresee-pages

install-pages: pages
	target/release/foresee-pages $(DESTDIR)$(PREFIX)/share

# What strangers install, in target/dist: a package of Debian's, a tarball with an installer, crates, sums. dist/README.md says more.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
DIST = $(CURDIR)/target/dist
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
dist:
	rm -rf $(DIST)
	mkdir -p $(DIST)
	dist/crates $(DIST)/crates
	dist/stage $(DIST)/stage
	dist/tarball $(DIST)/stage $(DIST)/foresee-$(VERSION)-$$(uname -m)-linux.tar.gz
	if command -v dpkg-deb; then dist/deb $(DIST)/stage $(DIST)/foresee_$(VERSION)_$$(dpkg --print-architecture).deb; \
		else echo "no package of Debian's: there is no dpkg-deb"; fi
	$(MAKE) wheel sdist WHEELS=$(DIST)
	dist/changelog > $(DIST)/CHANGELOG.md
	rm -r $(DIST)/stage
	cd $(DIST) && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum > SHA256SUMS

# Each of them in a clean root, and the README's example there; root, debootstrap. The first time makes the root, some minutes.
test-dist: dist
	dist/test $(DIST)

clean:
	$(CARGO) clean
	rm -rf $(WHEEL_DATA) $(NOTICES)
