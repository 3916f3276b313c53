"""make bench-mounts: programs on the mounts that people have, plain and under foresee, which must never lose by it.

README.md here says what is measured, on what, and how. Raw results go to bench/results/mounts.json, and as they come; the table is
printed at the end. What is not installed, or not in this kernel, is named and left out. --quick is for a look in some minutes: fewer
and smaller files, and results of their own.
"""

import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402
import kinds  # noqa: E402
import servers  # noqa: E402
from jobs import jobs, make_data, make_warm  # noqa: E402
from limited import Disk  # noqa: E402
from report import FORESEEN, line, table  # noqa: E402

# What is soon over is run more often: a hundredth of it is less than what other processes take from it by chance.
SHORT_S, SHORT_TIMES = 2.0, 3


class Place:
    """Where a kind of mount is measured; all of it is gone with the stack."""

    def __init__(self, stack, arguments):
        self.scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foresee-mounts-")))
        self.mount = self.scratch / "mount"
        self.mount.mkdir()
        stack.callback(kinds.abandon, self.mount)
        self.data, self.slowlink = arguments.data, arguments.slowlink
        self.disk = Disk() if "SLOWDISK_MOUNT" in os.environ else None


def run(place, kind, job, prefix, learned):
    """The command on the mount, which is mounted for it alone: how long it took, what it moved, and what came out."""
    make_warm(place.data)
    kind.mount(place)
    settings = {"XDG_CACHE_HOME": str(learned), "PYTHONPATH": str(common.ROOT / "bindings/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    begun = time.perf_counter()
    # In a session of its own, so that all of it can be ended before its mount is.
    process = subprocess.Popen([*prefix, *job.command], cwd=place.mount, env={**os.environ, **settings}, stdout=subprocess.PIPE,
                               start_new_session=True)
    try:
        output = read(process.stdout, job.digest is not None)
        status = process.wait()
        took = time.perf_counter() - begun
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        moved = kind.unmount(place)
    if job.digest:
        output = job.digest(output) if status == 0 else None
    return {"elapsed_s": took, **moved, "status": status, "output": output}


def read(pipe, whole):
    """All that comes, or its checksum."""
    parts, total = [], 0
    while part := pipe.read1(1 << 20):
        if whole:
            parts.append(part)
        else:
            total = zlib.crc32(part, total)
    return b"".join(parts) if whole else total


def measure(arguments, place, kind, job):
    """Plain and foreseen in turn, every other round the other way round."""
    row = {"mount": kind.name, "job": job.name, "plain": [], **{arm: [] for arm in FORESEEN}, "last_accounts": {}}
    arms = {"plain": lambda: row["plain"].append(run(place, kind, job, [], place.scratch)),
            "foreseen": lambda: foreseen(arguments, place, kind, job, row)}
    for act in arms.values():
        act()
    rounds = arguments.rounds * (SHORT_TIMES if row["plain"][0]["elapsed_s"] < SHORT_S else 1)
    for arm in common.in_turn(list(reversed(arms)), rounds - 1):
        arms[arm]()
    row["same_output"] = len({(it["status"], it["output"]) for arm in ("plain", *FORESEEN) for it in row[arm]}) == 1
    return row


def foreseen(arguments, place, kind, job, row):
    """The second run goes by what the first one left, and the first one by nothing."""
    learned, account = place.scratch / "learned", place.scratch / "account.json"
    shutil.rmtree(learned, ignore_errors=True)
    learned.mkdir()
    for arm in FORESEEN:
        account.unlink(missing_ok=True)
        row[arm].append(run(place, kind, job, [arguments.foresee, "run", "--quiet", "--json", str(account), "--"], learned))
        row["last_accounts"][arm] = json.loads(account.read_text()) if account.exists() else None


def cell(arguments, kind, job):
    """One job on one kind of mount, with servers of its own. What cannot be mounted or unmounted is a result as well."""
    try:
        with contextlib.ExitStack() as stack:
            place = Place(stack, arguments)
            kind.start(stack, place)
            return measure(arguments, place, kind, job)
    except servers.Failed as why:
        return {"mount": kind.name, "job": job.name, "failed": str(why)}


def inside(arguments):
    """All the mounts, with the slow disk if there is one."""
    raw = {"quick": arguments.quick, "rounds": arguments.rounds, "latency_ms": servers.LATENCY_MS,
           "bandwidth_mb": servers.BANDWIDTH_MB, "slow_disk": kinds.SLOW_MODEL, "machine": common.machine(),
           "skipped": {}, "results": []}
    for kind in kinds.KINDS:
        if arguments.mounts and kind.name not in arguments.mounts:
            continue
        if lacking := kind.lacking():
            raw["skipped"][kind.name] = lacking
            print(f"{kind.name}: skipped: {lacking}", file=sys.stderr, flush=True)
            continue
        for job in jobs(arguments.quick):
            if arguments.only and not any(part in job.name for part in arguments.only):
                continue
            raw["results"].append(cell(arguments, kind, job))
            print(line(raw["results"][-1]), file=sys.stderr, flush=True)
            common.keep(arguments, name(arguments), raw)
    common.keep(arguments, name(arguments), raw)


def name(arguments):
    return "mounts-quick" if arguments.quick else "mounts"


def outside(arguments):
    """Makes the data, and the slow disk if a mount that is measured lies over one."""
    for program in (arguments.foresee, arguments.slowlink, Path(arguments.foresee).with_name("libforesee.so")):
        if not Path(program).exists():
            sys.exit(f"{program}: no such file; make build makes it")
    wanted = [kind for kind in kinds.KINDS if not arguments.mounts or kind.name in arguments.mounts]
    with tempfile.TemporaryDirectory(prefix="foresee-mounts-data-") as data:
        arguments.data = Path(data)
        make_data(arguments.data, arguments.quick)
        if not any(isinstance(kind, kinds.OverSlowDisk) and not kind.lacking() for kind in wanted):
            return inside(arguments)
        setup = f'cp -r {shlex.quote(data)}/. "$SLOWDISK_MOUNT"'
        common.on_slowdisk(arguments, ["--size", "1G"], setup, common.again("--data", data))


def leave(number, _):
    """Everything is undone on the way out, which a second signal must not cut short."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    parser = common.options(__doc__, "job")
    parser.add_argument("--slowlink", default=str(common.ROOT / "target/release/slowlink"), help="the slowlink to measure over")
    parser.add_argument("--only", nargs="+", help="only jobs whose name holds one of these")
    parser.add_argument("--mounts", nargs="+", choices=[kind.name for kind in kinds.KINDS], help="mounts to measure on")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller files")
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    if arguments.data:
        return inside(arguments)
    if not arguments.table:
        outside(arguments)
    table(arguments.results / f"{name(arguments)}.json")


if __name__ == "__main__":
    main()
