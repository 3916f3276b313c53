"""What the benchmarks share: the disks, the options, the way onto a slow disk, the order of runs, what is told of the machine."""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
DISKS = {"network": "network latency=5ms servers=0", "disk": "disk seek-min=1ms seek-max=16ms rpm=7200 bandwidth=150M"}


def folder(word):
    """As it is called from anywhere: benchmarks change directories."""
    return Path(word).resolve()


def program(word):
    """The same of a program, which is a word of commands."""
    return str(folder(word))


def options(text, what):
    """A parser with the options all of them have; `what` is run again and again."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foresee", type=program, default=str(ROOT / "target/release/foresee"), help="the foresee to measure")
    parser.add_argument("--slowdisk", type=program, default=str(ROOT / "target/release/slowdisk"), help="the slowdisk to measure on")
    parser.add_argument("--rounds", type=int, default=3, help=f"runs of each arm of each {what}")
    parser.add_argument("--results", type=folder, default=BENCH / "results", help="where raw results go")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    return parser


def choice(parser, what):
    """The options of those that measure several things on several disks."""
    parser.add_argument("--disks", nargs="+", default=list(DISKS), choices=list(DISKS), help="disks to measure on")
    parser.add_argument("--only", nargs="+", help=f"only {what}")


def again(*words):
    """This script's own command, with more words."""
    return [sys.executable, str(Path(sys.argv[0]).resolve()), *sys.argv[1:], *words]


def on_slowdisk(arguments, disk, setup, command):
    """Runs a command on a slow disk with these options, which the shell's command `setup` has filled at full speed."""
    must_see_programs(arguments.foresee)
    process = subprocess.Popen([arguments.slowdisk, "run", *disk, "--setup", setup, "--", *command])
    try:
        status = process.wait()
    except BaseException:
        # It ends the command and undoes its work: killed, it could not.
        process.terminate()
        process.wait()
        raise
    if status != 0:
        sys.exit(status)


def must_see_programs(foresee):
    """A foresee copied without its preload library lets programs run as they would without it: that must not pass for its own time."""
    probe = [foresee, "run", "--no-learn", "--quiet", "--json", "-", "--", "true"]
    account = json.loads(subprocess.run(probe, check=True, capture_output=True).stdout)
    if account["status"] is None:
        sys.exit("\n".join(account["warnings"]))


def in_turn(arms, rounds):
    """The arms, each once a round, every other round backwards."""
    for number in range(rounds):
        yield from arms if number % 2 == 0 else reversed(arms)


def keep(arguments, name, raw):
    """Writes raw results to the folder for them."""
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n")


def machine(device=None):
    """What is told of the machine, and of the slow disk, beside the results."""
    told = {"kernel": platform.release(), "processors": os.cpu_count()}
    if device is not None:
        queue = Path("/sys/block") / Path(device).name / "queue"
        told["read_ahead_kb"] = int((queue / "read_ahead_kb").read_text())
        told["scheduler"] = (queue / "scheduler").read_text().strip()
    return told
