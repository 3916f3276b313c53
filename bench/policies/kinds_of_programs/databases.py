"""What databases read: rows by their keys, trees, joins, sorts, scans beside what is popular."""

from itertools import chain, count, cycle, islice

from workloads import drifting, popular, ranks

from .reads import Read, anywhere, by_turns, each, kind, kinds, run


@kind
def popular_rows_drift(by):
    """A key-value store (YCSB) whose popular keys change little by little."""
    return each("store", islice(drifting(by, 8000, 0.99, 0.07), 80_000))


@kind
def popular_rows_jump(by):
    """A key-value store whose popular keys are others at once, eight times."""
    return each("store", chain.from_iterable(islice(popular(by, 5000, 0.9), 10_000) for _ in range(8)))


@kind
def newest_rows(by):
    """YCSB's workload D: the newest rows are the most popular, and one is inserted every twenty reads."""
    behind = islice(ranks(by, 4000, 0.99), 80_000)
    return each("store", (4000 + place // 20 - rank for place, rank in enumerate(behind)))


@kinds(scan_of_a_tenth=0.1, scan_of_a_half=0.5, scan_of_nine_tenths=0.9)
def scan_beside_look_ups(by, share):
    """A report reads a table again and again, such a share of all reads, beside look-ups of popular keys."""
    keys, rows = popular(by, 6000, 0.9), cycle(range(5000))
    for _ in range(80_000):
        yield Read("table", next(rows)) if by.random() < share else Read("index", next(keys))


@kind
def scans_in_bursts(by):
    """Loads of new data into a warehouse are read through once, between look-ups of popular keys."""
    keys = popular(by, 4000, 0.99)
    for load in range(12):
        yield from each("index", islice(keys, 5000))
        yield from run("table", load * 3000, (load + 1) * 3000, 8)


@kind
def b_tree(by):
    """An index: its root, an inner page, a leaf, and now and then a range of leaves."""
    leaves, first = 10_000, 200
    for key in islice(popular(by, leaves, 0.7), 25_000):
        yield from each("tree", (0, 1 + key // 100))
        ranged = by.randint(10, 60) if by.random() < 0.05 else 1
        yield from run("tree", first + key, first + min(key + ranged, leaves))


@kind
def rows_in_order_of_insertion(by):
    """An index on what grows with time, such as dates: look-ups lie near each other in the heap, and move on."""
    for place in range(30_000):
        row = int(abs(by.gauss(0, 400))) + place * 8000 // 30_000
        yield Read("index", row // 100)
        yield Read("heap", row)


@kind
def log_structured_merge(by):
    """An LSM store: popular keys by each table's index block, while a compaction merges four tables at a time."""
    def look_ups():
        for key in islice(popular(by, 6000, 0.95), 60_000):
            yield from each(f"table{key % 12}", (2000, key // 12))

    def compactions():
        for _ in range(6):
            yield from by_turns(by, [run(f"table{table}", 0, 500, 4, reader=2) for table in by.sample(range(12), 4)])
    return by_turns(by, [look_ups(), compactions()], [40, 1])


@kind
def read_once_beside_core(by):
    """An object cache: two reads in five are of objects that are never read again."""
    new = count(10_000, 7)
    for _ in range(90_000):
        yield Read("objects", next(new) if by.random() < 0.4 else int(by.random() ** 2 * 2500))


@kind
def no_row_is_popular(by):
    """Look-ups of a hash table by keys of which none is more popular."""
    return each("store", islice(anywhere(by, 5000), 60_000))


@kind
def read_twice(by):
    """A content network's edge: each object is read twice, most soon, and never again, beside popular pages."""
    reads = []
    for place in range(25_000):
        reads += [(2 * place, "objects", place), (2 * place + by.lognormvariate(7, 1), "objects", place)]
    reads += [(place * 5 / 3, "pages", page) for place, page in enumerate(islice(popular(by, 3000, 0.8), 30_000))]
    return (Read(file, block) for _, file, block in sorted(reads))


@kind
def join_by_nested_loops(by):
    """The inner table is read whole for each page of the outer."""
    for page in range(60):
        yield Read("outer", page)
        yield from run("inner", 0, 1000)


@kind
def join_by_blocks(by):
    """The inner table is read whole for each twenty pages of the outer."""
    for page in range(0, 400, 20):
        yield from run("outer", page, page + 20, 4)
        yield from run("inner", 0, 3000, 8)


@kind
def join_by_index(by):
    """Each row of the outer table is looked up in the inner, by an index."""
    for page in range(800):
        yield Read("outer", page)
        for row in islice(anywhere(by, 6000), 40):
            yield Read("index", row // 200)
            yield Read("inner", row)


@kind
def join_by_hash(by):
    """Both tables are parted, then each part of one is probed with the rows of the other."""
    yield from run("small", 0, 4000, 16)
    yield from run("large", 0, 8000, 16)
    for part in range(16):
        yield from run(f"small{part}", 0, 250, 4)
        for page in range(500):
            yield Read(f"large{part}", page)
            yield from each(f"small{part}", islice(anywhere(by, 250), 3))


@kind
def sort_by_merging(by):
    """An external sort: the input, then eight sorted runs at a time, each a little further, on three levels."""
    yield from run("input", 0, 8000, 16)
    for level, (merges, blocks) in enumerate([(4, 250), (1, 1000), (1, 1000)]):
        for merge in range(merges):
            yield from by_turns(by, [run(f"level{level}-{merge}-{number}", 0, blocks) for number in range(8)])


@kind
def queries_mixed(by):
    """Decision support (TPC-H): tables of several lengths are scanned in any order, between look-ups of an index."""
    tables = {"items": 6000, "orders": 1500, "parts": 400, "suppliers": 100, "customers": 500}
    for _ in range(25):
        table = by.choice(list(tables))
        yield from run(table, 0, tables[table], 8)
        yield from each("index", (int(by.random() ** 3 * 2000) for _ in range(1500)))
