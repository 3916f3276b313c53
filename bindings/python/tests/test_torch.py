"""Loaders in the order that their sampler disclosed."""

import gc
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

import foresee
from conftest import content

torch = pytest.importorskip("torch")
from foresee.torch import BatchSampler, Order, Records  # noqa: E402

A = content(400_000)


@pytest.fixture
def records(tmp_path):
    (tmp_path / "f").write_bytes(A)
    cache = foresee.Cache(600_000, block_bytes=4096)
    return Records([(str(tmp_path / "f"), at * 4000, at * 4000 + 4000) for at in range(100)], decode=lambda it: it[:2], cache=cache)


@pytest.fixture
def shared(tmp_path):
    """By the files' paths, and no cache of its own."""
    (tmp_path / "f").write_bytes(A)
    return Records([(str(tmp_path / "f"), at * 4000, at * 4000 + 4000) for at in range(100)], shared=True)


def first(it):
    return it


@pytest.mark.parametrize("kind", ["records", "shared"])
@pytest.mark.parametrize("method, workers", [(None, 0), ("fork", 2), ("spawn", 2), ("forkserver", 2)])
def test_each_epoch_reads_each_record_once(request, kind, method, workers):
    records = request.getfixturevalue(kind)
    records.decode = head
    sampler = BatchSampler(records, 7, seed=3, epochs=3)
    loader = torch.utils.data.DataLoader(records, batch_sampler=sampler, num_workers=workers, multiprocessing_context=method,
                                         persistent_workers=workers > 0, collate_fn=first)
    orders = [[it for batch in loader for it in batch] for _ in range(3)]
    assert [sorted(it) for it in orders] == [sorted(A[at * 4000:at * 4000 + 2] for at in range(100))] * 3
    assert orders[0] != orders[1] and len(loader) == 15
    assert orders[2] == [A[at * 4000:at * 4000 + 2] for batch in sampler.order.batches(2) for at in batch]


def head(record):
    return record[:2]


