"""Workloads by chance: references of programs that nobody wrote, from parts of eleven kinds.

A workload has one to three phases, of one to three parts that take turns, each with blocks of its own. `SCALE` is what sizes are
relative to: parts are from a twentieth of it to twenty times as large.
"""

import math
import random
from bisect import bisect
from itertools import accumulate, chain, count, cycle

SCALE = 1000
# Each part has blocks of its own: no part of the first phases reads as many.
APART = 10_000_000


def ranks(by, blocks, skew):
    """The lower the more often (Zipf)."""
    sums = list(accumulate((rank + 1) ** -skew for rank in range(blocks)))
    while True:
        yield min(bisect(sums, by.random() * sums[-1]), blocks - 1)


def popular(by, blocks, skew):
    """Some blocks are read more often than others, wherever they lie."""
    order = list(range(blocks))
    by.shuffle(order)
    for rank in ranks(by, blocks, skew):
        yield order[rank]


def drifting(by, blocks, skew, speed):
    """What is popular changes little by little."""
    for place, block in enumerate(popular(by, blocks, skew)):
        yield (block + int(place * speed)) % (4 * blocks)


def jumping(by, blocks, skew, references):
    """What is popular changes at once."""
    while True:
        first = by.randrange(10) * blocks
        for _, block in zip(range(references), popular(by, blocks, skew)):
            yield first + block


def there_and_back(by, blocks):
    return cycle(chain(range(blocks), reversed(range(blocks))))


def sliding_loop(by, blocks, step):
    """Each pass begins a little further on."""
    for first in count(0, step):
        yield from range(first, first + blocks)


def sliding_window(by, blocks, references):
    """Blocks of a window by chance, which moves on."""
    first = 0
    while True:
        for _ in range(references):
            yield first + by.randrange(blocks)
        first += max(blocks // by.choice([1, 2, 4, 8]), 1)


def recent(by, middle, spread, fresh):
    """What was read some other blocks ago is read again: so many in the middle, by a lognormal law."""
    stack, new = [], count()
    while True:
        depth = int(by.lognormvariate(math.log(max(middle, 1)), spread))
        is_new = depth >= len(stack) or by.random() < fresh
        stack.append(next(new) if is_new else stack.pop(-1 - depth))
        del stack[: len(stack) - 20 * SCALE if len(stack) > 25 * SCALE else 0]
        yield stack[-1]


def twice(by, references):
    """Each block is read once, once more so many references later, and never again."""
    for place in count():
        yield place
        if place >= references // 2:
            yield place - references // 2


def files(by, blocks, skew):
    """Files of 1 to 63 blocks, each read whole."""
    lengths = [by.randrange(1, 64) for _ in range(max(blocks // 32, 3))]
    first = [0, *accumulate(lengths)]
    for file in popular(by, len(lengths), skew):
        yield from range(first[file], first[file + 1])


def part(by):
    """A name, and its references without end."""
    def size(least, most):
        return max(int(SCALE * math.exp(by.uniform(math.log(least), math.log(most)))), 2)

    makers = {
        "popular": lambda: popular(by, size(0.5, 20), by.choice([0.6, 0.8, 1.0, 1.2])),
        "drifting": lambda: drifting(by, size(0.3, 10), by.choice([0.8, 1.0, 1.2]), by.choice([0.01, 0.05, 0.2])),
        "jumping": lambda: jumping(by, size(0.3, 5), by.choice([0.6, 0.9, 1.1]), size(2, 20)),
        "loop": lambda: cycle(range(size(0.2, 4))),
        "there and back": lambda: there_and_back(by, size(0.3, 4)),
        "sliding loop": lambda: sliding_loop(by, size(0.2, 3), size(0.01, 1)),
        "scan": lambda: count(),
        "recent": lambda: recent(by, size(0.05, 3), by.choice([0.5, 1, 2]), by.choice([0.05, 0.2, 0.5])),
        "twice": lambda: twice(by, size(0.05, 3)),
        "window": lambda: sliding_window(by, size(0.1, 1.5), size(0.5, 10)),
        "files": lambda: files(by, size(0.3, 20), by.choice([0, 0.6, 1.0])),
    }
    name = by.choice(list(makers))
    return name, makers[name]()


def workload(seed, references):
    """What it is made of, and the blocks it refers to."""
    by = random.Random(seed)
    phases, names, blocks = by.choice([1, 1, 1, 2, 3]), [], []
    for phase in range(phases):
        parts = [part(by) for _ in range(by.choice([1, 1, 2, 3]))]
        weights = [by.choice([1, 1, 3, 10]) for _ in parts]
        turn = by.choice([1, 1, 16, 200])
        names.append(" + ".join(f"{weight} {name}" for weight, (name, _) in zip(weights, parts)))
        end = references * (phase + 1) // phases
        while len(blocks) < end:
            at = by.choices(range(len(parts)), weights)[0]
            first = (phase * 3 + at) * APART
            blocks.extend(first + next(parts[at][1]) for _ in range(min(turn, end - len(blocks))))
    return ", then ".join(names), blocks
