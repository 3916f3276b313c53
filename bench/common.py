"""What the benchmarks share: the disks, the options, what is told of the machine."""

import argparse
import os
import platform
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
DISKS = {"network": "network latency=5ms servers=0", "disk": "disk seek-min=1ms seek-max=16ms rpm=7200 bandwidth=150M"}


def options(text, what):
    """A parser with the options all of them have; `what` is run again and again."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foresee", default=str(ROOT / "target/release/foresee"), help="the foresee to measure")
    parser.add_argument("--slowdisk", default=str(ROOT / "target/release/slowdisk"), help="the slowdisk to measure on")
    parser.add_argument("--rounds", type=int, default=3, help=f"runs of each arm of each {what}")
    parser.add_argument("--results", type=lambda path: Path(path).resolve(), default=BENCH / "results", help="where raw results go")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    return parser


def choice(parser, what):
    """The options of those that measure several things on several disks."""
    parser.add_argument("--disks", nargs="+", default=list(DISKS), choices=list(DISKS), help="disks to measure on")
    parser.add_argument("--only", nargs="+", help=f"only {what}")


def machine(device=None):
    """What is told of the machine, and of the slow disk, beside the results."""
    told = {"kernel": platform.release(), "processors": os.cpu_count()}
    if device is not None:
        queue = Path("/sys/block") / Path(device).name / "queue"
        told["read_ahead_kb"] = int((queue / "read_ahead_kb").read_text())
        told["scheduler"] = (queue / "scheduler").read_text().strip()
    return told
