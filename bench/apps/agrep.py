"""tre-agrep on files named as arguments, which it reads one after the other, whole (000 section 3.2).

    agrep.py HOW PATTERN FILE...

What it reads: the files, in this order. What it discloses, before it becomes tre-agrep: all of them (HOW: hints to foresee, which
outlive exec; fadvise to the kernel, which must open each first). foresee needs none of this: it takes the words of the command.
"""

import os
import sys

import foresee
from disclose import disclose

how, pattern, *files = sys.argv[1:]
for path in files:
    if how == "hints":
        foresee.hint_file(path)
    else:
        disclose(how, path, [(0, os.path.getsize(path))])
os.execvp("tre-agrep", ["tre-agrep", pattern, *files])
