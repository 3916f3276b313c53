"""make bench-listing: programs that say nothing and read the files of a directory, with and without foresee, in turn.

Some follow the directory's order, by which foresee guesses what comes next; some read all of it in no order; some read little, and must
not pay for it. Neither the
command's words nor an earlier run are gone by. Raw results go to bench/results/listing-*.json; needs what bench/run.py needs.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import common
from common import DISKS
from limited import Disk

FILES = 1500
BYTES = (4096, 65536)
FOLDERS = 30
SAMPLES, SAMPLE_BYTES = 2000, (20 << 10, 100 << 10)
ARRAYS, ARRAY_BYTES = 5000, 20 << 10
UNSAID = ["--no-words", "--no-learn"]
READ = """
import os, random, sys, zlib
total = 0
def read(path):
    global total
    with open(path, "rb") as file:
        total = zlib.crc32(file.read(), total)
"""


def python(program):
    return [sys.executable, "-S", "-c", READ + program + "\nprint(total)"]


# Samples in random order, by processes that share the work.
LOADER = """
import glob, multiprocessing
def load(path):
    with open(path, "rb") as file:
        return zlib.crc32(file.read())
def loader(pattern, processes, first=None):
    names = sorted(glob.glob(pattern))
    random.Random(1).shuffle(names)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        return sum(pool.imap(load, names[:first]))
