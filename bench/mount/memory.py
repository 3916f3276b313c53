#!/usr/bin/env python3
"""What a mount takes beside --memory: 1,000 files of a bucket of versitygw open at once, and 64 readers.

The most that it ever had is the kernel's word (VmHWM); of what that is in the end is told by the kinds of its mappings.
"""

import argparse
import contextlib
import os
import random
import re
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH), str(BENCH / "mounts"), str(BENCH / "mount")]

import common  # noqa: E402
import kinds  # noqa: E402
import servers  # noqa: E402
import stores  # noqa: E402

FILES, FILE_BYTES, READERS = 1000, 1_000_000, 64
# glibc's heaps of threads begin at multiples of this.
HEAP_BYTES = 64 << 20


def most(process):
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def kind_of(line):
    """Of a mapping, by its line in smaps: what it is for."""
    words = line.split()
    begin, end = (int(it, 16) for it in words[0].split("-"))
    if len(words) > 5:
        return {"[heap]": "heaps", "[stack]": "stacks"}.get(words[5], "the program and its libraries")
    if begin % HEAP_BYTES == 0 and end - begin < HEAP_BYTES:
        return "heaps"
    return "stacks" if end - begin in (128 << 10, 512 << 10, 1 << 20, 2 << 20) else "other mappings, of which --memory is one"


def by_kind(process):
    found, kind = Counter(), None
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            kind = kind_of(line)
        elif line.startswith("Rss:"):
            found[kind] += int(line.split()[1])
    return found


def read(paths, seed):
    """Some of the files, in an order of its own, a part here and a part there."""
    rng = random.Random(seed)
    for file in rng.sample(paths, len(paths) // 4):
        os.pread(file, 200_000, rng.randrange(FILE_BYTES))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", type=common.program, default=str(common.ROOT / "target/release/foresee-mount"),
                        help="the foresee-mount to measure")
    parser.add_argument("--memory", default="64MiB", help="as a mount takes it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foresee-memory-") as folder, contextlib.ExitStack() as stack:
        scratch = Path(folder)
        port = stores.versitygw(stack, scratch, None)
        data, piece = scratch / "drive" / servers.BUCKET, random.Random(1).randbytes(FILE_BYTES)
        for number in range(FILES):
            (data / f"{number:04}").write_bytes(piece)
        mount = scratch / "mount"
        daemon = stores.daemon(arguments, scratch, f"s3://{servers.BUCKET}", port, mount, "--memory", arguments.memory)
        stack.callback(daemon.end)
        stack.callback(kinds.abandon, mount)
        process = daemon.process.pid
        print(f"mounted: {most(process) >> 10} MiB", flush=True)
        files = [os.open(path, os.O_RDONLY) for path in sorted(mount.iterdir())]
        print(f"{FILES} files open: {most(process) >> 10} MiB", flush=True)
        readers = [threading.Thread(target=read, args=(files, seed)) for seed in range(READERS)]
        [it.start() for it in readers]
        [it.join() for it in readers]
        print(f"{READERS} readers: {most(process) >> 10} MiB at most", flush=True)
        for kind, kib in by_kind(process).most_common():
            print(f"  {kib / 1024:6.1f} MiB  {kind}")
        [os.close(file) for file in files]


if __name__ == "__main__":
    main()
