"""make bench-advice: programs in less memory than their data, with advice which of their pages go first (paper 002).

Each of them reads its data more than once: cscope looks symbols up in its database, or texts in all sources; glimpse searches; sort merges
with little memory of its own; ld links. Each runs plain, and under `foresee run --advice`; in turn, each time on a cold cache, in a
memory group whose limit is the paper's ratio of cache to data, and what the programs themselves take; foresee's own memory comes on top
where it runs, so that the cache is the same. Then two at
once, joined; and one beside a program that reads a file again and again, whose advice is the worst there is.

Raw results go to bench/results/advice-DISK.json; the table is printed at the end. Needs root, a memory control group (v1 or v2),
/dev/fuse, loop devices, cscope, ld, and Debian's packages of the kernel (papers/record fetches them).
"""

import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent.parent / "papers" / "record"))

import applications as recorded  # noqa: E402
import common  # noqa: E402
import inputs  # noqa: E402
import sources  # noqa: E402
from common import DISKS  # noqa: E402
from limited import Disk, FORESEE_BYTES, in_group, main  # noqa: E402

PROGRAMS_BYTES = 4 << 20
LD_BYTES = 184 << 20
SORT_LINES, SORT_TIMES = 200_000, 5


class App:
    """Its folder, the command there and what it is told, its advice, the cache as a share of its data, and which files those are; what
    it needs itself."""

    def __init__(self, name, command, advice, share, is_data=lambda path: True, lines="", own=PROGRAMS_BYTES):
        self.name, self.command, self.advice, self.share, self.is_data, self.lines = name, command, advice, share, is_data, lines
        self.own = own

    def data_bytes(self, mount):
        files = (path for path in (mount / FOLDERS[self.name]).rglob("*") if path.is_file() and not path.is_symlink())
        return sum(path.stat().st_size for path in files if self.is_data(path.name))

    def memory(self, mount, foreseen=False):
        return (FORESEE_BYTES if foreseen else 0) + int(self.share * self.data_bytes(mount)) + self.own


FOLDERS = {"local": "lines", "symbols": "source", "texts": "source", "glimpse": "texts", "sort": "lines", "ld": "modules"}
CSCOPE = ["cscope", "-d", "-l"]
SYMBOLS = "".join(f"0{symbol}\n" for symbol in recorded.SYMBOLS)
TEXTS = "".join(f"6{text}\n" for text in recorded.TEXTS[:2])
MERGE = ["env", "LC_ALL=C", "sort", "-n", "-k1,1", "-S1M", "--batch-size=8", "--parallel=1", "-T", "tmp", "-o", "sorted", "input"]


def is_source(name):
    return not name.startswith(("cscope.", ".glimpse"))


def applications(mount):
    modules = sorted(str(path.relative_to(mount / "modules")) for path in (mount / "modules").rglob("*.ko"))
    link = ["ld", "-e", "0", "--unresolved-symbols=ignore-all", "-z", "muldefs", "-o", "kernel", *modules]
    program = mount / "glimpse" / "usr/bin/glimpse"
    searches = "; ".join(f"{program} -y -H . '{search}'" for search in recorded.Glimpse.SEARCHES)
    glimpse = ["sh", "-c", f"{searches}; true"]
    return [
        App("symbols", CSCOPE, "level 0 mru\n", 6.4 / 9, lambda name: name == "cscope.out", SYMBOLS),
        App("texts", CSCOPE, "level 0 mru\n", 8 / 18, is_source, TEXTS),
        App("glimpse", glimpse, "level 0 mru\nfile .glimpse_* 1\nlevel 1 mru\n", 6.4 / 40, is_source),
        App("sort", MERGE, "level 0 mru\nonce */tmp/*\nfile input -1\nlevel -1 mru\n", 8 / 17, lambda name: name == "input"),
        App("ld", link, "level 0 lru\n", 8 / 25, lambda name: name.endswith(".ko"), own=LD_BYTES),
    ]