"""


def loader(arguments):
    return python(f"{LOADER}total = loader({arguments})")


# name, goal on network storage, the command (in the slow directory); goals of those that gain nothing are the cost allowed
JOBS = [
    ("find, xargs cat", 4.0, ["sh", "-c", "find files -type f | xargs cat"]),
    ("python, listdir", 4.0, python("for name in os.listdir('files'): read('files/' + name)")),
    ("python, sorted", 4.0, python("for name in sorted(os.listdir('files')): read('files/' + name)")),
    ("python, sorted, every other kind", 4.0,
     python("for name in sorted(os.listdir('files')): name.endswith('.txt') and read('files/' + name)")),
    ("a cat for each file", None, ["sh", "-c", "for f in files/*; do cat $f; done"]),
    ("python, 4 threads", None, python("from concurrent.futures import ThreadPoolExecutor as Pool\n"
                                       "crc = lambda name: zlib.crc32(open('files/' + name, 'rb').read())\n"
                                       "total = sum(Pool(4).map(crc, os.listdir('files')))")),
    ("python, a tree", None, python("for top, folders, names in os.walk('tree'):\n    for name in names: read(top + '/' + name)")),
    ("python, random order", 2.5,
     python("names = sorted(os.listdir('files')); random.Random(1).shuffle(names)\nfor name in names: read('files/' + name)")),
    ("loader, 4 processes, random order", 2.5, loader("'samples/*', 4")),
    ("loader, 1 process, 5,000 files in random order", 2.5, loader("'arrays/*', 1")),
    ("loader, 4 processes, a folder for each class", 2.5, loader("'tree/*/*', 4")),
    ("loader, 1 process, 60 of 5,000 files", 0.98, loader("'arrays/*', 1, 60")),
    ("python, stats all, reads few", 0.98,
     python("for at, name in enumerate(os.listdir('files')):\n"
            "    if os.stat('files/' + name).st_size and at % 10 == 0: read('files/' + name)")),
    ("python, five of each folder", 0.98,
     python("for top, folders, names in os.walk('tree'):\n    for name in names[:5]: read(top + '/' + name)")),
]


def populate(root):
    """Everything is made from a seed."""
    rng = random.Random(11)
    paths = [f"files/f{number:04d}.{'txt' if number % 2 else 'dat'}" for number in range(FILES)]
    paths += [f"tree/d{number * FOLDERS // FILES:02d}/f{number:04d}" for number in range(FILES)]
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(rng.randbytes(rng.randrange(*BYTES)))
    for folder, count, sizes in [("samples", SAMPLES, SAMPLE_BYTES), ("arrays", ARRAYS, (ARRAY_BYTES, ARRAY_BYTES + 1))]:
        (root / folder).mkdir()
        for number in range(count):
            (root / folder / f"s{number:04d}").write_bytes(rng.randbytes(rng.randrange(*sizes)))


def run(prefix, command, directory):
    """How long it took, and what came out, by its checksum."""
    begun = time.perf_counter()
    done = subprocess.run(prefix + command, cwd=directory, stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - begun, zlib.crc32(done.stdout)


def measure(arguments, disk, model, job, workshop):
    name, _, command = job
    account = workshop / "account.json"
    row = {"job": name, "plain_s": [], "foreseen_s": [], "plain_bytes": [], "foreseen_bytes": [], "accounts": []}
    said = set()
    for arm in common.in_turn(["plain", "foreseen"], arguments.rounds):
        foreseen = arm == "foreseen"
        prefix = [arguments.foresee, "run", *UNSAID, "--quiet", "--json", str(account), "--"] if foreseen else []
        disk.make_cold(model)
        took, output = run(prefix, command, disk.mount)
        said.add(output)
        row[f"{arm}_s"].append(took)
        row[f"{arm}_bytes"].append(disk.read_bytes())
        if foreseen:
            row["accounts"].append(json.loads(account.read_text()))
    row["same_output"] = len(said) == 1
    return row


def inside(arguments):
    disk = Disk()
    with tempfile.TemporaryDirectory() as directory:
        for model in arguments.disks:
            results = []
            for job in JOBS:
                if arguments.only and not any(part in job[0] for part in arguments.only):
                    continue
                results.append(measure(arguments, disk, DISKS[model], job, Path(directory)))
                print(line(results[-1]), file=sys.stderr, flush=True)
            raw = {"disk": DISKS[model], "rounds": arguments.rounds, "files": FILES, "file_bytes": BYTES,
                   "machine": common.machine(disk.device), "results": results}
            disk.control.write_text("off\n")
            common.keep(arguments, f"listing-{model}", raw)


def unread(account):
    """Blocks brought ahead by these guesses and never read, of those the program read."""
    sources = account["prefetched"]["by_source"]
    return sum(sources[it]["wasted"] for it in ("listing", "unordered") if it in sources) / account["manager"]["references"]


def line(row):
    plain, foreseen = (statistics.median(row[key]) for key in ("plain_s", "foreseen_s"))
    goal = next((job[1] for job in JOBS if job[0] == row["job"]), None)
    share = statistics.median(unread(account) for account in row["accounts"])
    cpu = statistics.median(account["own_cpu_s"] for account in row["accounts"])
    same = "" if row["same_output"] else " OUTPUT DIFFERS"
    return (f"| {row['job']}{same} | {plain:.2f} s | {foreseen:.2f} s | {plain / foreseen:.2f}x "
            f"| {f'{goal}x' if goal else ''} | {share:.1%} | {cpu:.2f} s |")


def table(results):
    for path in sorted(results.glob("listing-*.json")):
        raw = json.loads(path.read_text())
        print(f"\n{raw['disk']}; {raw['files']} files, medians of {raw['rounds']} runs each\n")
        print("| job | without | with | ratio | goal on network storage | brought and not read | foresee's CPU |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        print("\n".join(line(row) for row in raw["results"]))


def main():
    parser = common.options(__doc__, "job")
    common.choice(parser, "jobs whose name holds one of these")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--populate", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.populate:
        return populate(arguments.populate)
    if arguments.inside:
        return inside(arguments)
    if not arguments.table:
        setup = f'{sys.executable} {__file__} --populate "$SLOWDISK_MOUNT"'
        common.on_slowdisk(arguments, ["--size", "1G"], setup, common.again("--inside"))
    table(arguments.results)


if __name__ == "__main__":
    main()
