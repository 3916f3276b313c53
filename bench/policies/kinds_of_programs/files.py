"""What programs with many files, or with large ones, read: training, compilers, mail, logs, columns, media."""

from itertools import islice

from workloads import popular

from .reads import Read, by_turns, each, kind, kinds, run


@kinds(epochs_in_new_orders=True, epochs_in_one_order=False)
def epochs(by, shuffled):
    """Training: all images, nine times, in an order by chance that is another in each epoch or not."""
    blocks = [by.choice([2, 3, 4, 8]) for _ in range(1500)]
    order = list(range(len(blocks)))
    by.shuffle(order)
    for _ in range(9):
        if shuffled:
            by.shuffle(order)
        yield from (Read(f"image{image}", 0, blocks[image]) for image in order)


@kind
def epochs_of_shards(by):
    """Training: shards (WebDataset) in a new order in each epoch, each from its begin to its end."""
    shards = list(range(30))
    for _ in range(9):
        by.shuffle(shards)
        for shard in shards:
            yield from run(f"shard{shard}", 0, 256, 32)


@kind
def epochs_by_workers(by):
    """Training: four workers share the records of one file, in a new order in each epoch."""
    records = list(range(4000))
    for _ in range(7):
        by.shuffle(records)
        yield from (Read("records", record * 3, 3, 1 + place % 4) for place, record in enumerate(records))


@kind
def video_with_jumps(by):
    """A player: the header, the index, then some seconds from where the viewer jumped to."""
    for _ in range(120):
        yield Read("film", 0, 4)
        place = by.randrange(20_000) if by.random() < 0.5 else int(by.random() ** 2 * 4000)
        yield Read("film", 20_000 + place // 64)
        yield from run("film", place, place + by.randint(60, 900), 4)


@kind
def compilers(by):
    """A build by four compilers: each source once, and some seventy headers, of which some are popular."""
    blocks = [by.choice([1, 1, 1, 2, 3, 6]) for _ in range(900)]
    weights = [(header + 1) ** -0.7 for header in range(900)]
    for source in range(700):
        reader = 1 + source % 4
        yield Read(f"source{source}", 0, by.choice([1, 2, 4, 8]), reader)
        for header in sorted(set(by.choices(range(900), weights, k=70))):
            yield Read(f"header{header}", 0, blocks[header], reader)


@kind
def linkers(by):
    """Links of many programs: the begins of 200 objects, then all of them, then two libraries."""
    blocks = [by.randint(1, 30) for _ in range(500)]
    for _ in range(14):
        objects = sorted(by.sample(range(500), 200))
        yield from (Read(f"object{number}", 0) for number in objects)
        for number in objects:
            yield Read(f"object{number}", 0)
            yield from run(f"object{number}", 1, blocks[number], 8)
        yield from run("library1", 0, 800, 16)
        yield from run("library2", 0, 1200, 16)


@kind
def mailboxes(by):
    """A mail server: a user's index, and two of the newest of the user's messages, to which come others."""
    messages = [0] * 300
    for _ in range(20_000):
        user = int(by.random() ** 2 * 300)
        yield Read(f"user{user}", 0)
        messages[user] += by.random() < 0.3
        for _ in range(2):
            message = max(messages[user] - int(by.expovariate(0.3)), 0)
            yield Read(f"user{user}-message{message}", 0, by.choice([1, 1, 2, 4]))


@kind
def logs_that_grow(by):
    """Five logs are followed as they grow; now and then the last part of one is searched, or all of it."""
    ends = [500] * 5
    for _ in range(30_000):
        log = by.randrange(5)
        yield Read(f"log{log}", ends[log])
        ends[log] += by.random() < 0.3
        if by.random() < 0.002:
            yield from run(f"log{log}", max(0, ends[log] - 400), ends[log], 4)
        if by.random() < 0.0004:
            yield from run(f"log{log}", 0, ends[log], 16)


@kind
def columns(by):
    """Queries of Parquet files: of each the footer, in two reads, and three columns of twelve, some popular."""
    for _ in range(30):
        chosen = sorted(by.sample(range(12), 3)) if by.random() < 0.5 else [0, 3, by.randrange(12)]
        for file in range(0 if by.random() < 0.3 else by.randrange(12), 24):
            yield Read(f"part{file}", 999)
            yield Read(f"part{file}", 996, 3)
            yield from (Read(f"part{file}", column * 80, 24) for column in chosen)


@kind
def begins_of_files(by):
    """`file` or a maker of thumbnails: the begins of all files, five times, and some files whole."""
    for _ in range(5):
        for file in range(6000):
            yield Read(f"file{file}", 0)
            if by.random() < 0.05:
                yield from run(f"file{file}", 1, 12, 4)


@kind
def large_reads_beside_small(by):
    """A copy in reads of 1 MiB, twice, beside look-ups of popular rows."""
    copies = (Read("large", block, 256) for _ in range(2) for block in range(0, 12_000, 256))
    return by_turns(by, [copies, each("small", islice(popular(by, 4000, 0.9), 40_000), reader=2)], [1, 400])


@kind
def packed_objects(by):
    """git: a search by halves in a pack's index, then an object and those it differs from."""
    for _ in range(6000):
        at = int(by.random() ** 1.5 * 3000)
        yield Read("index", 0)
        low, high = 0, 200
        while high - low > 1:
            middle = (low + high) // 2
            yield Read("index", 1 + middle)
            low, high = (middle, high) if at * 200 // 3000 >= middle else (low, middle)
        for step in range(by.randint(1, 4)):
            yield Read("pack", max(at - step * by.randint(0, 60), 0) * 3, 2)


@kind
def one_program_of_many_data(by):
    """A script that starts again and again: the same libraries, then other data each time."""
    blocks = [by.randint(1, 12) for _ in range(300)]
    for start in range(20):
        yield from (Read(f"library{number}", 0, length) for number, length in enumerate(blocks))
        yield from run(f"data{start}", 0, 1500, 8)


@kind
def files_compared(by):
    """A search for duplicates (fdupes): files whole, many soon again beside another; then their begins, twice."""
    for file in range(1200):
        yield from run(f"file{file}", 0, by.choice([2, 4, 8, 30]))
        if file > 20 and by.random() < 0.5:
            yield from run(f"file{file - by.randint(1, 20)}", 0, 8)
    for blocks in (4, 2):
        for file in range(1200):
            yield from run(f"file{file}", 0, blocks)


@kind
def grep_again(by):
    """`grep -r`, fifteen times: 800 files of several lengths, always in one order."""
    blocks = [by.choice([1, 1, 2, 3, 5, 9, 20]) for _ in range(800)]
    for _ in range(15):
        for file, length in enumerate(blocks):
            yield from run(f"file{file}", 0, length)


@kind
def window_of_a_series(by):
    """Averages over a series in time: windows of 1,000 blocks, each a hundred further on."""
    for first in range(0, 6000, 100):
        yield from run("series", first, first + 1000, 2)


@kind
def readers_behind_each_other(by):
    """A message broker: four consumers read one topic, 150, 600 and 2,000 blocks behind the first, twice."""
    blocks, behind = 6000, (0, 150, 600, 2000)
    for time in range(2 * blocks + behind[-1]):
        for number, late in enumerate(behind):
            if 0 <= time - late < 2 * blocks:
                yield Read("topic", (time - late) % blocks, reader=number + 1)
