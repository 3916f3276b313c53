"""make bench-programs: what programs read in ways of their own, plainly, in a first run, in a second, and all in memory; on the hard disk
also what a sweep takes: all that the device was asked for in the plain run, once, in the order of its place.

Each run is made cold but for the program itself, and foresee; arms in turn, every other round the other way round; outputs are
compared. Raw results go to bench/results/seeing.json; the table is printed at the end. Needs what bench/run.py needs, numpy from the
package registry, and for their jobs PostgreSQL, ripgrep and go.
"""

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402
import others  # noqa: E402
import postgres  # noqa: E402
import sweep  # noqa: E402
from common import DISKS  # noqa: E402

BIG_MIB = 256
MEMMAP = """
import numpy
data = numpy.memmap("big", dtype=numpy.uint64, mode="r")
"""
IN_ORDER = MEMMAP + "print(int(numpy.add.reduce(data)))"
AT_RANDOM = MEMMAP + """
places = numpy.random.default_rng(5).integers(0, len(data), 2000)
print(sum(int(data[place]) for place in places) % 1000003)
"""


class Job(NamedTuple):
    name: str
    # What the first and the second run on network storage must gain at least; 0 where nothing was set.
    bar: tuple
    command: list
    # What it reads on the slow disk, and what brings the program itself into memory.
    data: str
    warmed: list
    # What foresee has run before the first run, cold too; not measured.
    before: list = None
    # What it prints comes in any order.
    in_any_order: bool = False


# Built once, beside the packages.
FILES = str(Path(os.environ.get("FORESEE_BENCH_PACKAGES", ".")) / "files")
SMALL_FILES = 4000
SMALL_BYTES = 6000


def numpy(name, bar, program):
    return Job(name, bar, [sys.executable, "-c", program], "big", [sys.executable, "-c", "import numpy, numpy.random"])


# Arms look up other keys each; what they print is the same.
LOOK_UPS = """
import random, sqlite3, sys
rows = sqlite3.connect("file:rows.db?mode=ro", uri=True)
keys = random.Random(sys.argv[1]).choices(range(400_000), k=2000)
print(sum(rows.execute("select length(text) from rows where key = ?", (f"k{key:012}",)).fetchone()[0] for key in keys))
"""
FILL = """
import sqlite3
rows = sqlite3.connect("rows.db")
rows.execute("create table rows(id integer primary key, key text, text text)")
rows.executemany("insert into rows values(?, ?, ?)", ((key, f"k{key:012}", "x" * 100) for key in range(400_000)))
rows.execute("create index keys on rows(key)")
rows.commit()
"""
PACKAGES = ["pandas", "scikit-learn", "pyarrow"]
IMPORTS = "import sys; sys.path.insert(0, 'packages'); sys.dont_write_bytecode = True\n"
IMPORT = IMPORTS + "import pandas, sklearn.linear_model, pyarrow\nprint(pandas.__version__)"
ANOTHER = IMPORTS + "import pyarrow, sklearn.linear_model\nimport pandas as pd\nprint(len(pd.__version__))"


def python(name, bar, words, data, before=None):
    loaded = "import random, sqlite3, ssl, json, ctypes"
    command = lambda words: [sys.executable, "-c", *words]  # noqa: E731
    return Job(name, bar, command(words), data, command([loaded]), before and command(before))


JOBS = [
    numpy("numpy.memmap in order, 256 MiB", (5, 10), IN_ORDER),
    numpy("numpy.memmap, 2,000 at random", (1, 8), AT_RANDOM),
    *postgres.jobs(Job),
    python("SQLite, 2,000 look-ups, other keys each run", (1, 1.8), [LOOK_UPS, "{arm}"], "rows.db"),
    python("three large packages", (0, 0), [IMPORT], "packages"),
    python("three large packages, another script ran before", (3, 3), [IMPORT], "packages", [ANOTHER]),
    python("three large packages, one argument more than before", (3, 3), [IMPORT, "more"], "packages", [IMPORT]),
    Job("static Go program, 4,000 files in directory order", (5, 10), [FILES, "small"], "small", [FILES]),
    *others.jobs(Job, python),
]
ARMS = ["plain", "first", "second", "warm"]


