"""What plans and hints take: pairs of any kind."""

import gc
import itertools
import os
import queue
import sys
import time
import weakref

import pytest

import foresee
from conftest import Store, content

A = content(300_000)


class Index:
    """An integer as others' libraries have them."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


def of_arrays(numpy):
    return [numpy.array([[0, 5], [100_000, 100_010]], kind) for kind in ("i8", "u8", "i4", "O")]


def given():
    pairs = [(0, 5), (100_000, 100_010)]
    ways = [pairs, [list(it) for it in pairs], iter(pairs), [tuple(map(Index, it)) for it in pairs], [iter(it) for it in pairs],
            dict(pairs).items()]
    try:
        import numpy
    except ImportError:
        return ways
    return ways + of_arrays(numpy) + [list(map(tuple, it)) for it in of_arrays(numpy)]


@pytest.mark.parametrize("pairs", given())
def test_pairs_may_be_of_any_kind(pairs):
    cache = foresee.Cache(16 << 20, stores={"test": Store(a=A)})
    file = cache.open("test://a")
    with cache.plan() as plan:
        plan.ranges(file, pairs)
        while cache.statistics()["planned"]["fetched"] < 2:
            pass
        assert file.read_at(0, 5) + file.read_at(100_000, 10) == A[:5] + A[100_000:100_010]
    assert cache.statistics()["misses"] == 0


@pytest.mark.parametrize("pairs, error, said", [
    ([(0, 5), (1, 2, 3)], TypeError, r"ranges\[1\]: .*two integers.*, not \(1, 2, 3\)"),
    ([(0, 5), (1,)], TypeError, r"ranges\[1\]: .*, not \(1,\)"), ([7], TypeError, r"ranges\[0\]: .*, not 7"),
    (["ab"], TypeError, r"ranges\[0\]: .*, not 'ab'"), ([(0, 0.5)], TypeError, r"ranges\[0\]: .*, not \(0, 0.5\)"),
    ([[0, 5], [-1, 5]], ValueError, r"ranges\[1\]: .*, not \[-1, 5\]"),
    ([(0, 1), [5, 3]], ValueError, r"ranges\[1\]: \(5, 3\) ends before"),
    (7, TypeError, "ranges: an iterable of pairs is needed, not 7"),
])
def test_what_is_no_pair_is_named(cache, pairs, error, said):
    with pytest.raises(error, match=said):
        cache.plan().ranges(cache.open("test://a"), pairs)


def test_what_gives_pairs_may_raise_and_may_use_the_plan(cache):
    file, plan = cache.open("test://a"), cache.plan()

    def pairs():
        plan.range(file, 0, 5)
        yield 5, 6
        raise LookupError("mine")
    with pytest.raises(LookupError, match="mine"):
        plan.ranges(file, pairs())


def test_what_is_generated_may_be_of_any_kind_and_is_named(cache, monkeypatch):
    file, heard = cache.open("test://a"), queue.Queue()
    monkeypatch.setattr(sys, "unraisablehook", lambda it: heard.put(str(it.exc_value)))
    for wrong, said in [([], "a file, where"), (7, "a file, where"), ((file, 0), "two integers"), ((file, -1, 5), "not (-1, 5)"),
                        ((file, 5, 3), "(5, 3) ends before it begins")]:
        with cache.plan() as plan:
            plan.generate([[file, Index(0), Index(5)], wrong])
            told = heard.get(timeout=60)
            assert told.startswith("ranges[1]: ") and said in told


def test_a_hint_that_is_no_pair_is_named(monkeypatch):
    # Somebody listens, who is never told.
    monkeypatch.setattr(foresee.hints, "_library", object())
    for wrong in [(1, 2, 3), (1,), 7, (0, 0.5), "ab"]:
        with pytest.raises(ValueError, match=r"segments\[1\]: an offset and a length are needed, two integers"):
            foresee.hint_segments("f", [[0, 5], wrong])
    with pytest.raises(OverflowError, match=r"segments\[1\]: .* from 0 on, not \(0, -1\)"):
        foresee.hint_segments("f", [(0, 5), (0, -1)])


class Dataset:
    """As users write one: its plan's generator is its method."""

    def __init__(self, cache):
        self.file, self.plan = cache.open("test://a"), cache.plan()
        self.plan.generate(self.pieces())

    def pieces(self):
        for at in itertools.cycle(range(0, 300_000, 1000)):
            yield self.file, at, at + 1000


def test_a_generator_that_refers_to_its_plan_is_collected():
    cache = foresee.Cache(16 << 20, stores={"test": Store(a=A)})
    dataset = Dataset(cache)
    while cache.statistics()["planned"]["fetched"] == 0:
        pass
    gc.collect()
    # It is used, so it is there.
    assert dataset.file.read_at(5000, 5) == A[5000:5005]
    gone = [weakref.ref(it) for it in (cache, dataset, dataset.file, dataset.plan)]
    del cache, dataset
    deadline = time.monotonic() + 60
    # A thread may be about to ask it.
    while any(it() for it in gone) and time.monotonic() < deadline:
        gc.collect()
    assert [it() for it in gone] == [None] * 4


def test_a_closed_plan_takes_nothing(cache):
    file, plan = cache.open("test://a"), cache.plan()
    plan.close()
    plan.close()
    for disclose in (lambda: plan.file(file), lambda: plan.range(file, 0, 5), lambda: plan.ranges(file, [(0, 5)]),
                     lambda: plan.url("test://a"), lambda: plan.repeat(1, 2), lambda: plan.generate([(file, 0, 5)]), plan.__enter__):
        with pytest.raises(ValueError, match="the plan is closed: make another"):
            disclose()
    # In a child, too, where nothing was closed.
    child = os.fork()
    if child == 0:
        try:
            plan.url("test://a")
        except ValueError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
