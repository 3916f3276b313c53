"""A program beside the application, in its memory, that discloses nothing: what it loses is told by the time it prints.

    neighbour.py make FILE | neighbour.py FILE

It reads 4,000 blocks of 4 KiB of a file of 8 MiB, at random, half a millisecond of work before each.
"""

import os
import random
import sys
import time

BLOCK, BLOCKS, READS, WORK_S = 4096, 2048, 4000, 0.0005

if sys.argv[1] == "make":
    with open(sys.argv[2], "wb") as out:
        out.write(os.urandom(BLOCK * BLOCKS))
else:
    rng = random.Random(9)
    fd = os.open(sys.argv[1], os.O_RDONLY)
    begun = time.perf_counter()
    for _ in range(READS):
        time.sleep(WORK_S)
        os.pread(fd, BLOCK, BLOCK * rng.randrange(BLOCKS))
    print(time.perf_counter() - begun)
