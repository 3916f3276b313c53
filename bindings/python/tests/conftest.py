"""What the tests share: stores whose bytes are known by their places, one of them slow, and programs of their own process."""

import subprocess
import sys
import textwrap
import threading

import pytest

import foresee


def content(size, seed=0):
    """Bytes that tell their places."""
    return bytes((at * 7 + (at >> 8) * 13 + seed) & 255 for at in range(size))


class Store:
    """A store in memory, as users write one. Reads wait while it is held up."""

    def __init__(self, **objects):
        self.objects, self.versions, self.reads = objects, {}, []
        self.goes_on = threading.Event()
        self.goes_on.set()

    def open(self, name):
        if name not in self.objects:
            raise FileNotFoundError(name)
        return Open(self, name)

    def list(self, prefix):
        return [(name, len(it)) for name, it in sorted(self.objects.items()) if name.startswith(prefix)]


class Open:
    def __init__(self, store, name):
        self.store, self.name = store, name
        self.size, self.version = len(store.objects[name]), store.versions.get(name, 0)

    def read(self, offset, size):
        self.store.reads.append((self.name, offset, size))
        assert self.store.goes_on.wait(60), "nobody let it go on"
        return memoryview(self.store.objects[self.name])[offset:offset + size]


@pytest.fixture
def store():
    return Store(a=content(300_000), b=content(100_000, 1))


@pytest.fixture
def cache(store):
    return foresee.Cache(16 << 20, stores={"test": store})


@pytest.fixture
def program():
    """Runs a program; what it printed. It has 60 seconds, and must end by itself with this status."""
    def run(text, status=0, **options):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=60, **options)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr
    return run
