"""Loops, passes there and back, phases, recent blocks; and programs of such kinds side by side."""

from itertools import chain, count, cycle, islice

from workloads import popular, there_and_back

from .reads import anywhere, by_turns, each, kind, kinds, run


def deep(by, blocks):
    """What was read lately is read again, the less the longer ago (a power law): there LRU is as good as any."""
    stack = list(range(blocks))
    while True:
        stack.insert(0, stack.pop(min(int(by.paretovariate(0.6)) - 1, blocks - 1)))
        yield stack[0]


def moving(by, blocks):
    """Blocks of a window by chance, which moves on by one every ten."""
    return (place // 10 + by.randrange(blocks) for place in count())


@kind
def lately_read(by):
    """A file server's clients: what was read lately is read again."""
    return each("file", islice(deep(by, 4000), 60_000))


@kind
def sweeps(by):
    """A dynamic program over a table, or a solver's sweeps: from the begin to the end, and back."""
    return each("file", islice(there_and_back(by, 3000), 72_000))


@kind
def scrolling(by):
    """A person scrolls through a large file, and turns by chance."""
    place, step, blocks = 0, 1, []
    while len(blocks) < 70_000:
        for _ in range(by.randint(200, 4000)):
            blocks.append(place)
            step = step if 0 <= place + step <= 5000 else -step
            place += step
        step = -step
    return each("file", blocks)


@kind
def phases(by):
    """A job of nine steps of three kinds: a loop, popular blocks, any blocks."""
    steps = [lambda: cycle(range(2500)), lambda: popular(by, 4000, 1), lambda: anywhere(by, 3500)]
    return each("file", chain.from_iterable(islice(step(), 8000) for step in steps * 3))


@kind
def short_phases(by):
    """Sixty steps, each over before much is learned of it: a loop, popular blocks, a loop elsewhere."""
    def elsewhere():
        first = by.randrange(4000)
        return cycle(range(first, first + 600))
    steps = [lambda: cycle(range(400)), lambda: popular(by, 2000, 1), elsewhere]
    return each("file", chain.from_iterable(islice(step(), 1200) for step in steps * 20))


@kind
def loop(by):
    """An iterative solver: the same file, twenty times."""
    return chain.from_iterable(run("file", 0, 3000, 4) for _ in range(20))


@kind
def loop_that_grows(by):
    """A list is read through after each addition, until it is begun anew."""
    reads, blocks = 0, 500
    while reads < 80_000:
        yield from run("file", 0, int(blocks))
        reads += int(blocks)
        blocks = blocks * 1.06 if blocks * 1.06 < 5000 else 500


@kind
def loop_to_anywhere(by):
    """A search from the begin to where something is found."""
    reads = 0
    while reads < 80_000:
        blocks = by.randint(100, 5000)
        yield from run("file", 0, blocks)
        reads += blocks


@kind
def loops_in_loops(by):
    """A short loop in a longer one in a long one, as of nested queries."""
    for _ in range(6):
        for part in range(5):
            for _ in range(6):
                yield from run("short", part * 150, part * 150 + 150)
            yield from run("middle", part * 300, part * 300 + 300)
        yield from run("long", 0, 6000)


@kind
def backwards(by):
    """A file from its end to its begin, eight times (tac)."""
    return chain.from_iterable(run("file", 7999, -1) for _ in range(8))


@kind
def strides(by):
    """Every n-th block, by several n, twice each: slices of an array."""
    for stride in (1, 3, 7, 16, 5, 2):
        for _ in range(2):
            yield from each("file", (place % 9000 for place in range(0, 40_000, stride * 4)))


PROGRAMS = {
    "loop": lambda by: cycle(range(1200)),
    "popular": lambda by: popular(by, 3000, 0.95),
    "scan": lambda by: count(),
    "there and back": lambda by: there_and_back(by, 800),
    "anywhere": lambda by: anywhere(by, 1500),
    "hot": lambda by: anywhere(by, 60),
    "lately": lambda by: deep(by, 2000),
    "moving": lambda by: moving(by, 500),
}


def program(by, name, reader, reads):
    """One of those that run side by side, in a file of its own."""
    return each(f"file{reader}", islice(PROGRAMS[name](by), reads), reader)


@kinds(
    popular_beside_loop=(["loop", "popular"], 1),
    sweeps_beside_scan=(["there and back", "scan"], 1),
    four_programs=(["loop", "popular", "scan", "lately"], 1),
    four_programs_by_slices=(["loop", "moving", "anywhere", "there and back"], 300),
    eight_programs=(list(PROGRAMS), 1),
)
def side_by_side(by, words):
    """Programs in one memory that take turns of so many reads."""
    names, turn = words
    reads = 80_000 // len(names)
    return by_turns(by, [program(by, name, number + 1, reads) for number, name in enumerate(names)], turn=turn)


@kind
def programs_that_come_and_go(by):
    """Popular blocks all along, and beside them a loop, a scan, another loop."""
    stays = program(by, "popular", 1, 40_000)
    for number, comes in enumerate(["loop", "scan", "loop"]):
        yield from by_turns(by, [islice(stays, 13_333), program(by, comes, number + 2, 13_000)])
