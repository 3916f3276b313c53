#!/usr/bin/env python3
"""Other people's test suites, plainly and under foresee: outcomes are compared test by test.

Each suite runs plainly twice, so that tests which differ between themselves are known as flaky, and then under `foresee run`. A
test whose outcome under foresee is another one than plainly fails this command. What is missing is named with the way to get it.
What was found is kept in bench/results/programs.json.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import common  # noqa: E402
import sources  # noqa: E402

NAME = "programs"

# What of CPython's tests opens, reads, maps, forks, signals and talks, a few minutes each time.
PYTHON_MODULES = """test_asyncio.test_subprocess test_builtin test_bufio test_bz2 test_dbm_dumb test_faulthandler test_fcntl test_file
test_fileinput test_fileio test_filecmp test_fork1 test_genericpath test_glob test_gzip test_import test_io test_largefile
test_linecache test_lzma test_mailbox test_mmap test_multiprocessing_fork.WithProcessesTestConnection
test_multiprocessing_fork.WithProcessesTestProcess test_multiprocessing_fork.WithProcessesTestSharedMemory
test_multiprocessing_spawn.WithProcessesTestConnection test_multiprocessing_spawn.WithProcessesTestProcess
test_multiprocessing_spawn.WithProcessesTestSharedMemory test_openpty test_os test_pathlib test_pipes test_poll test_posix
test_posixpath test_pty test_pwd test_select test_selectors test_shelve test_shutil test_signal test_socket test_sqlite3 test_stat
test_subprocess test_tarfile test_tempfile test_threading test_univnewlines test_wait3 test_wait4 test_zipapp test_zipfile
test_zipimport""".split()


class Missing(Exception):
    """A suite cannot run here, and what would let it."""


def run(command, directory, **more):
    """What it printed, whatever its exit status; that is an outcome as well."""
    done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", **more)
    return done.returncode, done.stdout


def make(command, directory):
    """Prepares a suite; the same for all runs."""
    status, said = run(command, directory)
    if status:
        sys.exit(f"{' '.join(map(str, command))} in {directory} failed:\n{said[-3000:]}")


def python_suite(arguments, workshop):
    del workshop
    python = arguments.python
    if run([python, "-c", "import test.test_os"], "/")[0]:
        version = run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], "/")[1].strip()
        raise Missing(f"{python} has no tests of its own: apt-get install libpython{version}-testsuite, or --python of another build")

    def once(prefix, directory):
        outcomes = {}
        for module in PYTHON_MODULES:
            status, said = run([*prefix, python, str(HERE / "outcomes.py"), module], directory)
            outcomes[f"{module} exit status"] = str(status)
            outcomes.update(re.findall(r"^outcome (\S+) (\S+)$", said, re.M))
        return outcomes

    return once


def made(name, targets, check, outcome, arguments, workshop):
    """A suite that is made and checked in its own source tree, which each run has for itself."""
    tree = sources.tree(name, workshop, Missing)
    for target in targets:
        make(target, tree)

    def once(prefix, directory):
        copy = Path(directory) / name
        shutil.copytree(tree, copy, symlinks=True)
        status, said = run([*prefix, *check], copy)
        found = {test: word for test, word in map(outcome, re.finditer(r"^.*$", said, re.M)) if test}
        if not found:
            sys.exit(f"{name}: no outcome in what {' '.join(check)} said:\n{said[-3000:]}")
        return {"exit status": str(status), **found}

    del arguments
    return once


def zlib_outcome(line):
    found = re.match(r"\s*\*\*\* (.*test) (\w+) \*\*\*", line[0])
    return (found[1], found[2]) if found else (None, None)


def busybox_outcome(line):
    found = re.match(r"(PASS|FAIL|SKIPPED|UNTESTED): (.*)", line[0])
    return (found[2], found[1]) if found else (None, None)


def zlib_suite(arguments, workshop):
    return made("zlib", [["./configure"], ["make", "-j2"]], ["make", "check"], zlib_outcome, arguments, workshop)


def busybox_suite(arguments, workshop):
    targets = [["make", "defconfig"], ["make", "-j2"]]
    return made("busybox", targets, ["make", "check"], busybox_outcome, arguments, workshop)


POSTGRES = r"""
step() { name=$1; shift; "$@" > "$name.said" 2>&1; echo "outcome $name $?"; }
step initdb initdb -D data --no-sync
step start pg_ctl -D data -w -o "-k $PWD -c listen_addresses= -c fsync=off" -l log start
step createdb createdb -h "$PWD" bench
step fill pgbench -h "$PWD" -i -s 2 bench
step transactions pgbench -h "$PWD" -n -c 4 -t 250 bench
step selects pgbench -h "$PWD" -n -S -c 4 -t 500 bench
sums="select sum(abalance) = (select sum(delta) from pgbench_history) and count(*) = 200000 from pgbench_accounts"
test "$(psql -h "$PWD" -Atc "$sums" bench)" = t; echo "outcome sums $?"
test "$(psql -h "$PWD" -Atc 'select count(*) from pgbench_history' bench)" = 1000; echo "outcome history $?"
step restart pg_ctl -D data -w -l log restart
test "$(psql -h "$PWD" -Atc "$sums" bench)" = t; echo "outcome sums-again $?"
step dump pg_dump -h "$PWD" bench
step stop pg_ctl -D data -w stop
"""


def postgres_suite(arguments, workshop):
    del arguments, workshop
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not places or not shutil.which("pgbench"):
        raise Missing("there is no PostgreSQL: apt-get install postgresql")
    path = f"{places[-1].parent}:{os.environ['PATH']}"
    other = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def once(prefix, directory):
        if other:
            shutil.chown(directory, "postgres")
        environment = {**os.environ, "PATH": path, "HOME": str(directory)}
        _, said = run([*other, *prefix, "sh", "-c", POSTGRES], directory, env=environment)
        return dict(re.findall(r"^outcome (\S+) (\S+)$", said, re.M)) or {"exit status": said[-300:]}

    return once


SUITES = {"zlib": zlib_suite, "postgres": postgres_suite, "python": python_suite, "busybox": busybox_suite}


def stage(foresee, workshop):
    """foresee and its library where every user may read them."""
    place = workshop / "foresee"
    place.mkdir()
    for name in [Path(foresee), Path(foresee).with_name("libforesee_preload.so")]:
        if not name.exists():
            sys.exit(f"{name} is not there: make build")
        shutil.copy(name, place)
    return [str(place / Path(foresee).name), "run", "-q", "--no-learn", "--"]


def compare(name, once, prefix, workshop):
    """Prints what differs; returns what was found."""
    runs = []
    for arm in [[], [], prefix]:
        with tempfile.TemporaryDirectory(dir=workshop) as directory:
            os.chmod(directory, 0o755)
            runs.append(once(arm, directory))
    tests = sorted(set().union(*runs))
    of = lambda test: [outcomes.get(test, "-") for outcomes in runs]  # noqa: E731
    flaky = [test for test in tests if of(test)[0] != of(test)[1]]
    other = [test for test in tests if test not in flaky and of(test)[1] != of(test)[2]]
    print(f"{name}: {len(tests)} tests, {len(other)} with another outcome under foresee, {len(flaky)} flaky", flush=True)
    for label, differing in [("differs", other), ("flaky", flaky)]:
        for test in differing:
            one, two, foreseen = of(test)
            print(f"  {label:<8} {test:<70} plain {one}, {two}; foresee {foreseen}")
    def outcomes(which):
        return {test: dict(zip(["plain", "again", "foreseen"], of(test))) for test in which}

    words = collections.Counter(runs[0].values())
    return {"tests": len(tests), "outcomes": dict(sorted(words.items())), "differing": outcomes(other), "flaky": outcomes(flaky)}


def table(results):
    """The results there are, as the table of a document."""
    print("| suite | tests | differing under foresee | flaky |\n| --- | ---: | ---: | ---: |")
    for name, found in json.loads((results / f"{NAME}.json").read_text())["suites"].items():
        print(f"| {name} | {found['tests']} | {len(found['differing'])} | {len(found['flaky'])} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foresee", default=str(ROOT / "target/release/foresee"), help="the foresee to test")
    parser.add_argument("--only", nargs="+", choices=list(SUITES), default=list(SUITES), help="only these suites")
    parser.add_argument("--python", default=sys.executable, help="the Python to test, with tests of its own")
    parser.add_argument("--results", type=common.folder, default=common.BENCH / "results", help="where results go")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    arguments = parser.parse_args()
    if arguments.table:
        return table(arguments.results)
    kept = arguments.results / f"{NAME}.json"
    suites = json.loads(kept.read_text())["suites"] if kept.exists() else {}
    differing, missing = 0, 0
    with tempfile.TemporaryDirectory(prefix="foresee-programs-") as directory:
        workshop = Path(directory)
        os.chmod(workshop, 0o755)
        prefix = stage(arguments.foresee, workshop)
        for name in arguments.only:
            try:
                once = SUITES[name](arguments, workshop)
            except Missing as why:
                print(f"{name}: skipped: {why}", flush=True)
                missing += 1
                continue
            suites[name] = compare(name, once, prefix, workshop)
            differing += len(suites[name]["differing"])
            common.keep(arguments, NAME, {"machine": common.machine(), "suites": suites})
    if missing == len(arguments.only):
        return "no suite could run"
    return 1 if differing else 0


sys.exit(main())
