"""What workloads are made of: reads, runs of them, several readers by turns; and the trace that foresee reads."""

import random
import zlib
from itertools import islice
from typing import NamedTuple

BLOCK_BYTES = 4096
# A trace has times, by which readers begin one after the other or at once.
READ_S = 50e-6

# By name, what makes each kind.
KINDS = {}


class Read(NamedTuple):
    """Of so many blocks at once, by one of the readers."""

    file: str
    block: int
    blocks: int = 1
    reader: int = 1


def kind(make):
    """Notes what makes a kind under its own name."""
    KINDS[make.__name__] = make
    return make


def kinds(**each_with):
    """Notes several kinds that one function makes: by name, what it is called with."""
    def note(make):
        KINDS.update({name: lambda by, word=word: make(by, word) for name, word in each_with.items()})
        return make
    return note


def run(file, first, end, blocks=1, reader=1):
    """From one block to before another, backwards where that is lower, so many blocks a read."""
    return (Read(file, block, blocks, reader) for block in range(first, end, blocks if first <= end else -blocks))


def each(file, blocks, reader=1):
    """These blocks, one a read."""
    return (Read(file, block, reader=reader) for block in blocks)


def anywhere(by, blocks):
    """Any block as often as any other."""
    while True:
        yield by.randrange(blocks)


def by_turns(by, streams, weights=None, turn=1):
    """Streams that take turns of so many reads by chance, until all are through."""
    left = dict(enumerate(map(iter, streams)))
    weights = weights or [1] * len(left)
    while left:
        at, = by.choices(list(left), [weights[number] for number in left])
        taken = list(islice(left[at], turn))
        yield from taken
        if len(taken) < turn:
            del left[at]


def workload(name):
    """The reads of a kind, the same each time."""
    return KINDS[name](random.Random(zlib.crc32(name.encode())))


def trace(reads):
    """As strace prints reads (it names readers and files, and no call sites)."""
    return "".join(
        f'{reader} {1 + at * READ_S:.6f} pread64(3</{file}>, "", {blocks * BLOCK_BYTES}, {block * BLOCK_BYTES})'
        f" = {blocks * BLOCK_BYTES}\n"
        for at, (file, block, blocks, reader) in enumerate(reads))
