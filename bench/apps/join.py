"""A join of Debian's suggestions with the packages they name, by index, in SQLite, the loop split (000 section 3.4).

    join.py make DB               from apt's lists of this machine, or made up in their likeness where there are none
    join.py DB standard           one statement: for each suggestion the index, then the table
    join.py DB none|hints|fadvise the loop split: first all look-ups in the index, then the rows, disclosed in between

What it reads: the outer table and the index (in the first loop), then the page of each row, in the order of the suggestions.
What it discloses: these pages. The table's B-tree is in the order of the row numbers, so its interior pages, some 30 that SQLite
reads anyway, say on which leaf each row lies (https://sqlite.org/fileformat2.html, section 1.6).
"""

import bisect
import random
import re
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

from disclose import disclose

PAGE = 4096
APT_HELPER = "/usr/lib/apt/apt-helper"


def stanzas():
    """Apt's descriptions of packages."""
    for lists in sorted(Path("/var/lib/apt/lists").glob("*_Packages*")):
        text = subprocess.run([APT_HELPER, "cat-file", lists], capture_output=True, check=True).stdout.decode()
        yield from (stanza for stanza in text.split("\n\n") if stanza.strip())


def made_up(count=63_440):
    rng = random.Random(4)
    for number in range(count):
        suggested = ", ".join(f"package-{rng.randrange(count)}" for _ in range(rng.choice((0, 0, 0, 1, 2))))
        filler = "".join(rng.choices("abcdefghijklmnop ", k=int(rng.gauss(800, 200))))
        yield f"Package: package-{number}\n" + (f"Suggests: {suggested}\n" if suggested else "") + f"Description: {filler}"


def make(path):
    db = sqlite3.connect(path)
    db.executescript(f"PRAGMA page_size = {PAGE}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                     "CREATE TABLE suggestion (name TEXT); CREATE TABLE package (name TEXT, stanza TEXT)")
    packages = [(re.search("^Package: (.*)", it, re.M)[1], it) for it in stanzas()] or \
               [(f"package-{number}", it) for number, it in enumerate(made_up())]
    for name, stanza in packages:
        suggests = re.search("^Suggests: (.*)", stanza, re.M)
        names = re.findall(r"(?:^|[,|] *)([^ ,|]+)", suggests[1]) if suggests else []
        db.executemany("INSERT INTO suggestion VALUES (?)", ((it,) for it in names))
    db.executemany("INSERT INTO package VALUES (?, ?)", packages)
    db.execute("CREATE INDEX package_name ON package (name)")
    db.commit()


class Leaves:
    """Which page of the file holds which row of a table: what the interior pages of its B-tree say."""

    LEAF = 13

    def __init__(self, path, root):
        self.last_rows, self.pages = [], []
        with open(path, "rb", buffering=0) as self.file:
            depth, page = 0, self.read(root)
            while page[0] != self.LEAF:
                depth, page = depth + 1, self.read(next(self.children(page))[0])
            self.walk(root, depth, float("inf"))

    def read(self, number):
        self.file.seek((number - 1) * PAGE)
        return self.file.read(PAGE)

    @staticmethod
    def children(page):
        """The children of an interior page, each with the last row below it; the rightmost has None."""
        for cell in range(int.from_bytes(page[3:5], "big")):
            at = int.from_bytes(page[12 + 2 * cell : 14 + 2 * cell], "big")
            row = 0
            for byte in page[at + 4 : at + 13]:  # seven bits a byte, the last byte has no high bit
                row = row << 7 | byte & 0x7F
                if byte < 0x80:
                    break
            yield int.from_bytes(page[at : at + 4], "big"), row
        yield int.from_bytes(page[8:12], "big"), None

    def walk(self, number, depth, last_row):
        if depth == 0:
            self.last_rows.append(last_row)
            self.pages.append(number)
            return
        for child, row in self.children(self.read(number)):
            self.walk(child, depth - 1, last_row if row is None else row)

    def range_of(self, row):
        return (self.pages[bisect.bisect_left(self.last_rows, row)] - 1) * PAGE, PAGE


def standard(db):
    yield from db.execute("SELECT stanza FROM suggestion CROSS JOIN package ON package.name = suggestion.name")


def split(db, path, how):
    rows = [row for row, in db.execute(
        "SELECT package.rowid FROM suggestion CROSS JOIN package ON package.name = suggestion.name")]
    if how != "none":
        root, = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'package'").fetchone()
        leaves = Leaves(path, root)
        disclose(how, path, [leaves.range_of(row) for row in rows])
    for row in rows:
        yield db.execute("SELECT stanza FROM package WHERE rowid = ?", (row,)).fetchone()


def main(path, how):
    if path == "make":
        make(how)
        return
    db = sqlite3.connect(path)
    count = checksum = 0
    for stanza, in standard(db) if how == "standard" else split(db, path, how):
        count, checksum = count + 1, zlib.crc32(stanza.encode(), checksum)
    print(count, checksum)


if __name__ == "__main__":
    main(*sys.argv[1:])