def make_cold(arguments, job, cache):
    """Nothing of the data is in memory; the program, and what it loads, is, and so is foresee."""
    subprocess.run(["sync"], check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
    for program in [[], [arguments.foresee, "run", "--quiet", "--no-learn", "--"]]:
        subprocess.run([*program, *job.warmed], check=True, env=environment(cache), stdout=subprocess.DEVNULL)


def make_warm(data):
    """All of the data is in memory: of a file, or of a folder."""
    for path in [data, *data.rglob("*")]:
        if path.is_file():
            path.read_bytes()


def environment(cache):
    return {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": os.environ["FORESEE_BENCH_PACKAGES"]}


def run(arguments, arm, job, cache, sweeps):
    """One run: how long it took, what it printed, the account."""
    account = cache / "account.json"
    account.unlink(missing_ok=True)
    words = [word.replace("{arm}", arm) for word in map(str, job.command)]
    if arm == "first" and job.before:
        make_cold(arguments, job, cache)
        subprocess.run([arguments.foresee, "run", "--quiet", "--", *job.before], env=environment(cache), capture_output=True, check=True)
    prefix = [] if arm in ("plain", "warm") else [arguments.foresee, "run", "--quiet", "--json", str(account), "--"]
    if arm == "warm":
        make_warm(Path(job.data))
    else:
        make_cold(arguments, job, cache)
    device = os.environ["SLOWDISK_DEVICE"]
    with sweep.recorded(device) if arm == "plain" and sweeps else nullcontext() as reads:
        begun = time.perf_counter()
        done = subprocess.run([*prefix, *words], env=environment(cache), capture_output=True, check=True)
        took = time.perf_counter() - begun
    told = json.loads(account.read_text()) if account.exists() else None
    kept = {key: told[key] for key in ("own_cpu_s", "prefetched")} if told else None
    output = done.stdout.decode()
    if job.in_any_order:
        output = "".join(sorted(output.splitlines(keepends=True)))
    result = {"elapsed_s": took, "output": output, "account": kept}
    if reads:
        make_cold(arguments, job, cache)
        result["sweep_s"] = sweep.sweep(device, reads)
    return result


def measure(arguments, job, directory, sweeps):
    row = {"job": job.name, **{arm: [] for arm in ARMS}}
    for arms in ([ARMS, ["warm", "first", "second", "plain"]] * arguments.rounds)[: arguments.rounds]:
        cache = directory / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir()
        for arm in arms:
            row[arm].append(run(arguments, arm, job, cache, sweeps))
    row["same_output"] = len({it["output"] for arm in ARMS for it in row[arm]}) == 1
    return row


def wanted(arguments):
    """The jobs that are asked for."""
    return [job for job in JOBS if not arguments.only or any(part in job.name for part in arguments.only)]


def setup(jobs):
    """What fills the slow disk with the data of these jobs."""
    small = f"mkdir small; head -c {SMALL_FILES * SMALL_BYTES} /dev/urandom | split -a 4 -d -b {SMALL_BYTES} - small/f"
    fill = {
        "big": f"head -c {BIG_MIB << 20} /dev/urandom > big",
        "small": small,
        "cluster": postgres.SETUP,
        "rows.db": f"{sys.executable} -c {shlex.quote(FILL)}",
        **others.SETUP,
        "packages": f"{sys.executable} -m pip install --quiet --target packages {' '.join(PACKAGES)}",
    }
    needed = [data for job in jobs for data in (others.MADE_OF.get(job.data), job.data) if data]
    return "\n".join(f'cd "$SLOWDISK_MOUNT"\n{fill[data]}' for data in dict.fromkeys(needed))


def others_rows(arguments):
    """The rows of earlier results that are not measured now."""
    path = arguments.results / "seeing.json"
    rows = json.loads(path.read_text())["results"] if path.exists() else []
    now = {job.name for job in wanted(arguments)}
    return [row for row in rows if row["disk"] not in arguments.disks or row["job"] not in now]


def place(row):
    """Where a row stands in the table."""
    return list(DISKS).index(row["disk"]), [job.name for job in JOBS].index(row["job"])


def inside(arguments):
    """Runs in the slow directory, under slowdisk."""
    os.chdir(os.environ["SLOWDISK_MOUNT"])
    control = Path(os.environ["SLOWDISK_CONTROL"])
    raw = {"machine": common.machine(os.environ["SLOWDISK_DEVICE"]), "results": others_rows(arguments)}
    with tempfile.TemporaryDirectory() as directory:
        for disk in arguments.disks:
            control.write_text(DISKS[disk] + "\n")
            for job in wanted(arguments):
                print(f"{disk}: {job.name}", file=sys.stderr, flush=True)
                raw["results"].append({"disk": disk, **measure(arguments, job, Path(directory), disk == "disk" and sweep.can_record())})
                raw["results"].sort(key=place)
                # What is interrupted keeps what it has.
                common.keep(arguments, "seeing", raw)


def table(results):
    raw = json.loads((results / "seeing.json").read_text())
    print(f"Linux {raw['machine']['kernel']}, {raw['machine']['processors']} processors, medians of so many rounds")
    heads = ["disk", "job", "rounds", "plain", "first run", "second run", "at least (network)", "in memory", "one sweep"]
    print("|", " | ".join([*heads, "foresee's CPU, first and second"]), "|")
    print("| --- | --- |" + " ---: |" * (len(heads) - 1))
    bars = {job.name: job.bar for job in JOBS}
    for row in raw["results"]:
        plain, first, second, warm = (statistics.median(it["elapsed_s"] for it in row[arm]) for arm in ARMS)
        cpu = [statistics.median(it["account"]["own_cpu_s"] for it in row[arm]) for arm in ("first", "second")]
        bar = bars[row["job"]] if row["disk"] == "network" else (0, 0)
        bar = " / ".join(f"{it}x" for it in bar) if any(bar) else ""
        sweeps = [it["sweep_s"] for it in row["plain"] if "sweep_s" in it]
        swept = f"{statistics.median(sweeps):.2f} s" if sweeps else ""
        note = "" if row["same_output"] else " (outputs differ)"
        print(f"| {row['disk']} | {row['job']}{note} | {len(row['plain'])} | {plain:.2f} s "
              f"| {plain / first:.1f}x | {plain / second:.1f}x | {bar} | {warm:.2f} s | {swept} | {cpu[0]:.2f} s, {cpu[1]:.2f} s |")


def main():
    parser = common.options(__doc__, "job")
    common.choice(parser, "jobs whose name holds one of these")
    arguments = parser.parse_args()
    if "SLOWDISK_MOUNT" in os.environ:
        return inside(arguments)
    if not arguments.table:
        with tempfile.TemporaryDirectory() as packages:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, *others.NEEDED], check=True)
            os.environ["FORESEE_BENCH_PACKAGES"] = packages
            go = {**os.environ, "CGO_ENABLED": "0"}
            subprocess.run(["go", "build", "-o", Path(packages) / "files", HERE / "files.go"], check=True, env=go)
            common.on_slowdisk(arguments, ["--size", "2G"], setup(wanted(arguments)), common.again())
    table(arguments.results)


if __name__ == "__main__":
    main()
