"""make bench-short: short commands whose files are all in memory, where there is nothing to gain: what foresee costs them.

Each runs plain, under foresee as a command of which nothing is known (`--no-learn`), and as one that ran before, in turn. Beside the
medians stands the processor time of all that takes part. Raw results go to bench/results/short.json. What needs git, gcc or sqlite3 is
left out, and says so, where they are not.
"""

import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

FOLDERS, FILES, FILE_BYTES = 20, 50, 2000
LARGE_BYTES = 256 << 20
ROWS = 100_000
# The first of these record the command, and find all in memory.
BEFORE = 4

# The command, and what it needs.
JOBS = {
    "true": (["true"], None),
    "100 processes": (["sh", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done"], None),
    "grep -r, 1,000 files": (["grep", "-rc", "needle", "tree"], None),
    "find, 1,000 files": (["find", "tree", "-size", "+1M"], None),
    "tar, 1,000 files": (["sh", "-c", "tar c tree | cat > /dev/null"], None),
    "dd, 256 MiB by 1 MiB": (["dd", "if=large", "of=/dev/null", "bs=1M", "status=none"], None),
    "sqlite3, some 4,000 reads": (["sqlite3", "rows.db", "select sum(length(data)) from rows where bucket < 40"], "sqlite3"),
    "git status, 1,000 files": (["git", "-C", "tree", "status", "--short"], "git"),
    "gcc -c of a line": (["gcc", "-c", "line.c", "-o", "line.o"], "gcc"),
    "python3, some imports": (["python3", "-c", "import asyncio, json, sqlite3, urllib.request"], None),
}
ARMS = {"plain": None, "unknown": ["--no-learn"], "known": []}


def populate():
    for folder in range(FOLDERS):
        for file in range(FILES):
            path = Path("tree", str(folder), f"{file}.txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(FILE_BYTES))
    Path("large").write_bytes(os.urandom(LARGE_BYTES))
    Path("line.c").write_text("int main(void) { return 0; }\n")
    with sqlite3.connect("rows.db") as database:
        database.execute("create table rows (id integer primary key, bucket integer, data blob)")
        database.executemany("insert into rows values (?, ?, ?)", ((row, row * 7919 % 1000, os.urandom(200)) for row in range(ROWS)))
        database.execute("create index by_bucket on rows (bucket)")
    database.close()
    if shutil.which("git"):
        for words in (["init", "--quiet"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "all"]):
            subprocess.run(["git", "-C", "tree", *words], check=True, stdout=subprocess.DEVNULL)


def run(command):
    """How long it took, and for how long it had processors, in ms."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"ms": 1e3 * took, "cpu_ms": 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)}


def measure(arguments):
    rows = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as directory:
        os.chdir(directory)
        os.environ["XDG_CACHE_HOME"] = directory + "/cache"
        populate()
        for name, (words, needed) in JOBS.items():
            if needed and not shutil.which(needed):
                print(f"skipped: {name}, without {needed}", file=sys.stderr)
                continue
            commands = {arm: words if options is None else [arguments.foresee, "run", "--quiet", *options, "--", *words]
                        for arm, options in ARMS.items()}
            for _ in range(BEFORE):
                run(commands["known"])
            runs = {arm: [] for arm in ARMS}
            for arm in common.in_turn(list(ARMS), arguments.rounds):
                runs[arm].append(run(commands[arm]))
            rows[name] = runs
            print(line(name, runs), file=sys.stderr, flush=True)
        os.chdir("/")
    common.keep(arguments, "short", {"machine": common.machine(), "rows": rows})


def line(name, runs):
    of = {key: [statistics.median(it[key] for it in runs[arm]) for arm in ARMS] for key in ("ms", "cpu_ms")}
    return f"| {name} | " + " | ".join(f"{it:.1f}" for it in of["ms"] + of["cpu_ms"]) + " |"


def table(arguments):
    raw = json.loads((arguments.results / "short.json").read_text())
    print(f"\nMedians in ms; Linux {raw['machine']['kernel']}, {raw['machine']['processors']} processors\n")
    print("| command | plain | unknown | known | processors: plain | unknown | known |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, runs in raw["rows"].items():
        print(line(name, runs))


def main():
    parser = common.options(__doc__, "command")
    parser.set_defaults(rounds=25)
    arguments = parser.parse_args()
    if not arguments.table:
        measure(arguments)
    table(arguments)


if __name__ == "__main__":
    main()