class Blocks(Records):
    """How many blocks of memory the process has that reads a record."""

    def __getitem__(self, index):
        super().__getitem__(index)
        return os.getpid(), self.cache.statistics()["blocks"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_take_no_more_memory_than_was_said(records, method):
    ours = Blocks(records.ranges, cache=records.cache)
    whole = ours[0][1]
    loader = torch.utils.data.DataLoader(ours, batch_sampler=BatchSampler(ours, 10), num_workers=2, multiprocessing_context=method,
                                         collate_fn=first)
    # Once more: other workers, of the same settings.
    for _ in range(2):
        taken = dict(it for batch in loader for it in batch)
        assert len(taken) == 2 and os.getpid() not in taken and 0.9 * whole < sum(taken.values()) <= whole
    assert ours[0] == (os.getpid(), whole)


def test_the_next_epoch_is_brought_in_this_one(tmp_path):
    (tmp_path / "f").write_bytes(A)
    # Half of the records have room, and what is brought when nobody reads is what is read next.
    cache = foresee.Cache(270_000, block_bytes=4096)
    records = Records([(str(tmp_path / "f"), at * 4000, at * 4000 + 4000) for at in range(100)], cache=cache)
    sampler = BatchSampler(records, 10, epochs=8)
    loader = torch.utils.data.DataLoader(records, batch_sampler=sampler, collate_fn=first)
    for _ in range(7):
        assert sum(1 for _ in loader) == 10
    settled(records.cache)
    missed = records.cache.statistics()["misses"]
    assert len(next(iter(loader))) == 10 and records.cache.statistics()["misses"] - missed < 4


def settled(cache):
    """Until nothing more comes."""
    before, now = None, cache.statistics()["bytes_read"]
    while now != before:
        time.sleep(0.3)
        before, now = now, cache.statistics()["bytes_read"]


def test_an_epoch_that_was_left_is_not_gone_on_with(records):
    sampler = BatchSampler(records, 10)
    loader = torch.utils.data.DataLoader(records, batch_sampler=sampler)
    for _ in loader:
        break
    assert sum(len(batch[0]) if isinstance(batch, list) else 1 for batch in loader) and sampler.epoch == 2


def test_workers_share_an_order():
    order = Order(103, 10, seed=1, epochs=2)
    shares = [list(order.share(0, worker, 3)) for worker in range(3)]
    assert sorted(sum(shares, [])) == sorted(list(range(103)) * 2)
    assert Order(103, 10, drop_last=True).count == 10 and Order(3, 2, shuffle=False).batches(5) == [[0, 1], [2]]
    with pytest.raises(ValueError):
        Order(3, 0)


def test_what_is_shared_has_paths_and_no_cache(shared, tmp_path):
    assert shared.cache is None and shared[3] == A[12000:16000]
    with pytest.raises(ValueError, match="s3://bucket/key is no path"):
        Records([("s3://bucket/key", 0, 1)], shared=True)
    with pytest.raises(ValueError, match="one or the other"):
        Records([], shared=True, cache=foresee.Cache(1 << 20))
    gone = Records([(str(tmp_path / "gone"), 0, 1)], shared=True)
    gone.follow(BatchSampler(gone, 1).order, 0)
    with pytest.raises(FileNotFoundError):
        gone[0]


@pytest.mark.parametrize("wrong", [("f", 5, 3), ("f", -1, 3), ("f", 0, 1.5), ("f", 0), 7])
def test_a_record_that_is_none_is_named(tmp_path, wrong):
    (tmp_path / "f").write_bytes(A)
    assert Records([[str(tmp_path / "f"), 3, 5]])[0] == A[3:5]
    with pytest.raises(ValueError, match=rf"ranges\[1\]: a URL, where .* are needed, not {re.escape(repr(wrong))}"):
        Records([("f", 0, 1), wrong])[1]
    with pytest.raises(ValueError, match=r"ranges\[1\]: "):
        Records([("f", 0, 1), wrong], shared=True)


@pytest.mark.parametrize("shared", [False, True])
def test_records_are_of_the_directory_in_which_they_were_named(tmp_path, monkeypatch, shared):
    (tmp_path / "f").write_bytes(A)
    monkeypatch.chdir(tmp_path)
    records = Records([("f", 0, 5), ("f", 5, 9)], shared=shared)
    monkeypatch.chdir("/")
    records.follow(BatchSampler(records, 1).order, 0)
    again = pickle.loads(pickle.dumps(records))
    assert records[0] == again[0] == A[:5] and again[1] == A[5:9]


def test_records_that_nobody_has_are_gone_at_once(records):
    ours = Records(records.ranges, cache=foresee.Cache(600_000, block_bytes=4096))
    ours.follow(BatchSampler(ours, 10).order, 0)
    assert ours[3] == A[12000:16000]
    settled(ours.cache)
    gone = [weakref.ref(ours), weakref.ref(ours.cache)]
    gc.disable()
    try:
        del ours
        assert gone[0]() is None
        # A thread may be just asking what is next.
        deadline = time.monotonic() + 60
        while gone[1]() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert gone[1]() is None
    finally:
        gc.enable()


# Two workers on a mount, and what it says of itself in the end.
ON_A_MOUNT = """
import json, os, subprocess, sys, torch.utils.data
from foresee.torch import BatchSampler, Records

def first(it):
    return it

records = Records([("at/f", at * 4000, at * 4000 + 4000) for at in range(100)], shared=True)
loader = torch.utils.data.DataLoader(records, batch_sampler=BatchSampler(records, 5, seed=2, epochs=3), num_workers=2,
                                     persistent_workers=True, multiprocessing_context="fork", collate_fn=first)
read = [b"".join(sorted(it for batch in loader for it in batch)) for _ in range(3)]
whole = open("from/f", "rb").read()
assert read == [b"".join(sorted(whole[at * 4000:at * 4000 + 4000] for at in range(100)))] * 3
runs = json.loads(subprocess.run([sys.argv[1], "top", "--once", "--json"], check=True, capture_output=True).stdout)
# Others of this machine may run as well.
print(json.dumps([it for it in runs if it["process"] == os.getppid()]))
"""


def test_workers_share_the_memory_of_a_mount_and_tell_it(tmp_path):
    command = os.environ.get("FORESEE_COMMAND", "")
    if not command or not (Path(command).parent / "foresee-mount").exists():
        pytest.skip("foresee-mount is not here: make mount")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("gcc"):
        pytest.skip("no /dev/fuse, or no gcc")
    for folder in ("from", "at", "lib"):
        (tmp_path / folder).mkdir()
    (tmp_path / "from/f").write_bytes(A)
    (tmp_path / "program.py").write_text(ON_A_MOUNT)
    library = Path(__file__).parents[2] / "c/foresee.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "lib/libforesee.so", library, "-ldl"], check=True)
    words = ["mount", "--memory", "16MiB", "from", "at", "--", sys.executable, "program.py", command]
    where = {"LD_LIBRARY_PATH": str(tmp_path / "lib"), "PYTHONPATH": str(Path(foresee.__file__).parents[1])}
    done = subprocess.run([command, *words], cwd=tmp_path, env={**os.environ, **where}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    [mount] = json.loads(done.stdout)
    told = mount["prefetched"]["told"]
    # 25 blocks, most of them before they were read, and none for each worker again.
    assert 12 < told["timely"] + told["late"] <= 25 >= told["fetched"], mount
