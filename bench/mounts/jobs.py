"""What is read through the mounts, and by which programs."""

import io
import random
import sys
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import populate

FOLDERS = 290
SMALL_FILES = {False: 1500, True: 300}
SMALL_MEAN_BYTES = 8192
BIG_MIB = {False: (64, 256), True: (64,)}
RANDOM_READS, RANDOM_BYTES = 300, 65536

IN_ORDER = """
import sys, zlib
total = 0
with open(sys.argv[1], "rb", buffering=0) as file:
    while part := file.read(65536):
        total = zlib.crc32(part, total)
print(total)
"""
AT_RANDOM = f"""
import os, random, sys, zlib
file = os.open(sys.argv[1], os.O_RDONLY)
places = random.Random(5).sample(range(os.fstat(file).st_size // {RANDOM_BYTES}), {RANDOM_READS})
if len(sys.argv) > 2:
    import foresee
    foresee.hint_segments(sys.argv[1], [(place * {RANDOM_BYTES}, {RANDOM_BYTES}) for place in places])
total = 0
for place in places:
    total = zlib.crc32(os.pread(file, {RANDOM_BYTES}, place * {RANDOM_BYTES}), total)
print(total)
"""


@dataclass
class Job:
    name: str
    command: list
    # What is compared of what the command printed: mounts may list a directory in another order each time.
    digest: object = None


def jobs(quick):
    """All of them; the quick ones read the same kinds of files, fewer and smaller ones."""
    cats = [Job(f"cat, {size} MiB", ["cat", f"big{size}"]) for size in BIG_MIB[quick]]
    big = f"big{BIG_MIB[quick][-1]}"
    python = [sys.executable, "-S", "-c"]
    return [
        *cats,
        Job("dd, 1 MiB reads", ["dd", f"if={big}", "bs=1M", "status=none"]),
        Job("python in order, 64 KiB reads", [*python, IN_ORDER, big]),
        Job("head -c 1000000", ["head", "-c", "1000000", big]),
        Job("grep -r, small files", ["grep", "-rc", "abc", "tree"], lines_digest),
        Job("tar c, small files", ["tar", "c", "tree"], members_digest),
        Job("random reads, hinted", [*python, AT_RANDOM, big, "hinted"]),
        Job("random reads", [*python, AT_RANDOM, big]),
    ]


def lines_digest(output):
    return zlib.crc32(b"\n".join(sorted(output.splitlines())))


def members_digest(output):
    """Of names and contents: some mounts date a directory by when they were mounted."""
    with tarfile.open(fileobj=io.BytesIO(output)) as archive:
        members = [(it.name, it.size, zlib.crc32(archive.extractfile(it).read()) if it.isfile() else 0) for it in archive]
    return zlib.crc32(repr(sorted(members)).encode())


def make_data(root, quick):
    """Everything is made from a seed."""
    rng = random.Random(13)
    text = populate.words(rng, 1 << 20)
    for number in range(SMALL_FILES[quick]):
        folder = root / "tree" / f"d{number % FOLDERS:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        size = max(200, int(rng.expovariate(1 / SMALL_MEAN_BYTES)))
        start = rng.randrange(len(text) - 200_000)
        (folder / f"f{number:04d}.txt").write_bytes(text[start : start + size])
    for size in BIG_MIB[quick]:
        with (root / f"big{size}").open("wb") as out:
            for _ in range(size):
                out.write(rng.randbytes(1 << 20))


def make_warm(root):
    """The servers answer from memory, in each run."""
    for path in Path(root).rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
