"""make bench-varied: programs that run again with other words, or by another seed, with what foresee remembers of their earlier runs.

Each runs RUNS times, never with the same words, plain and under foresee as it is unless told otherwise (hints of words and earlier runs,
what it guesses, its policy), in turn, each time on a cold cache, in a memory group; foresee's own memory comes on top where it runs. Where
foresee runs it remembers what it may of the runs before, and nothing of those of an earlier round.
What the programs of reads.py read is made from a seed; the others read Debian's sources of the kernel (papers/record fetches them).

Raw results go to bench/results/varied-DISK.json; the table is printed at the end: seconds of each run in turn. Needs root, a memory
control group (v1 or v2), /dev/fuse, loop devices, git and cscope; rg for what is its.
"""

import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402
import reads  # noqa: E402
import sources  # noqa: E402
from common import DISKS  # noqa: E402
from limited import Disk, FORESEE_BYTES, in_group, main  # noqa: E402

RUNS = 3
SMALL, LARGE = 64 << 20, 512 << 20
WORDS = ["sched_domain", "rcu_read_lock", "kmalloc_array", "spin_lock_irq", "copy_from_user", "list_splice", "wait_event", "atomic_cmpxchg"]
COMMITS, COMMITTED_FILES = 40, 60


def some_folders(rng):
    """A fifth of the folders of the sources."""
    folders = sorted(str(path.relative_to("source")) for path in Path("source").glob("[!.]*/*") if path.is_dir())
    return rng.sample(folders, len(folders) // 5)


def words(rng):
    return rng.sample(WORDS, len(WORDS))


# The memory that is left for data, and the command by a number that is another each time; made in the folder with the data.
JOBS = {name.replace("_", " "): (SMALL, lambda rng, name=name: [sys.executable, HERE / "reads.py", name, rng.randrange(1 << 30)])
        for name in reads.PROGRAMS} | {
    "grep in folders": (LARGE, lambda rng: ["sh", "-c", f"cd source && grep -rc {words(rng)[0]} {' '.join(some_folders(rng))} | sort"]),
    "tar of folders": (LARGE, lambda rng: ["sh", "-c", f"cd source && tar c {' '.join(some_folders(rng))} | md5sum"]),
    "rg for words": (SMALL, lambda rng: ["sh", "-c", f"cd source && rg --sort path -c -e {' -e '.join(words(rng)[:2])} ."]),
    "cscope, two symbols": (SMALL, lambda rng: ["sh", "-c", "cd source; " + "; ".join(f"cscope -d -L -0 {it}" for it in words(rng)[:2])]),
    "git log of a folder": (LARGE, lambda rng: ["sh", "-c", f"cd source && git log -p -- {some_folders(rng)[0]} | md5sum"]),
    "git grep": (LARGE, lambda rng: ["sh", "-c", f"cd source && git grep -c {words(rng)[0]} HEAD -- {' '.join(some_folders(rng))}; true"]),
    "sort of a list": (SMALL, lambda rng: ["sh", "-c", f"sort --parallel=1 -S 16M lists/{rng.randrange(6)} | md5sum"]),
}
NEEDED = {"rg for words": "rg"}


def make_data(work, mount):
    """What they read, as far as it is not there. `work` keeps the packages."""
    for needed in ("git", "cscope"):
        if not shutil.which(needed):
            sys.exit(f"skipped: this needs {needed}")
    if (mount / "made").exists():
        return
    for path in mount.iterdir():
        # What an earlier time began, and did not end.
        if path.name != "lost+found":
            subprocess.run(["rm", "-rf", path], check=True)
    reads.make(mount)
    sources.make(work, mount / "source")
    make_repository(mount / "source")
    make_lists(mount / "lists")
    (mount / "made").touch()


def make_repository(folder):
    """The sources, and commits that each change some of their files."""
    def git(*words):
        author = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
        alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        subprocess.run(["git", *author, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, env=os.environ | alone)
    rng = random.Random(6)
    git("init", "--quiet")
    (folder / ".git/info/exclude").write_text("cscope.*\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "all")
    files = sorted(path for path in folder.rglob("*.c"))
    for number in range(COMMITS):
        for path in rng.sample(files, COMMITTED_FILES):
            with path.open("a") as file:
                file.write(f"/* {number} */\n")
        git("commit", "--quiet", "--all", "--message", str(number))
    git("repack", "-a", "-d", "--quiet")


def make_lists(folder):
    rng = random.Random(7)
    folder.mkdir()
    for number in range(6):
        with (folder / str(number)).open("w") as file:
            for _ in range(600_000):
                file.write(f"{rng.getrandbits(128):x}\n")


def run(arguments, disk, model, name, seed, arm):
    """One run: how long it took, what it read, what it printed."""
    memory, command = JOBS[name]
    account = arguments.tools / "account.json"
    os.chdir(disk.mount)
    command = [str(word) for word in command(random.Random(seed))]
    os.chdir("/")
    if arm == "foreseen":
        command = [arguments.foresee, "run", "--quiet", "--json", str(account), "--", *command]
    disk.make_cold(model)
    profiles = {"XDG_CACHE_HOME": str(arguments.tools / "profiles")}

    def act():
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=disk.mount, stdin=subprocess.DEVNULL, capture_output=True, env=os.environ | profiles)
        output = hashlib.sha256(done.stdout).hexdigest()
        failed = done.stderr.decode() if done.returncode else None
        return {"elapsed_s": time.perf_counter() - begun, "output": output, "failed": failed}
    result = in_group(memory + (FORESEE_BYTES if arm == "foreseen" else 0), act)
    if (failed := result.pop("failed")) is not None:
        sys.exit(f"{name} ({arm}) failed: {failed}")
    result["read_bytes"] = disk.read_bytes()
    if arm == "foreseen":
        told = json.loads(account.read_text())
        result |= {"own_cpu_s": told["own_cpu_s"], "prefetched": told["prefetched"]}
    return result


def job(arguments, disk, model, name):
    """Rows of runs, in each round by other seeds."""
    rows = {"plain": [], "foreseen": []}
    for number in range(arguments.rounds):
        shutil.rmtree(arguments.tools / "profiles", ignore_errors=True)
        for row in rows.values():
            row.append([])
        for turn in range(RUNS):
            for arm in ("plain", "foreseen") if (number + turn) % 2 == 0 else ("foreseen", "plain"):
                rows[arm][-1].append(run(arguments, disk, model, name, number * RUNS + turn, arm))
    return {"name": name, "rows": rows}


def inside(arguments):
    disk = Disk()
    for model in arguments.disks:
        path = arguments.results / f"varied-{model}.json"
        jobs = json.loads(path.read_text())["jobs"] if arguments.only and path.exists() else {}
        for name in JOBS:
            if arguments.only and not any(part in name for part in arguments.only):
                continue
            if name in NEEDED and not shutil.which(NEEDED[name]):
                print(f"skipped: {name}, without {NEEDED[name]}", file=sys.stderr)
                continue
            jobs[name] = job(arguments, disk, DISKS[model], name)
            print("\n".join(lines(jobs[name])), file=sys.stderr, flush=True)
            common.keep(arguments, f"varied-{model}", {"disk": DISKS[model], "machine": common.machine(disk.device), "jobs": jobs})
    disk.control.write_text("off\n")


def lines(told):
    """Of each run in turn, in the medians of the rounds: how long both took, and the ratio; what both read, in MiB."""
    arms = [list(zip(*told["rows"][arm])) for arm in ("plain", "foreseen")]
    outputs = [[[it["output"] for it in turn] for turn in arm] for arm in arms]
    name = told["name"] + ("" if outputs[0] == outputs[1] else " OUTPUT DIFFERS")
    for turn, (plain, foreseen) in enumerate(zip(*arms), 1):
        seconds, read = ([statistics.median(it[key] for it in arm) for arm in (plain, foreseen)] for key in ("elapsed_s", "read_bytes"))
        times = f"{seconds[0]:.2f} s | {seconds[1]:.2f} s | {seconds[1] / seconds[0]:.2f}"
        cpu = statistics.median(it["own_cpu_s"] for it in foreseen)
        yield f"| {name if turn == 1 else ''} | {turn} | {times} | {read[0] / 2**20:.0f} | {read[1] / 2**20:.0f} | {cpu:.2f} s |"


def table(results):
    for path in sorted(results.glob("varied-*.json")):
        raw = json.loads(path.read_text())
        print(f"\n{raw['disk']}; Linux {raw['machine']['kernel']}\n")
        print("| program | run | plain | foresee | of plain | plain read, MiB | foresee read, MiB | foresee's CPU |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for told in raw["jobs"].values():
            print("\n".join(lines(told)))


if __name__ == "__main__":
    main(__doc__, "job", list(JOBS), [make_data, inside, table])