def make_data(work, mount):
    """What the programs read, as far as it is not there. `work` keeps the packages."""
    sources.make(work, mount / "source")
    make_texts(work, mount / "texts")
    if not (mount / "modules").exists():
        (kernel,) = inputs.package(work, inputs.MODULES).glob("lib/modules/*/kernel")
        shutil.copytree(kernel, mount / "modules")
    if not (mount / "lines").exists():
        (mount / "lines" / "tmp").mkdir(parents=True)
        inputs.lines(mount / "lines" / "once")
        text = (mount / "lines" / "once").read_text().splitlines(keepends=True)
        with (mount / "lines" / "input").open("w") as file:
            file.writelines(f"{number}{line}" for number in range(1, SORT_TIMES + 1) for line in text)
        (mount / "lines" / "once").unlink()


def make_texts(work, folder):
    """Linux's documentation, 39 MB in 8,600 files, with glimpse's index, which names them by their absolute paths: made each time."""
    if not folder.exists():
        made = work / "texts"
        if not made.exists():
            inputs.kernel_source(made, ["Documentation"], lambda path: True)
        shutil.copytree(made / "Documentation", folder / "articles")
        shutil.copytree(inputs.package(work, "glimpse"), folder.parent / "glimpse")
    index = folder.parent / "glimpse" / "usr/bin/glimpseindex"
    subprocess.run([index, "-H", ".", "articles"], cwd=folder, check=True, capture_output=True)


class Started:
    """A program under way, in the group of whoever starts it."""

    def __init__(self, arguments, app, mount, options):
        self.account = arguments.tools / f"{app.name}.json"
        advice = arguments.tools / f"{app.name}.advice"
        advice.write_text(app.advice)
        command = app.command
        if options is not None:
            options = [str(advice) if option == "ADVICE" else option for option in options]
            command = [arguments.foresee, "run", "--no-learn", "--quiet", "--json", str(self.account), *options, "--", *command]
        self.foreseen = options is not None
        self.lines = app.lines.encode()
        self.begun = time.perf_counter()
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.child = subprocess.Popen(command, cwd=mount / FOLDERS[app.name], **pipes)

    def finish(self):
        output, _ = self.child.communicate(self.lines)
        result = {"elapsed_s": time.perf_counter() - self.begun, "status": self.child.returncode, "output": hash_of(output)}
        if self.foreseen:
            result["account"] = json.loads(self.account.read_text())
        return result


def hash_of(output):
    return hashlib.sha256(output).hexdigest()


ARMS = {"plain": None, "advised": ["--advice", "ADVICE"]}


def run(arguments, disk, model, app, arm):
    mount = Path(disk.mount)
    clean(mount)
    disk.make_cold(model)
    result = in_group(app.memory(mount, arm != "plain"), lambda: Started(arguments, app, mount, ARMS[arm]).finish())
    return {**result, "read_bytes": disk.read_bytes()}


def clean(mount):
    for name in ("modules/kernel", "lines/sorted"):
        (mount / name).unlink(missing_ok=True)


def together(arguments, disk, model, apps, arm):
    """Two at once, in the memory of the larger one."""
    mount = Path(disk.mount)
    clean(mount)
    disk.make_cold(model)
    options = None if arm == "plain" else ["--join", "bench", *ARMS[arm]]

    def act():
        started = [Started(arguments, app, mount, options) for app in apps]
        return [one.finish() for one in started]
    results = in_group(max(app.memory(mount, arm != "plain") for app in apps), act)
    return {"runs": results, "read_bytes": disk.read_bytes()}


# The first 40 MiB of a file, four reads of five in a fifth of it: what was read last is read again soonest.
LOCAL = """
import os, random
random.seed(3)
file = os.open("input", os.O_RDONLY)
while True:
    part = 8 if random.random() < 0.8 else 40
    os.pread(file, 4096, random.randrange(part << 20) & ~4095)
"""


def beside(arguments, disk, model, app, advised):
    """A program that does not advise, beside one that does not either, or whose advice is the worst for what it does: MRU."""
    mount = Path(disk.mount)
    clean(mount)
    disk.make_cold(model)
    local = App("local", [sys.executable, "-c", LOCAL], "level 0 mru\n", 0)
    advice = ["--advice", "ADVICE"] if advised else []

    def act():
        neighbour = Started(arguments, local, mount, ["--join", "bench", *advice])
        result = Started(arguments, app, mount, ["--join", "bench"]).finish()
        neighbour.child.terminate()
        neighbour.finish()
        return result
    result = in_group(app.memory(mount, True) + (24 << 20), act)
    return {**result, "read_bytes": disk.read_bytes()}


