"""Reads objects of an S3 server through fsspec: `fsspec_reads.py CONTENDER`, the reads on standard input as run.py writes them.

Contenders: `cat` (all ranges told at once, as many at once as s3fs itself asks for), or one of fsspec's caches with its block size in
KiB, as in `blockcache-5120`. Prints the seconds it took.
"""

import os
import sys
import time

import s3fs

MEMORY = 128 << 20
PAGE = 4096


def check(offset, length, data):
    assert not length or len(data) == length, f"{len(data)} bytes of {length}"
    for at in range(0, len(data) - 7, PAGE):
        assert int.from_bytes(data[at:at + 8], "little") == (offset + at) // PAGE, f"the page at {offset + at} is wrong"


def main():
    contender = sys.argv[1]
    reads = [(key, int(offset), int(length)) for key, offset, length in (line.split() for line in sys.stdin)]
    endpoint = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"], "region_name": os.environ["AWS_REGION"]}
    begun = time.monotonic()
    fs = s3fs.S3FileSystem(key=os.environ["AWS_ACCESS_KEY_ID"], secret=os.environ["AWS_SECRET_ACCESS_KEY"], client_kwargs=endpoint)
    path = "data/{}".format
    if contender == "cat" and reads[0][2] == 0:
        came = fs.cat([path(key) for key, _, _ in reads])
        for key, offset, length in reads:
            check(offset, length, came[path(key)])
    elif contender == "cat":
        # No more at once than there is memory for.
        batch = MEMORY // 2 // reads[0][2]
        for first in range(0, len(reads), batch):
            some = reads[first:first + batch]
            ends = [offset + length for _, offset, length in some]
            came = fs.cat_ranges([path(key) for key, _, _ in some], [offset for _, offset, _ in some], ends, on_error="raise")
            for (_, offset, length), data in zip(some, came):
                check(offset, length, data)
    else:
        kind, kib = contender.split("-")
        block = int(kib) << 10
        options = {"maxblocks": max(1, MEMORY // block)} if kind in ("blockcache", "background") else {}
        files = {}
        for key, offset, length in reads:
            file = files.get(key) or fs.open(path(key), "rb", block_size=block, cache_type=kind, cache_options=options)
            if length:
                files[key] = file
            file.seek(offset)
            check(offset, length, file.read(length or -1))
    print(time.monotonic() - begun)


if __name__ == "__main__":
    main()
