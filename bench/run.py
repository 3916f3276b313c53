"""make bench: real programs on a slow disk, with and without foresee, in turn, in one run.

Raw results go to bench/results/, one JSON file a disk; the table is printed at the end. Needs root, /dev/fuse and loop
devices (see bench/slowdisk/README.md); python3 with pip; and, for the jobs that use them, tre-agrep and sqlite3.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
from common import BENCH, DISKS

# name, goal on network storage, goal on a hard disk, learn from a first run?, the command (in the slow directory)
QUERY = "SELECT count(*), sum(length(body)) FROM wanted CROSS JOIN item ON item.key = wanted.key"
JOBS = [
    ("grep -r, 1,500 small files", 12.0, 1.5, False, ["grep", "-r", "no such words", "tree"]),
    ("tre-agrep, 1,500 files named", 12.0, 1.5, False, ["sh:tre-agrep", "no such words at all", "tree/*/*"]),
    ("tar c of a source tree, second run", 10.0, 1.3, True, ["tar", "c", "source"]),
    ("SQLite index join, second run", 20.0, 10.0, True, ["sqlite3", "join.db", QUERY]),
    ("python import, second run", 4.0, 1.3, True, [sys.executable, "-c", "import sympy.printing.latex, sympy.physics.units"]),
    ("512 MiB sequential", 0.98, 0.98, False, ["cat", "big"]),
    ("512 MiB sequential, unknown to foresee", 0.98, 0.98, False, ["sh", "-c", "cat < big"]),
    ("1,500 wrong hints", 0.95, 0.90, False, ["sh:sh", "-c", "cat $0/*/*", "other", "tree/*/*"]),
]
# name, goal, the program of this folder, its arguments
WARM = [
    ("warm preads of 64 KiB", 0.99, "preads", ["small-enough", "65536", "200000"]),
    ("warm preads of 4 KiB", 0.95, "preads", ["small-enough", "4096", "2000000"]),
    ("warm opens", 0.97, "opens", ["warm", "100000"]),
]
PROCESSES = 500


def expand(command):
    """'sh:' before the program: its arguments hold patterns to be expanded here."""
    if not command[0].startswith("sh:"):
        return command
    words = [command[0][3:]]
    for word in command[1:]:
        words += sorted(str(path) for path in Path().glob(word)) if word.endswith("/*/*") and "$" not in word else [word]
    return words


def compare(foresee, job, rounds, directory):
    name, _, _, learn, command = job
    command = expand(command)
    if shutil.which(command[0]) is None:
        return {"job": name, "skipped": f"{command[0]} is not installed"}
    out = directory / "compare.json"
    environment = dict(os.environ, XDG_CACHE_HOME=str(directory / "cache"), PYTHONPATH="packages",
                       PYTHONDONTWRITEBYTECODE="1")
    options = ["--compare", str(rounds), "--json", str(out)] + ([] if learn else ["--no-learn"])
    done = subprocess.run([foresee, "run", *options, "--", *command], env=environment, stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        return {"job": name, "failed": done.returncode}
    return {"job": name, **json.loads(out.read_text())}


def prefix(foresee, arm):
    """What comes before a command of which nothing is to be learned."""
    return [foresee, "run", "--no-learn", "--quiet", "--"] if arm == "foreseen" else []


def warm(foresee, rounds, name, command):
    """Both arms read the same warm files; the program times its own reads, so start-up does not count."""
    times = {"plain": [], "foreseen": []}
    for arm in common.in_turn(list(times), rounds):
        printed = subprocess.run(prefix(foresee, arm) + command, check=True, capture_output=True, text=True).stdout
        times[arm].append(float(printed))
    ratio = statistics.median(times["plain"]) / statistics.median(times["foreseen"])
    return {"job": name, **{f"{arm}_ns": values for arm, values in times.items()}, "ratio": ratio}


def start_up(foresee, rounds, name, command, processes, goal):
    """What foresee adds to a command that does nothing but start so many processes: to each."""
    times = {"plain": [], "foreseen": []}
    for arm in common.in_turn(list(times), rounds * 4):
        begun = time.perf_counter()
        subprocess.run(prefix(foresee, arm) + command, check=True)
        times[arm].append((time.perf_counter() - begun) * 1e3 / processes)
    added = statistics.median(times["foreseen"]) - statistics.median(times["plain"])
    return {"job": name, "added_ms": added, "goal_ms": goal, **{f"{arm}_ms": values for arm, values in times.items()}}


def inside(arguments):
    """Runs in the slow directory, under slowdisk."""
    os.chdir(os.environ["SLOWDISK_MOUNT"])
    control = Path(os.environ["SLOWDISK_CONTROL"])
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        for program in {job[2] for job in WARM}:
            subprocess.run(["gcc", "-O2", "-o", directory / program, BENCH / f"{program}.c"], check=True)
        for disk in arguments.disks:
            control.write_text(DISKS[disk] + "\n")
            results = []
            for job in JOBS:
                if arguments.only and not any(part in job[0] for part in arguments.only):
                    continue
                print(f"{disk}: {job[0]}", file=sys.stderr, flush=True)
                results.append(compare(arguments.foresee, job, arguments.rounds, directory))
            if disk == "network" and not arguments.only:
                control.write_text("off\n")
                with open("small-enough", "wb") as out:
                    out.write(os.urandom(64 << 20))
                os.mkdir("warm")
                for number in range(1000):
                    Path("warm", str(number)).write_bytes(os.urandom(2000))
                rounds = max(arguments.rounds, 5)
                for name, _, program, words in WARM:
                    results.append(warm(arguments.foresee, rounds, name, [directory / program, *words]))
                many = f"i=0; while [ $i -lt {PROCESSES} ]; do /bin/true; i=$((i + 1)); done"
                for job in [("start-up added", ["true"], 1, 5), ("added to each process", ["sh", "-c", many], PROCESSES, 0.2)]:
                    results.append(start_up(arguments.foresee, rounds, *job))
            machine = common.machine(os.environ["SLOWDISK_DEVICE"])
            raw = {"disk": DISKS[disk], "rounds": arguments.rounds, "machine": machine, "results": results}
            common.keep(arguments, disk, raw)


def table(results):
    """Prints the table of what lies in the results folder."""
    for path in sorted(path for path in results.glob("*.json") if path.stem.startswith(tuple(DISKS))):
        raw = json.loads(path.read_text())
        at = 1 if path.stem.startswith("network") else 2
        goals = {job[0]: job[at] for job in JOBS} | {job[0]: job[1] for job in WARM}
        machine = raw["machine"]
        print(f"\n{raw['disk']}; read_ahead_kb {machine['read_ahead_kb']}, Linux {machine['kernel']}, "
              f"{machine['processors']} processors, medians of {raw['rounds']} runs each")
        print("| job | without | with | ratio | goal | foresee's CPU | memory |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for row in raw["results"]:
            print(line(row, goals.get(row["job"])))


def line(row, goal):
    name = row["job"]
    if "skipped" in row or "failed" in row:
        return f"| {name} | {row.get('skipped') or 'failed: ' + str(row['failed'])} | | | | | |"
    if "added_ms" in row:
        return f"| {name} | | {row['added_ms']:.2f} ms | | {row.get('goal_ms', 5)} ms | | |"
    if "plain_ns" in row:
        plain, foreseen = (statistics.median(row[key]) for key in ("plain_ns", "foreseen_ns"))
        return f"| {name} | {plain:.0f} ns | {foreseen:.0f} ns | {row['ratio']:.3f}x | {goal}x | | |"
    accounts = row["accounts"]
    cpu = statistics.median(account["own_cpu_s"] for account in accounts)
    memory = statistics.median(account["own_memory_bytes"] for account in accounts)
    same = "" if row["same_output"] else " OUTPUT DIFFERS"
    return (f"| {name}{same} | {row['plain_median_s']:.2f} s | {row['foreseen_median_s']:.2f} s | {row['ratio']:.2f}x "
            f"| {goal}x | {cpu:.2f} s | {memory / 2**20:.0f} MiB |")


def main():
    parser = common.options(__doc__, "job")
    common.choice(parser, "jobs whose name holds one of these")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        return inside(arguments)
    if not arguments.table:
        setup = f'{sys.executable} {BENCH / "populate.py"} "$SLOWDISK_MOUNT"'
        common.on_slowdisk(arguments, ["--size", "8G"], setup, common.again("--inside"))
    table(arguments.results)


if __name__ == "__main__":
    main()
