"""The rule for when to fetch what is told, as a model: what `informed` told all is measured by, beside the policies of the field.

A device needs L from a request to its first byte, all requests together bring B blocks a millisecond, and the reader thinks so long before
each request; here all three are known exactly. The rule: fetch the next missing block, and give up the page whose next use is furthest, and
further than that of the block, if

- the pipe is not full: fewer than L x B + 1 blocks are on their way (more only wait in the device's queue, and each was paid for with a
  page that was still of use);
- it is not too early: what the reader still thinks until the block's use is at most 1.1 x (L + i / B) for the i-th missing block.

Without these two it is *aggressive* (Cao, Felten, Karlin, Li, SIGMETRICS 1995). What is read now is fetched at once, whether the pipe is
full or not.

One reader; each block is a request of its own, on its way over one link in the order asked for. Of a device with so many servers as many
requests are on their way as it has, and one more; neighbours asked for at one moment are one request. All blocks of a request must have
come before the reader thinks on; each may be given up as soon as it is handed over, as in the simulator. What the model leaves out: blocks
of a request come one by one, not with its last; what is measured, and so known late or not exactly; the policy's own limits (128 to 512
requests under way, pages kept for what nobody told); writes; several readers; and disks, of which no L and B are true.

    python3 bench/policies/rule.py

prints times and fetches beside those of the first model of the rule, and fails where they differ by more than a hundredth.
"""

import argparse
import gzip
import itertools
import math
import subprocess
import sys
import tempfile
from collections import deque
from heapq import heappop, heappush
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import ROOT, folder

BLOCK_BYTES = 4096
NEVER = math.inf
# Files lie so many blocks apart: none is another's neighbour.
FILE_BLOCKS = 1 << 40
EARLY = 1.1
# Two moments that are as near, in milliseconds, are one.
MOMENT = 1e-9
# Trace, L in ms, B in blocks a ms (0: no limit), thought in ms; by each way ms and fetches (None: not told) at 5, 20 and 50 % of memory.
FIRST_MODEL = [
    ("multi1", 5, 25, 0, [(549, 12077), (343, 8449), (331, 8162)], [(546, 11972), (283, 6956), (158, 3828)]),
    ("multi1", 5, 2, 0, [(6044, None), (4230, None), (4086, None)], [(4059, 8108), (3253, 6496), (1689, 3368)]),
    ("multi1", 5, 0, 0.05, [(798, 12077), (798, 8449), (798, 8162)], [(798, 9510), (798, 6537), (798, 3409)]),
    ("cs", 5, 25, 0, [(484, None), (271, None), (271, None)], [(484, None), (246, None), (179, None)]),
    ("cs", 20, 25, 0.02, [(1926, None), (489, None), (286, None)], [(1926, None), (489, None), (254, None)]),
]
WITHIN = 0.01


class Device:
    """What a device does: L in milliseconds, B in blocks a millisecond (0: no limit), requests served at once (0: any number)."""

    def __init__(self, latency, per_ms, servers=0):
        self.latency, self.per_ms, self.servers = latency, per_ms, servers
        self.block_ms = 1 / per_ms if per_ms else 0
        # Blocks on their way when it is busy all the time.
        self.pipe = latency * per_ms + 1 if per_ms else NEVER


class Underway:
    """What is on its way: blocks in the order in which they come, and when each request is over."""

    def __init__(self, device):
        self.device, self.blocks, self.requests = device, deque(), deque()
        # The last block asked for, when, when its request's first byte can come, and when it is here.
        self.last, self.asked, self.ready, self.done = None, -1, 0, 0

    def joins(self, now, block):
        """Whether the block is of one request with the last one."""
        return self.asked == now and block == self.last + 1 and bool(self.requests)

    def is_full(self, now, block):
        """Whether another block would only wait in the device's queue."""
        servers = self.device.servers
        no_server = servers and len(self.requests) > servers and not self.joins(now, block)
        return len(self.blocks) >= self.device.pipe or no_server

    def ask(self, now, block, number):
        servers = self.device.servers
        if self.joins(now, block):
            self.requests.pop()
        else:
            begins = max(now, self.requests[-servers]) if 0 < servers <= len(self.requests) else now
            self.ready = begins + self.device.latency
        self.done = max(self.ready, self.done) + self.device.block_ms
        self.last, self.asked = block, now
        self.blocks.append((self.done, number))
        self.requests.append(self.done)

    def next(self):
        """When the next block comes."""
        return self.blocks[0][0] if self.blocks else NEVER

    def arrived(self, now):
        """Its number, if one is here by now."""
        while self.requests and self.requests[0] <= now:
            self.requests.popleft()
        return self.blocks.popleft()[1] if self.next() <= now else None


