"""Programs that read other things, or the same in another order, by a seed: reads.py PROGRAM SEED. Each prints a checksum of what it read.

They are written as their users write them, hold no more than one piece at a time, and know nothing of foresee. Run in the folder that
`make` of this file has filled.
"""

import os
import random
import sqlite3
import sys
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROWS, ROW_BYTES = 160_000, 700
FILES, FILE_BYTES = 3000, (4 << 10, 72 << 10)
RECORDED_BYTES, RECORD_BYTES, PIECE_BYTES = 256 << 20, 128 << 10, 32 << 10
PIECES_BYTES = 75 << 20
MEMBERS = 3000


def make(folder):
    """All from one seed, 0.6 GiB."""
    rng = random.Random(5)
    for name, size in (("records", RECORDED_BYTES), ("pieces", PIECES_BYTES)):
        with (folder / name).open("wb") as file:
            for _ in range(size >> 20):
                file.write(rng.randbytes(1 << 20))
    (folder / "files").mkdir()
    with zipfile.ZipFile(folder / "members.zip", "w") as archive:
        for number in range(FILES):
            data = rng.randbytes(rng.randrange(*FILE_BYTES))
            (folder / "files" / f"{number:05}").write_bytes(data)
            archive.writestr(f"{number:05}", data)
    with sqlite3.connect(folder / "rows.db") as database:
        database.execute("create table rows (id integer primary key, bucket integer, data blob)")
        database.executemany("insert into rows values (?, ?, ?)",
                             ((id, rng.randrange(1000), rng.randbytes(ROW_BYTES)) for id in range(ROWS)))
        database.execute("create index by_bucket on rows (bucket)")
    database.close()


def rows_by_key(rng):
    """2,500 rows, each by its key."""
    database = sqlite3.connect("rows.db")
    for _ in range(2500):
        yield database.execute("select data from rows where id = ?", (rng.randrange(ROWS),)).fetchone()[0]


def rows_by_index(rng):
    """The rows of eight buckets of 1,000, by an index: 160 each, all over the table."""
    database = sqlite3.connect("rows.db")
    for bucket in rng.sample(range(1000), 8):
        for row in database.execute("select data from rows where bucket = ? order by id", (bucket,)):
            yield row[0]


def rows_by_range(rng):
    """120 ranges of 100 keys."""
    return ranges(rng, 120, 100)


def rows_by_long_range(rng):
    """Six ranges of 4,000 keys."""
    return ranges(rng, 6, 4000)


def ranges(rng, count, length):
    database = sqlite3.connect("rows.db")
    for _ in range(count):
        begin = rng.randrange(ROWS - length)
        for row in database.execute("select data from rows where id >= ? and id < ?", (begin, begin + length)):
            yield row[0]


def files_shuffled(rng):
    """All files, in an order of this run's own."""
    return map(load, shuffled(rng))


def files_shuffled_by_8_threads(rng):
    """The same, by eight threads."""
    with ThreadPoolExecutor(8) as pool:
        yield from pool.map(lambda name: str(zlib.crc32(load(name))).encode(), shuffled(rng))


def some_files(rng):
    """A tenth of the files."""
    return map(load, shuffled(rng)[:FILES // 10])


def shuffled(rng):
    names = sorted(os.listdir("files"))
    rng.shuffle(names)
    return names


def load(name):
    return Path("files", name).read_bytes()


def records(rng):
    """1,200 of the 2,048 records of a file, one by one."""
    with open("records", "rb", buffering=0) as file:
        for number in rng.sample(range(RECORDED_BYTES // RECORD_BYTES), 1200):
            yield os.pread(file.fileno(), RECORD_BYTES, number * RECORD_BYTES)


def pieces(rng):
    """All pieces of a file, in an order of this run's own."""
    numbers = list(range(PIECES_BYTES // PIECE_BYTES))
    rng.shuffle(numbers)
    with open("pieces", "rb", buffering=0) as file:
        for number in numbers:
            yield os.pread(file.fileno(), PIECE_BYTES, number * PIECE_BYTES)


def members(rng):
    """600 of the 3,000 members of an archive."""
    with zipfile.ZipFile("members.zip") as archive:
        for name in rng.sample(archive.namelist(), MEMBERS // 5):
            yield archive.read(name)


PROGRAMS = {it.__name__: it for it in (rows_by_key, rows_by_index, rows_by_range, rows_by_long_range, files_shuffled,
                                       files_shuffled_by_8_threads, some_files, records, pieces, members)}

if __name__ == "__main__":
    total = 0
    for data in PROGRAMS[sys.argv[1]](random.Random(int(sys.argv[2]))):
        total = zlib.crc32(data, total)
    print(total)
