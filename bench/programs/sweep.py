"""What a device was asked for, and how long the same takes in one sweep: each block once, in the order of their places, 32 requests at
a time, past the page cache. What the kernel says of requests is in its trace files (tracefs), for root."""

import mmap
import os
import re
import threading
import time
from contextlib import contextmanager
from pathlib import Path

TRACE = Path("/sys/kernel/tracing")
EVENT = TRACE / "events/block/block_rq_issue"
SECTOR_BYTES = 512
REQUEST_SECTORS = 2048
REQUESTS_AT_ONCE = 32


def can_record():
    """Whether the kernel tells here what devices are asked for."""
    if not TRACE.is_dir():
        return False
    if not EVENT.is_dir():
        os.system(f"mount -t tracefs tracefs {TRACE} 2> /dev/null")
    return EVENT.is_dir()


@contextmanager
def recorded(device):
    """The reads that the device is asked for meanwhile: a list of (sector, count), there at the end."""
    number = os.stat(device).st_rdev
    reads = []
    (TRACE / "buffer_size_kb").write_text("8192")
    (TRACE / "trace").write_text("")
    (EVENT / "filter").write_text(f"dev == {os.major(number) << 20 | os.minor(number)}")
    (EVENT / "enable").write_text("1")
    try:
        yield reads
    finally:
        (EVENT / "enable").write_text("0")
    text = (TRACE / "trace").read_text()
    reads += [(int(at), int(count)) for at, count in re.findall(r"block_rq_issue: \S+ R\S* \d+ \(.*?\) (\d+) \+ (\d+)", text)]


def stretches(reads):
    """The reads in the order of their places, each sector once."""
    merged = []
    for begin, end in sorted((at, at + count) for at, count in reads):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def sweep(device, reads):
    """Reads all of that once. Returns how long it took."""
    parts = [(at, min(REQUEST_SECTORS, end - at)) for begin, end in stretches(reads) for at in range(begin, end, REQUEST_SECTORS)]
    descriptor, waiting, lock = os.open(device, os.O_RDONLY | os.O_DIRECT), iter(parts), threading.Lock()

    def work():
        buffer = memoryview(mmap.mmap(-1, REQUEST_SECTORS * SECTOR_BYTES))
        while True:
            with lock:
                part = next(waiting, None)
            if part is None:
                return
            os.preadv(descriptor, [buffer[: part[1] * SECTOR_BYTES]], part[0] * SECTOR_BYTES)

    begun = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(REQUESTS_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(descriptor)
    return time.perf_counter() - begun
