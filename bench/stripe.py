"""make bench-stripe: one file striped over 1, 2 and 4 slow disks, read with and without foresee.

Each disk is a slowdisk of its own, one run inside the other. The file is read as it is on one disk as well, which prices the way
through FUSE. Raw results go to bench/results/stripe.json; needs what bench/run.py needs, and gcc.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
from common import ROOT

DISK = "disk seek-min=1ms seek-max=16ms rpm=7200 bandwidth=50M"
DISKS = 4
FILE_BYTES = 256 << 20
READS = 1000
NAME = "stripe"


def tell(controls, line):
    for control in controls:
        Path(control).write_text(line + "\n")


def make_cold(path):
    """For the file as it is: what is mounted anew is cold, and members are read past the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def inside(arguments, mounts, controls):
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        source = ROOT / "bindings/c"
        subprocess.run(["gcc", "-O2", f"-I{source}", "-o", "random_reads", source / "examples/random_reads.c",
                        source / "foresee.c", "-ldl"], check=True)
        plain = Path(mounts[0]) / "plain"
        with open(plain, "wb") as out:
            for _ in range(FILE_BYTES >> 20):
                out.write(os.urandom(1 << 20))
        make_cold(plain)
        jobs = {"cat": ["cat"], "random": ["./random_reads"]}
        results = []
        for disks in (0, 1, 2, 4):
            members = [f"{mount}/member{disks}" for mount in mounts[:disks]]
            if disks:
                subprocess.run([arguments.foresee, "stripe", "split", plain, *members], check=True)
            for job, words in jobs.items():
                row = {"disks": disks, "job": job, "plain_s": [], "foreseen_s": []}
                said = set()
                for number in range(2 * arguments.rounds):
                    foreseen = number % 2 == 1
                    command = [*words, "shown" if disks else plain, *([str(READS)] if job == "random" else [])]
                    if foreseen:
                        command = [arguments.foresee, "run", "--no-learn", "--quiet", "--", *command]
                    if disks:
                        command = [arguments.foresee, "stripe", "mount", "shown", *members, "--", *command]
                    else:
                        make_cold(plain)
                    tell(controls, DISK)
                    begun = time.perf_counter()
                    with open("said", "wb") as out:
                        subprocess.run(command, check=True, stdout=subprocess.DEVNULL if job == "cat" else out)
                    row["foreseen_s" if foreseen else "plain_s"].append(time.perf_counter() - begun)
                    tell(controls, "off")
                    said.add(Path("said").read_bytes())
                row["same_output"] = len(said) == 1
                results.append(row)
                print(line(row), file=sys.stderr, flush=True)
        raw = {"disk": DISK, "rounds": arguments.rounds, "file_bytes": FILE_BYTES, "random_reads": READS,
               "machine": common.machine(), "results": results}
        common.keep(arguments, NAME, raw)


def line(row):
    plain, foreseen = (statistics.median(row[key]) for key in ("plain_s", "foreseen_s"))
    what = f"{row['disks']} striped" if row["disks"] else "1, not striped"
    same = "" if row["same_output"] else " OUTPUT DIFFERS"
    return f"| {row['job']}{same} | {what} | {plain:.2f} s | {foreseen:.2f} s | {plain / foreseen:.1f}x |"


def table(results):
    raw = json.loads((results / f"{NAME}.json").read_text())
    print(f"{raw['disk']}; medians of {raw['rounds']} runs each\n\n| job | disks | without | with | ratio |")
    print("| --- | --- | ---: | ---: | ---: |")
    print("\n".join(line(row) for row in sorted(raw["results"], key=lambda row: (row["job"], row["disks"]))))


def main():
    parser = common.options(__doc__, "job")
    parser.add_argument("--disk", action="append", nargs=2, default=[], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        return table(arguments.results)
    again = list(sys.argv[1:])
    if "SLOWDISK_MOUNT" in os.environ:
        found = [os.environ["SLOWDISK_MOUNT"], os.environ["SLOWDISK_CONTROL"]]
        arguments.disk.append(found)
        again += ["--disk", *found]
    if len(arguments.disk) == DISKS:
        return inside(arguments, *zip(*arguments.disk))
    command = [arguments.slowdisk, "run", "--quiet", "--model", "off", "--size", "1G", "--"]
    status = subprocess.run([*command, sys.executable, __file__, *again]).returncode
    if status == 0 and not arguments.disk:
        table(arguments.results)
    sys.exit(status)


if __name__ == "__main__":
    main()
