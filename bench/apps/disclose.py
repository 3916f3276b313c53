"""How the Python applications disclose what they will read: the same ranges, in the same place, to whom it is said by HOW.

none: to nobody; hints: to foresee; fadvise: to the kernel, by posix_fadvise(WILLNEED).
"""

import os

import foresee

PIECE = 128 << 10  # the kernel takes no more than this at a time


def disclose(how, path, ranges):
    """These (offset, length) ranges of the file will be read, in this order."""
    if how == "hints":
        foresee.hint_segments(path, ranges)
    elif how == "fadvise":
        fd = os.open(path, os.O_RDONLY)
        for offset, length in ranges:
            for at in range(offset, offset + length, PIECE):
                os.posix_fadvise(fd, at, min(PIECE, offset + length - at), os.POSIX_FADV_WILLNEED)
        os.close(fd)
