"""Workloads of the kinds that the literature knows: what programs read, in the order in which they do.

    databases    look-ups, trees, joins, sorts, scans beside what is popular
    science      matrices, transforms, grids, graphs
    files        training in epochs, compilers, mail, logs, columns, archives of objects
    patterns     loops, passes there and back, phases; and such programs side by side

A kind is what a function makes of a `random.Random`: `Read`s (reads.py), in blocks of 4 KiB.
"""

from . import databases, files, patterns, science
from .reads import KINDS, trace, workload

__all__ = ["KINDS", "databases", "files", "patterns", "science", "trace", "workload"]