class Reader:
    """A reader of requests (thought in ms, first block, number of blocks) in so many pages of memory."""

    def __init__(self, requests, pages, device, aggressive=False):
        self.pages, self.device, self.aggressive = pages, device, aggressive
        blocks = [block for _, first, count in requests for block in range(first, first + count)]
        self.names = list(dict.fromkeys(blocks))
        numbers = {block: number for number, block in enumerate(self.names)}
        # Blocks by number, in the order of their uses; after each use the next one of the same block.
        self.uses = [numbers[block] for block in blocks]
        self.after, self.next_use = [NEVER] * len(blocks), [NEVER] * len(self.names)
        for at in range(len(blocks) - 1, -1, -1):
            self.after[at] = self.next_use[self.uses[at]]
            self.next_use[self.uses[at]] = at
        # At each use, what was thought before it in all; of each request, its thought and its uses.
        self.thought_at, self.requests = [], []
        total = 0
        for thought, _, count in requests:
            total += thought
            self.requests.append((thought, len(self.thought_at), len(self.thought_at) + count))
            self.thought_at += itertools.repeat(total, count)
        self.here, self.fetching = bytearray(len(self.names)), bytearray(len(self.names))
        self.held = 0
        # Pages by their next use, the furthest first; those that are given up or used since are still in it.
        self.furthest = []
        self.underway = Underway(device)
        self.now = self.thought = 0
        self.fetches = 0
        # No use before this one is of a block that is missing; uses up to `read` are being read.
        self.at = self.read = 0

    def run(self):
        """Milliseconds, and blocks fetched."""
        for thought, begin, end in self.requests:
            self.think(self.now + thought)
            self.read = end
            awaited = {number for number in self.uses[begin:end] if not self.here[number]}
            for use in range(begin, end):
                if self.here[self.uses[use]]:
                    self.hand_over(self.uses[use])
            self.fetch()
            while awaited:
                self.now = max(self.now, self.underway.next())
                while (number := self.arrive()) is not None:
                    if number in awaited:
                        awaited.remove(number)
                        self.hand_over(number)
                self.fetch()
        return self.now, self.fetches

    def think(self, until):
        """Thinks, and fetches what it may meanwhile."""
        again = self.fetch()
        while (event := min(self.underway.next(), again)) < until:
            self.pass_to(max(self.now, event))
            while self.arrive() is not None:
                pass
            again = self.fetch()
        self.pass_to(until)
        while self.arrive() is not None:
            pass

    def pass_to(self, time):
        self.thought += time - self.now
        self.now = time

    def arrive(self):
        """The number of a block that is here now, once; None if there is none."""
        number = self.underway.arrived(self.now)
        if number is not None:
            self.fetching[number], self.here[number] = False, True
            heappush(self.furthest, (-self.next_use[number], number))
        return number

    def hand_over(self, number):
        """A block that is here is used."""
        self.next_use[number] = self.after[self.next_use[number]]
        heappush(self.furthest, (-self.next_use[number], number))

    def fetch(self):
        """Fetches all that may be fetched now. The time at which more may be, if nothing happens before."""
        while True:
            while self.at < len(self.uses) and self.is_seen_to(self.at):
                self.at += 1
            if self.at == len(self.uses):
                return NEVER
            number = self.uses[self.at]
            block = self.names[number]
            if self.at >= self.read and not self.aggressive:
                if self.underway.is_full(self.now, block):
                    return NEVER
                early = EARLY * (self.device.latency + (len(self.underway.blocks) + 1) * self.device.block_ms)
                wait = self.thought_at[self.at] - self.thought - early
                if wait > MOMENT:
                    return self.now + wait
            if self.held == self.pages and not self.give_up():
                return NEVER
            self.held += 1
            self.fetches += 1
            self.fetching[number] = True
            self.underway.ask(self.now, block, number)

    def is_seen_to(self, use):
        """Whether this use's block is here, on its way, or used already, by the request that is being read."""
        number = self.uses[use]
        return self.here[number] or self.fetching[number] or self.next_use[number] > use

    def give_up(self):
        """Gives up the page whose next use is furthest, if that is further than the next missing block's."""
        while self.furthest:
            use, number = self.furthest[0]
            if self.here[number] and -use == self.next_use[number]:
                if -use <= self.at:
                    return False
                heappop(self.furthest)
                self.here[number] = False
                self.held -= 1
                return True
            heappop(self.furthest)
        return False


