#!/usr/bin/env python3
"""Which block a disk behind a memory gives up: by intervals, as the library does, and by a clock.

`slots.py [TRACE...]`: block numbers, one a line; lines that are no numbers are passed over, `-` is
the standard input, and what ends in .gz is unpacked. Without any: made ones. The memory is LRU, and
the rules about what is written are the library's (crates/cache/ARCHITECTURE.md), but that what was
given up is remembered to the block, the latest as many as memory and disk hold. For each size, the
blocks asked of the store and those written, by intervals in parts of those by the clock, and at the
end the geometric means.
"""

import bisect
import gzip
import itertools
import math
import random
import sys
from collections import OrderedDict

# Of the blocks of a trace: what memory holds, and what the disk does.
SIZES = ((0.05, 0.20), (0.10, 0.40), (0.25, 0.50), (0.25, 0.75))
STORE_BLOCKS, EPOCH_PART, LOOKED_AT, TIMES = 8, 8, 8, 2


class Clock:
    """Gives up what was not read since its hand came by."""

    def __init__(self, slots):
        self.read, self.hand = [False] * slots, 0

    def waits_from(self, slot, _now, is_read):
        self.read[slot] |= is_read

    def put(self, slot, _now):
        self.read[slot] = False

    def next(self, _longer_than, _now, _is_free):
        while True:
            slot, self.hand = self.hand, (self.hand + 1) % len(self.read)
            if not self.read[slot]:
                return slot
            self.read[slot] = False


class Intervals:
    """Gives up what has waited longer than is said, of a few."""

    def __init__(self, slots):
        self.since, self.hand = [0] * slots, 0

    def waits_from(self, slot, now, _is_read):
        before, self.since[slot] = self.since[slot], now
        return now - before

    def put(self, slot, now):
        self.since[slot] = now

    def next(self, longer_than, now, is_free):
        for _ in range(min(LOOKED_AT, len(self.since))):
            slot, self.hand = self.hand, (self.hand + 1) % len(self.since)
            if is_free or now - self.since[slot] > longer_than:
                return slot
        return None


def simulate(trace, memory_blocks, slots, index):
    """Blocks that the store is asked for, and blocks that are written."""
    memory, where, held = OrderedDict(), {}, [None] * slots
    ghosts, given_up, now = OrderedDict(), 0, 0
    free, earned, mean = slots, 0, float(slots)
    store = written = 0

    def give_up(block):
        ghosts[block] = now
        ghosts.move_to_end(block)
        if len(ghosts) > memory_blocks + slots:
            ghosts.popitem(last=False)

    for block in trace:
        epoch = given_up * EPOCH_PART // memory_blocks
        if block in memory:
            memory[block][1] |= memory[block][0] != epoch
            memory.move_to_end(block)
            continue
        now += 1
        if block in where:
            waited = index.waits_from(where[block], now, True)
            waited = 0 if waited is None else waited
            earned += STORE_BLOCKS
        else:
            store, earned = store + 1, earned + 1
            since = ghosts.pop(block, None)
            waited = since if since is None else now - since
        earned = min(earned, slots * STORE_BLOCKS)
        if waited is not None:
            mean += (waited - mean) / math.ceil(slots / 2)
        if len(memory) >= memory_blocks:
            old, (_, again, old_waited) = memory.popitem(last=False)
            given_up += 1
            if old in where:
                index.waits_from(where[old], now, False)
            else:
                is_wanted = free or again or old_waited is not None
                slot = None
                if is_wanted and (free or earned >= STORE_BLOCKS):
                    longer_than = TIMES * (mean / 2 if old_waited is None else old_waited)
                    slot = index.next(longer_than, now, free > 0)
                if slot is None:
                    give_up(old)
                else:
                    free, earned = (free - 1, earned) if free else (free, earned - STORE_BLOCKS)
                    if held[slot] is not None:
                        del where[held[slot]]
                        give_up(held[slot])
                    held[slot], where[old] = old, slot
                    index.put(slot, now)
                    written += 1
        memory[block] = [epoch, False, waited]
    return store, written


def zipf(blocks, count, seed):
    """The n-th as likely as 1/n, the likely ones anywhere."""
    draw, places = random.Random(seed), list(range(blocks))
    draw.shuffle(places)
    sums = list(itertools.accumulate(1 / (at + 1) for at in range(blocks)))
    return [places[bisect.bisect(sums, draw.random() * sums[-1])] for _ in range(count)]


def made():
    """Traces by name."""
    here, there = zipf(2048, 20_000, 1), [block + 10_000 for block in zipf(2048, 20_000, 2)]
    draw = random.Random(1)
    return {
        "uniform": [draw.randrange(2048) for _ in range(20_000)],
        "cycle": [at % 2048 for at in range(8 * 2048)],
        "cycle, then elsewhere": [at % 2048 + (at // 8192 > 0) * 10_000 for at in range(10 * 2048)],
        "zipf, elsewhere, back": here + there + here,
        "likely ones replaced": [
            (block + 100 * part) % 8192 for part in range(40) for block in zipf(2048, 2000, part)
        ],
        "likely ones move": [block + at // 40 for at, block in enumerate(zipf(2048, 80_000, 1))],
    }


def read(path):
    """A trace from a file."""
    if path == "-":
        lines = sys.stdin.read().split()
    else:
        with gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf8") as file:
            lines = file.read().split()
    trace = [int(line) for line in lines if line.isdecimal()]
    if not trace:
        sys.exit(f"slots.py: {path} has no block numbers: give a file with one a line")
    return trace


def main():
    traces = {path: read(path) for path in sys.argv[1:]} or made()
    logs = []
    print(f"{'trace':24} {'memory':>7} {'disk':>7} {'store':>7} {'parts':>6} {'written':>8} {'parts':>6}")
    for name, trace in traces.items():
        blocks = len(set(trace))
        for memory_part, disk_part in SIZES:
            memory, slots = max(8, int(blocks * memory_part)), max(8, int(blocks * disk_part))
            clock = simulate(trace, memory, slots, Clock(slots))
            ours = simulate(trace, memory, slots, Intervals(slots))
            parts = [one / max(1, other) for one, other in zip(ours, clock)]
            logs.append([math.log(max(part, 1e-9)) for part in parts])
            row = f"{memory:7} {slots:7} {ours[0]:7} {parts[0]:6.3f} {ours[1]:8} {parts[1]:6.2f}"
            print(f"{name[-24:]:24} {row}", flush=True)
    means = [math.exp(sum(column) / len(column)) for column in zip(*logs)]
    print(f"geometric means: store {means[0]:.3f}, written {means[1]:.2f}")


if __name__ == "__main__":
    main()
