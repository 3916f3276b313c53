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
import statistics
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

ARMS = ("plain", "first", "second")
# Of the plain run's.
MOST_TIME, MOST_BYTES = 1.03, 1.05


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
    """Each arm each round; the second run goes by what the first one left, and the first one by nothing."""
    row = {"mount": kind.name, "job": job.name, **{arm: [] for arm in ARMS}, "accounts": []}
    learned, account = place.scratch / "learned", place.scratch / "account.json"
    foresee = [arguments.foresee, "run", "--quiet", "--json", str(account), "--"]
    for arm in common.in_turn(["plain", "foreseen"], arguments.rounds):
        if arm == "plain":
            row["plain"].append(run(place, kind, job, [], learned))
            continue
        shutil.rmtree(learned, ignore_errors=True)
        learned.mkdir()
        for arm in ARMS[1:]:
            account.unlink(missing_ok=True)
            row[arm].append(run(place, kind, job, foresee, learned))
            row["accounts"].append(json.loads(account.read_text()) if account.exists() else None)
    row["same_output"] = len({(it["status"], it["output"]) for arm in ARMS for it in row[arm]}) == 1
    return row


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
            with contextlib.ExitStack() as stack:
                place = Place(stack, arguments)
                kind.start(stack, place)
                raw["results"].append(measure(arguments, place, kind, job))
            print(line(raw["results"][-1]), file=sys.stderr, flush=True)
            common.keep(arguments, name(arguments), raw)
    common.keep(arguments, name(arguments), raw)


def name(arguments):
    return "mounts-quick" if arguments.quick else "mounts"


def median(row, arm, key):
    return statistics.median(it[key] for it in row[arm])


def ratio(row, arm, key):
    plain, foreseen = median(row, "plain", key), median(row, arm, key)
    return foreseen / plain if plain else float(foreseen > 0)


def requests(row):
    """By their kind, where these can be told."""
    kinds_of = sorted({word for it in row["plain"] for word in it["requests"]})
    counts = [(statistics.median(it["requests"].get(word, 0) for it in row["plain"]), word) for word in kinds_of]
    return ", ".join(f"{count:,.0f} {word}" for count, word in counts)


def too_much(row):
    """What foresee costs that it must not cost, in words."""
    for arm in ARMS[1:]:
        for key, most, what in (("elapsed_s", MOST_TIME, "time"), ("bytes", MOST_BYTES, "bytes")):
            if (found := ratio(row, arm, key)) > most:
                amounts = [f"{median(row, it, key):.2f} s" if key == "elapsed_s" else f"{median(row, it, key) / 2**20:.1f} MiB"
                           for it in ("plain", arm)]
                yield f"{row['mount']}: {row['job']}, {arm} run: {found:.2f} x the {what} ({' -> '.join(amounts)})"
    if not row["same_output"]:
        yield f"{row['mount']}: {row['job']}: output or exit status DIFFERS"


def line(row):
    cells = []
    for arm in ARMS[1:]:
        for key, most in (("elapsed_s", MOST_TIME), ("bytes", MOST_BYTES)):
            found = ratio(row, arm, key)
            cells.append(f"**{found:.2f}**" if found > most else f"{found:.2f}")
    plain = f"{median(row, 'plain', 'elapsed_s'):.2f} s | {median(row, 'plain', 'bytes') / 2**20:.1f} | {requests(row)}"
    return f"| {row['mount']} | {row['job']} | {plain} | {' | '.join(cells)} |"


def table(path):
    raw = json.loads(path.read_text())
    print(f"\n{raw['latency_ms']} ms on each answer, {raw['bandwidth_mb']} MB/s; bindfs and overlayfs over a slow disk: {raw['slow_disk']}; "
          f"Linux {raw['machine']['kernel']}, {raw['machine']['processors']} processors, medians of {raw['rounds']} runs each\n"
          "under foresee: time and bytes over those of the plain run\n")
    print("| mount | job | plain | MiB | requests | first run: time | bytes | second run: time | bytes |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(line(row) for row in raw["results"]))
    for kind, why in raw["skipped"].items():
        print(f"\nskipped: {kind}: {why}")
    found = [words for row in raw["results"] for words in too_much(row)]
    print(f"\nslower than {MOST_TIME} x plain, or more than {MOST_BYTES} x its bytes: {len(found) or 'none'}")
    print("\n".join(found))


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
    try:
        if arguments.data:
            return inside(arguments)
        if not arguments.table:
            outside(arguments)
    except servers.Failed as why:
        sys.exit(str(why))
    table(arguments.results / f"{name(arguments)}.json")


if __name__ == "__main__":
    main()
