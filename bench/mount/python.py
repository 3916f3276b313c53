#!/usr/bin/env python3
"""CPython's own tests of files and archives on foresee mount, test by test beside the same on the machine's disk.

Their temporary files are in a bucket of versitygw; then Python's own modules are read from a mount of their directory. Tests that an
object store cannot pass are named in python-known.txt, with what they want; any other difference fails this command. Some minutes.
"""

import argparse
import contextlib
import fnmatch
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH), str(BENCH / "mounts"), str(BENCH / "mount")]

import common  # noqa: E402
import kinds  # noqa: E402
import servers  # noqa: E402
import stores  # noqa: E402

MODULES = ["test_os", "test_io", "test_tarfile", "test_shutil", "test_zipfile"]
OUTCOMES = BENCH / "programs" / "outcomes.py"
KNOWN = BENCH / "mount" / "python-known.txt"
PATIENCE_S = 1800


def known():
    """Patterns of tests, and what those want."""
    want, found = None, {}
    for line in filter(None, map(str.strip, KNOWN.read_text().splitlines())):
        if line.startswith("#"):
            want = line.lstrip("# ")
        else:
            found[line] = want
    return found


def outcomes(module, directory, **settings):
    """Of each test of the module, with its temporary files in this directory."""
    done = subprocess.run([sys.executable, str(OUTCOMES), module], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=os.environ | {"TMPDIR": str(directory), **settings}, text=True,
                          errors="replace", timeout=PATIENCE_S)
    return dict(re.findall(r"^outcome (\S+) (\S+)$", done.stdout, re.M))


def compare(where, module, plain, found, excused):
    """Says which tests differ that nobody knows of; returns how many do, by what they want."""
    counts = Counter()
    for test in sorted(plain.keys() | found.keys()):
        if plain.get(test) == found.get(test):
            continue
        want = next((want for pattern, want in excused.items() if fnmatch.fnmatchcase(test, pattern)), None)
        counts[want] += 1
        if want is None:
            print(f"{where}: {test}: {found.get(test)}, and {plain.get(test)} on disk", flush=True)
    print(f"{where}: {module}: {len(plain)} tests, {counts.total()} differ, {counts[None]} of them are not known to", flush=True)
    # That there are none is a difference as well.
    return counts + Counter({None: not plain})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", type=common.program, default=str(common.ROOT / "target/release/foresee-mount"),
                        help="the foresee-mount to try")
    parser.add_argument("--only", nargs="+", default=MODULES, help="modules to run")
    arguments = parser.parse_args()
    if servers.find("versitygw") is None:
        sys.exit(f"versitygw: {kinds.VERSITYGW}")
    if importlib.util.find_spec("test.test_os") is None:
        sys.exit(f"{sys.executable} has no tests: apt install libpython3-testsuite, or another Python")
    counts, excused = Counter(), known()
    with tempfile.TemporaryDirectory(prefix="foresee-python-") as folder, contextlib.ExitStack() as stack:
        scratch = Path(folder)
        disk = scratch / "disk"
        disk.mkdir()
        port = stores.versitygw(stack, scratch, None)
        bucket = stack.enter_context(stores.mounted(arguments, scratch, f"s3://{servers.BUCKET}", port, "bucket"))
        own = stack.enter_context(stores.mounted(arguments, scratch, sysconfig.get_path("stdlib"), port, "own"))
        for module in arguments.only:
            plain = outcomes(module, disk)
            counts += compare("bucket", module, plain, outcomes(module, bucket), excused)
            counts += compare("directory", module, plain, outcomes(module, disk, PYTHONPATH=str(own)), excused)
    for want, count in counts.most_common():
        print(f"{count:5}  {want or 'not known'}")
    sys.exit(counts[None] > 0)


if __name__ == "__main__":
    main()
