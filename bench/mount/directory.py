#!/usr/bin/env python3
"""A directory on a slow disk, plain and by foresee mount: 5 ms a request, any number at a time.

The jobs are those of run.py; what is counted is what the disk was asked for. Needs root, /dev/fuse and loop devices. Raw results stay in
bench/results/mount-directory.json.
"""

import argparse
import shlex
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH / "mount"), str(BENCH), str(BENCH / "mounts")]

import run  # noqa: E402  (this folder's, which looks elsewhere for what follows)
import common  # noqa: E402
import kinds  # noqa: E402

IMAGE = "2G"


class Bare(kinds.OverSlowDisk):
    """The kernel alone."""

    def attach(self, place):
        kinds.mount("none", "bind", place.disk.mount, place.mount)


class Foresee(kinds.ByDaemon, kinds.OverSlowDisk):
    def command(self, place):
        return [place.foresee, "mount", "--memory", f"{run.CACHE_MIB}MiB", place.disk.mount, place.mount]


MOUNTS = [Bare("plain"), Foresee("foresee")]
JOBS = [job for job in run.JOBS if job.before is None and run.FORESEE not in job.command]


def inside(arguments):
    raw = {"slow_disk": kinds.SLOW_MODEL, "machine": common.machine(), "results": []}
    for _ in range(arguments.rounds):
        for job in (job for job in JOBS if any(part in job.name for part in arguments.only)):
            for kind in (kind for kind in MOUNTS if not (job.is_told and kind.name == "plain")):
                raw["results"].append(run.cell(arguments, kind, job))
                print(run.line(raw["results"][-1]), file=sys.stderr, flush=True)
                common.keep(arguments, "mount-directory", raw)


def main():
    parser = run.options(__doc__)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.data:
        return inside(arguments)
    if not arguments.table:
        with tempfile.TemporaryDirectory(prefix="foresee-mount-data-") as data:
            run.make_data(Path(data))
            common.on_slowdisk(arguments, ["--size", IMAGE], f'cp -r {shlex.quote(data)}/. "$SLOWDISK_MOUNT"', common.again("--data", data))
    run.table(arguments.results / "mount-directory.json")


if __name__ == "__main__":
    main()
