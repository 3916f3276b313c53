"""Fills a directory with what the jobs read. Everything is made from a seed, or is already on the machine."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

SMALL_FILES = 1500
SMALL_MEAN_BYTES = 8192
BIG_FILE_BYTES = 512 << 20
DATABASE_ROWS = 16_500
DATABASE_ROW_BYTES = 3_700
PACKAGES = ["sympy==1.14.0", "mpmath==1.3.0"]


def words(rng, count):
    letters = "abcdefghijklmnop"
    return b"\n".join(
        " ".join("".join(rng.choices(letters, k=6)) for _ in range(8)).encode() for _ in range(count // 56 + 1)
    )[:count]


def small_files(root, seed, name):
    rng = random.Random(seed)
    text = words(rng, 1 << 20)
    for number in range(SMALL_FILES):
        folder = root / name / f"d{number // 50:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        size = max(200, int(rng.expovariate(1 / SMALL_MEAN_BYTES)))
        start = rng.randrange(len(text) - 200_000)
        (folder / f"f{number:04d}.txt").write_bytes(text[start : start + size])


def big_file(root):
    block = random.Random(3).randbytes(1 << 20)
    with open(root / "big", "wb") as out:
        for _ in range(BIG_FILE_BYTES >> 20):
            out.write(block)


def database(root):
    """A join whose inner side is found through an index in random order: each row lies on a page of its own."""
    rng = random.Random(5)
    db = sqlite3.connect(root / "join.db")
    db.executescript(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
        "CREATE TABLE item (key INTEGER, body BLOB); CREATE TABLE wanted (key INTEGER);"
    )
    keys = list(range(DATABASE_ROWS))
    rng.shuffle(keys)
    db.executemany("INSERT INTO item VALUES (?, ?)", ((key, rng.randbytes(DATABASE_ROW_BYTES)) for key in keys))
    db.executemany("INSERT INTO wanted VALUES (?)", ((key,) for key in rng.sample(keys, 15_000)))
    db.execute("CREATE INDEX item_key ON item (key)")
    db.commit()
    db.close()


def source_tree(root):
    """The sources of this project's own dependencies, which a machine that built it has."""
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    crates = sorted(path for index in registry.glob("*") for path in index.iterdir() if path.is_dir())
    taken = sources = 0
    for crate in crates:
        if crate.name.startswith(("windows", "winapi")):
            continue
        shutil.copytree(crate, root / "source" / crate.name, symlinks=True)
        taken += sum(1 for path in crate.rglob("*") if path.is_file())
        sources += sum(1 for _ in crate.rglob("*.rs"))
        # bench-apps searches so many sources.
        if taken > 3000 and sources >= 2000:
            break


def packages(root):
    target = root / "packages"
    options = ["--quiet", "--root-user-action=ignore", "--no-deps", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", *options, *PACKAGES]
    subprocess.run(command, check=True)


def main():
    root = Path(sys.argv[1])
    small_files(root, 7, "tree")
    small_files(root, 8, "other")
    big_file(root)
    database(root)
    source_tree(root)
    packages(root)


if __name__ == "__main__":
    main()