def device_of(words):
    """The device of these words of --device, if it is one link with a latency; else None."""
    if len(words) > 1 or "=" not in words[0]:
        return None
    can = {key: int(value) for key, value in (setting.split("=") for setting in words[0].split(","))}
    return Device(can["latency_us"] / 1000, can["mb_per_s"] * 1e3 / BLOCK_BYTES, can["servers"])


def rows_of(foresee, path):
    """What the trace's only reader reads: when, file, offset, bytes, how long it took; None if there are more readers."""
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as scratch:
        # As it is converted, it has all columns.
        recorded = Path(scratch) / "recorded.parquet"
        subprocess.run([foresee, "trace", "convert", path, recorded], check=True, stdout=subprocess.DEVNULL)
        table = parquet.read_table(recorded).to_pydict()
    reads = [at for at, (length, write) in enumerate(zip(table["length"], table["write"])) if length > 0 and not write]
    if len({(table["process"][at], table["thread"][at]) for at in reads}) != 1:
        return None
    return [tuple(table[name][at] for name in ("time_ns", "file", "offset", "length", "took_ns")) for at in reads]


def requests_of(rows, think):
    """What it reads as a Reader has it, thinking as --think has it."""
    files, requests = {}, []
    ended = rows[0][0]
    for time, file, offset, length, took in rows:
        first, last = offset // BLOCK_BYTES, (offset + length - 1) // BLOCK_BYTES
        thought = {"none": 0, "50us": 0.05, "traced": max(time - ended, 0) / 1e6}[think]
        ended = time + took
        requests.append((thought, files.setdefault(file, len(files)) * FILE_BLOCKS + first, last - first + 1))
    return requests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=folder, default=ROOT.parent / "shared/traces", help="a folder with cs and multi1")
    arguments = parser.parse_args()
    furthest = 0
    print(f"{'':<34} {'aggressive: ms / fetches (first model)':<58} the rule")
    for trace, latency, per_ms, thought, *first in FIRST_MODEL:
        with gzip.open(arguments.traces / f"{trace}.trc.gz", "rt") as lines:
            requests = [(thought, int(line), 1) for line in lines if line.strip().isdigit()]
        different = len({block for _, block, _ in requests})
        for at, percent in enumerate((5, 20, 50)):
            cells = []
            for aggressive, told in zip((True, False), first):
                found = Reader(requests, different * percent // 100, Device(latency, per_ms), aggressive).run()
                cells.append(f"{found[0]:>8,.1f} ({told[at][0]:,}) / {found[1]:,} ({told[at][1] or '-'})")
                off = [abs(ours / theirs - 1) for ours, theirs in zip(found, told[at]) if theirs]
                furthest = max(furthest, *off)
            print(f"{trace:<6} L {latency:>2} B {per_ms:>2} tau {thought:<4} {percent:>3} %".ljust(34), f"{cells[0]:<58} {cells[1]}")
    print(f"At most {furthest:.2%} off.")
    if furthest > WITHIN:
        sys.exit(1)


if __name__ == "__main__":
    main()
