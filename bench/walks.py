"""make bench-walks: programs that walk a tree and read no file of it, in their first run, with and without foresee, in turn.

The tree is in no cache, or two thirds of it are: then the program is ahead of the walk time and again. Beside the medians stands the
slowest run, for a walk that falls behind and stays there shows in some runs only. Raw results go to bench/results/walks-*.json; needs
what bench/run.py needs.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import common
from common import DISKS
from limited import Disk
from listing import run

FOLDERS, FILES = 170, 120
BYTES = 100
JOBS = {
    "du": ["du", "-s", "--apparent-size", "tree"],
    "find, by name": ["find", "tree", "-name", "f00*"],
    "find, by size": ["find", "tree", "-size", "+1M"],
    "ls": ["ls", "-lR", "tree"],
}
# Of each three folders so many are looked through before.
STATES = {"cold": 0, "two thirds in memory": 2}


def populate(root):
    for folder in range(FOLDERS):
        (root / f"tree/d{folder:03d}").mkdir(parents=True)
        for file in range(FILES):
            (root / f"tree/d{folder:03d}/f{file:03d}").write_bytes(bytes(BYTES))


def measure(arguments, disk, model, job, state, account):
    row = {"job": job, "state": state, "plain_s": [], "foreseen_s": [], "own_cpu_s": []}
    said = set()
    for arm in common.in_turn(["plain", "foreseen"], arguments.rounds):
        foreseen = arm == "foreseen"
        prefix = [arguments.foresee, "run", "--no-learn", "--quiet", "--json", str(account), "--"] if foreseen else []
        disk.make_cold(model)
        warm = [f"tree/d{folder:03d}" for folder in range(FOLDERS) if folder % 3 < STATES[state]]
        if warm:
            run([], ["du", "-s", *warm], disk.mount)
        took, output = run(prefix, JOBS[job], disk.mount)
        said.add(output)
        row[f"{arm}_s"].append(took)
        if foreseen:
            row["own_cpu_s"].append(json.loads(account.read_text())["own_cpu_s"])
    row["same_output"] = len(said) == 1
    return row


def inside(arguments):
    disk = Disk()
    with tempfile.TemporaryDirectory() as directory:
        for model in arguments.disks:
            results = []
            for state in STATES:
                for job in JOBS:
                    if arguments.only and not any(part in job for part in arguments.only):
                        continue
                    results.append(measure(arguments, disk, model, job, state, Path(directory) / "account.json"))
                    print(line(results[-1]), file=sys.stderr, flush=True)
            raw = {"disk": DISKS[model], "rounds": arguments.rounds, "folders": FOLDERS, "files": FILES,
                   "machine": common.machine(disk.device), "results": results}
            disk.control.write_text("off\n")
            common.keep(arguments, f"walks-{model}", raw)


def line(row):
    plain, foreseen = (statistics.median(row[key]) for key in ("plain_s", "foreseen_s"))
    same = "" if row["same_output"] else " OUTPUT DIFFERS"
    return (f"| {row['job']}, {row['state']}{same} | {plain:.2f} s | {foreseen:.2f} s | {plain / foreseen:.1f}x "
            f"| {max(row['plain_s']):.2f} s | {max(row['foreseen_s']):.2f} s | {statistics.median(row['own_cpu_s']):.2f} s |")


def table(results):
    for path in sorted(results.glob("walks-*.json")):
        raw = json.loads(path.read_text())
        print(f"\n{raw['disk']}; {raw['folders'] * raw['files']} files in {raw['folders']} folders, medians of {raw['rounds']} runs each\n")
        print("| walk | without | with | ratio | slowest without | slowest with | foresee's CPU |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        print("\n".join(line(row) for row in raw["results"]))


def main():
    parser = common.options(__doc__, "walk")
    common.choice(parser, "walks whose name holds one of these")
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