def measure(arguments, disk, model, app):
    runs = {arm: [] for arm in ARMS}
    for arm in common.in_turn(ARMS, arguments.rounds):
        runs[arm].append(run(arguments, disk, model, app, arm))
        last = runs[arm][-1]
        print(f"  {arm:8} {last['elapsed_s']:7.2f} s, {last['read_bytes'] >> 20} MiB read", file=sys.stderr, flush=True)
    every = [it for arm in runs.values() for it in arm]
    right = len({it["output"] for it in every}) == 1 and all(it["status"] in (0, 1) for it in every)
    mount = Path(disk.mount)
    return {"app": app.name, "data_bytes": app.data_bytes(mount), "memory": app.memory(mount), "runs": runs, "right": right}


def inside(arguments):
    disk = Disk()
    mount = Path(disk.mount)
    for name in arguments.disks:
        apps = {app.name: app for app in applications(mount)}
        results = []
        for app in apps.values():
            if not arguments.only or app.name in arguments.only:
                print(f"{name}: {app.name}, {app.memory(mount) >> 20} MiB", file=sys.stderr, flush=True)
                results.append(measure(arguments, disk, DISKS[name], app))
        raw = {"disk": DISKS[name], "rounds": arguments.rounds, "machine": common.machine(disk.device), "results": results}
        if not arguments.only or "two" in arguments.only:
            print(f"{name}: two at once", file=sys.stderr, flush=True)
            pair = [apps["symbols"], apps["glimpse"]]
            raw["together"] = {arm: together(arguments, disk, DISKS[name], pair, arm) for arm in ARMS}
        if not arguments.only or "beside" in arguments.only:
            print(f"{name}: beside the worst advice", file=sys.stderr, flush=True)
            raw["beside"] = {arm: beside(arguments, disk, DISKS[name], apps["symbols"], arm == "foolish")
                             for arm in ("oblivious", "foolish")}
        common.keep(arguments, f"advice-{name}", raw)


def table(results):
    for path in sorted(results.glob("advice-*.json")):
        raw = json.loads(path.read_text())
        print(f"\n{raw['disk']}; Linux {raw['machine']['kernel']}, medians of {raw['rounds']} runs each")
        print("| application, data, memory | arm | elapsed | saved | read | saved |")
        print("| --- | --- | ---: | ---: | ---: | ---: |")
        for row in raw["results"]:
            print("\n".join(lines(row)))
        for arm, it in raw.get("together", {}).items():
            times = ", ".join(f"{one['elapsed_s']:.2f} s" for one in it["runs"])
            print(f"| symbols and glimpse at once | {arm} | {times} | | {it['read_bytes'] / 2**20:.0f} MiB | |")
        for arm, it in raw.get("beside", {}).items():
            read = it["read_bytes"] / 2**20
            print(f"| symbols beside {arm} reads | unadvised | {it['elapsed_s']:.2f} s | | {read:.0f} MiB, of both | |")


def lines(row):
    median = {arm: {key: statistics.median(it[key] for it in runs) for key in ("elapsed_s", "read_bytes")}
              for arm, runs in row["runs"].items()}
    plain = median["plain"]
    for arm, it in median.items():
        title = f"{row['app']}, {row['data_bytes'] >> 20} MiB, {row['memory'] >> 20} MiB" if arm == "plain" else ""
        elapsed, read = it["elapsed_s"], it["read_bytes"]
        yield (f"| {title} | {arm} | {elapsed:.2f} s | {1 - elapsed / plain['elapsed_s']:.0%} | {read / 2**20:.0f} MiB "
               f"| {1 - read / plain['read_bytes']:.0%} |")
    if not row["right"]:
        yield f"| {row['app']} | WRONG OUTPUT | | | | |"


if __name__ == "__main__":
    main(__doc__, "application", ["symbols", "texts", "glimpse", "sort", "ld", "two", "beside"], [make_data, inside, table])
