"""make bench-unhinted: programs that disclose nothing, with nothing known of them, in less memory than their data (papers 003 and 004).

Mixed: 1, 8 and 64 sequential readers and one that reads records of a hot set; and that one alone; with the kernel's readahead at 128 KiB
and at 8 MiB. Beside: one of these reads its file six times while the other reads its hot set, which together are 1.4 times the memory.
Again: the same at 128 KiB, after a run was recorded that read other records of the hot set; with what foresee remembers of that.
Repeated: rg over a tree, and a look-up in cscope's database, six times in a row in 1 / 1.4 of what they read.
Apart: tac, which reads a file from its end, and a column of a matrix whose rows are no multiple of a block, read field by field.
Each runs plain, and under `foresee run --no-words`, with `--no-learn` but for what is recorded; in turn, each time on a cold cache,
in a memory group; foresee's own memory comes on top where it runs, so that the cache is the same.

Raw results go to bench/results/unhinted-DISK.json; the table is printed at the end. Needs root, a memory control group (v1 or v2),
/dev/fuse, loop devices and gcc; for the repeated ones rg, cscope and Debian's sources of the kernel (papers/record fetches them).
"""

import hashlib
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import common  # noqa: E402
import sources  # noqa: E402
from common import DISKS  # noqa: E402
from limited import Disk, FORESEE_BYTES, in_group, main  # noqa: E402

READAHEADS_KB = (128, 8192)
STREAMS = (1, 8, 64)
STREAMED_BYTES, RANDOM_BYTES, RANDOM_READS = 256 << 20, 128 << 20, 3000
MIXED_BYTES = 64 << 20
PASSES, RATIO = 6, 1.4
# Of a loop and the hot eighth of the random file; so many reads outlast the loop.
LOOP_BYTES, BESIDE_READS = 72 << 20, 12000
BESIDE_BYTES = int((LOOP_BYTES + RANDOM_BYTES // 8) / RATIO)
# What the programs take by themselves.
OWN_BYTES = 8 << 20
TREE = "source/fs"
REPEATED = {
    "rg": (TREE, ["rg", "-c", "sched_domain", TREE]),
    "cscope": ("source/cscope.out", ["sh", "-c", "cd source && cscope -d -L -0 sched_domain"]),
}
# A row of 6,251 doubles, of which one is read.
ROW_BYTES, FIELD_AT = 50_008, 24
COLUMN = f"""import os
fd = os.open('random', os.O_RDONLY)
rows = os.fstat(fd).st_size // {ROW_BYTES}
print(sum(os.pread(fd, 8, row * {ROW_BYTES} + {FIELD_AT})[0] for row in range(rows)))"""
APART = {
    "tac": ("loop", ["sh", "-c", "tac loop | cksum"]),
    "column": ("random", [sys.executable, "-c", COLUMN]),
}


def make_data(work, mount):
    """What they read, as far as it is not there. `work` keeps the packages."""
    if all(shutil.which(program) for program in REPEATED):
        sources.make(work, mount / "source")
    for streams in STREAMS:
        folder = mount / "streams" / str(streams)
        if not folder.exists():
            folder.mkdir(parents=True)
            for number in range(streams):
                write(folder / f"{number:02}", STREAMED_BYTES // streams)
    for name, size in (("random", RANDOM_BYTES), ("loop", LOOP_BYTES)):
        if not (mount / name).exists():
            write(mount / name, size)


def write(path, size):
    with path.open("wb") as file:
        for _ in range(size >> 20):
            file.write(os.urandom(1 << 20))


def size_of(path):
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def set_readahead(disk, kilobytes):
    (Path("/sys/block") / Path(disk.device).name / "queue/read_ahead_kb").write_text(f"{kilobytes}\n")


def foreseen(arguments, command, learns):
    account = arguments.tools / "account.json"
    options = ["--no-words", *([] if learns else ["--no-learn"]), "--quiet", "--json", str(account)]
    return account, [arguments.foresee, "run", *options, "--", *command]


def run(arguments, disk, model, memory, command, arm, passes=1, environment=None, learns=False):
    """Runs it so often within one run of foresee; what each pass took and read, and what it printed last."""
    disk.make_cold(model)
    mount = Path(disk.mount)
    marks = arguments.tools / "marks"
    marks.unlink(missing_ok=True)
    loop = f'for i in $(seq {passes}); do {shlex.join(command)}; echo "$(date +%s.%N) $(grep ^read_bytes {disk.control})" >> {marks}; done'
    account, words = foreseen(arguments, ["sh", "-c", loop], learns)

    def act():
        begun = time.time()
        words_of_arm = words if arm == "foreseen" else ["sh", "-c", loop]
        done = subprocess.run(words_of_arm, cwd=mount, capture_output=True, text=True, env=os.environ | (environment or {}))
        return {"begun": begun, "elapsed_s": time.time() - begun, "status": done.returncode, "output": done.stdout}
    result = in_group(memory + (FORESEE_BYTES if arm == "foreseen" else 0), act)
    ends = [line.split() for line in marks.read_text().splitlines()]
    times = [result.pop("begun"), *(float(line[0]) for line in ends)]
    reads = [0, *(int(line[2]) for line in ends)]
    result["passes_s"] = [after - before for before, after in zip(times, times[1:])]
    result["passes_read_bytes"] = [after - before for before, after in zip(reads, reads[1:])]
    if arm == "foreseen":
        result["prefetched"] = json.loads(account.read_text())["prefetched"]["guessed"]
    return result


def both(arguments, one):
    runs = {"plain": [], "foreseen": []}
    for arm in common.in_turn(list(runs), arguments.rounds):
        runs[arm].append(one(arm))
    return runs


def mixed_words(disk, streams):
    mount = Path(disk.mount)
    files = sorted(str(path.relative_to(mount)) for path in (mount / "streams" / str(streams)).glob("*")) or ["random"]
    return [streams, 1, "random", RANDOM_READS, *files]


def mixed(arguments, disk, model, streams, kilobytes):
    set_readahead(disk, kilobytes)
    runs = readers(arguments, disk, model, MIXED_BYTES, mixed_words(disk, streams))
    set_readahead(disk, READAHEADS_KB[0])
    return {"streams": streams, "read_ahead_kb": kilobytes, "runs": runs}


def again(arguments, disk, model, streams):
    """After one run by another seed, which is recorded anew each time."""
    def one(command, arm):
        profiles = {"XDG_CACHE_HOME": str(arguments.tools / "profiles")}
        if arm == "foreseen":
            shutil.rmtree(profiles["XDG_CACHE_HOME"], ignore_errors=True)
            run(arguments, disk, model, MIXED_BYTES, command, arm, environment=profiles | {"READERS_SEED": "2"}, learns=True)
        return run(arguments, disk, model, MIXED_BYTES, command, arm, environment=profiles, learns=True)
    runs = readers(arguments, disk, model, MIXED_BYTES, mixed_words(disk, streams), one)
    return {"streams": streams, "read_ahead_kb": READAHEADS_KB[0], "runs": runs}


def beside(arguments, disk, model):
    runs = readers(arguments, disk, model, BESIDE_BYTES, [1, PASSES, "random", BESIDE_READS, "loop"])
    return {"loop_bytes": LOOP_BYTES, "hot_bytes": RANDOM_BYTES // 8, "memory": BESIDE_BYTES, "reads": BESIDE_READS, "runs": runs}


def readers(arguments, disk, model, memory, words, one=None):
    one = one or (lambda command, arm: run(arguments, disk, model, memory, command, arm))
    command = [str(arguments.tools / "readers"), *map(str, words)]
    runs = both(arguments, lambda arm: one(command, arm))
    for result in (result for arm in runs.values() for result in arm):
        result.update(json.loads(result.pop("output")))
    return runs


def repeated(arguments, disk, model, name, programs=REPEATED, passes=PASSES):
    data, command = programs[name]
    size = size_of(Path(disk.mount) / data)
    memory = int(size / RATIO) + OWN_BYTES
    runs = both(arguments, lambda arm: run(arguments, disk, model, memory, command, arm, passes))
    for result in (result for arm in runs.values() for result in arm):
        result["output"] = digest(result["output"])
    return {"name": name, "data_bytes": size, "memory": memory, "runs": runs}


def inside(arguments):
    disk = Disk()
    subprocess.run(["gcc", "-O2", "-pthread", "-o", arguments.tools / "readers", HERE / "readers.c"], check=True)
    missing = [program for program in REPEATED if not shutil.which(program)]
    if missing:
        print(f"skipped: the repeated programs, without {', '.join(missing)}", file=sys.stderr)
    for name in arguments.disks:
        cells = [(streams, kilobytes) for kilobytes in READAHEADS_KB for streams in (0, *STREAMS)]
        raw = {"disk": DISKS[name], "machine": common.machine(disk.device), **not_wanted(arguments, name)}
        for streams, kilobytes in cells if wants(arguments, "mixed") else []:
            print(f"{name}: {streams} streams, readahead of {kilobytes} KiB", file=sys.stderr, flush=True)
            raw["mixed"].append(mixed(arguments, disk, DISKS[name], streams, kilobytes))
        for streams in (0, *STREAMS) if wants(arguments, "again") else []:
            print(f"{name}: {streams} streams, after another run", file=sys.stderr, flush=True)
            raw["again"].append(again(arguments, disk, DISKS[name], streams))
        if wants(arguments, "beside"):
            print(f"{name}: a loop beside a reader of a hot set", file=sys.stderr, flush=True)
            raw["beside"].append(beside(arguments, disk, DISKS[name]))
        for program in REPEATED if not missing else []:
            if wants(arguments, program):
                print(f"{name}: {program}, again and again", file=sys.stderr, flush=True)
                raw["repeated"].append(repeated(arguments, disk, DISKS[name], program))
        for program in APART if wants(arguments, "apart") else []:
            print(f"{name}: {program}", file=sys.stderr, flush=True)
            raw["apart"].append(repeated(arguments, disk, DISKS[name], program, APART, 1))
        common.keep(arguments, f"unhinted-{name}", raw)


def wants(arguments, what):
    return not arguments.only or what in arguments.only


def not_wanted(arguments, name):
    """Earlier results of what is not measured now."""
    path = arguments.results / f"unhinted-{name}.json"
    earlier = json.loads(path.read_text()) if path.exists() else {}
    rows = {part: [] if wants(arguments, part) else earlier.get(part, []) for part in ("mixed", "again", "beside", "apart")}
    return {**rows, "repeated": [row for row in earlier.get("repeated", []) if not wants(arguments, row["name"])]}


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def in_vain(runs):
    """Of what was read ahead, the share that nobody read."""
    shares = [it["prefetched"]["wasted"] / max(1, it["prefetched"]["fetched"]) for it in runs]
    return statistics.median(shares)


def table(results):
    for path in sorted(results.glob("unhinted-*.json")):
        raw = json.loads(path.read_text())
        print(f"\n{raw['disk']}; Linux {raw['machine']['kernel']}")
        for part, title in (("mixed", "streams, readahead"), ("again", "the same, after another run was recorded")):
            if raw.get(part):
                print(f"\nMedians of {rounds(raw[part])} runs each\n")
                print(f"| {title} | arm | all | streams | hits at random | read | in vain |")
                print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
            for row in raw.get(part, []):
                print("\n".join(mixed_lines(row)))
        if raw["beside"]:
            print(f"\nMedians of {rounds(raw['beside'])} runs each\n")
            print("| loop + hot set, memory | arm | all | hits at random | while it looped | each pass, s | read meanwhile, MiB |")
            print("| --- | --- | ---: | ---: | ---: | --- | --- |")
        for row in raw["beside"]:
            print("\n".join(beside_lines(row)))
        if raw["repeated"]:
            print(f"\nMedians of {rounds(raw['repeated'])} runs each\n")
            print("| program, data, memory | arm | six passes | read in each pass, MiB |\n| --- | --- | ---: | --- |")
        for row in raw["repeated"]:
            print("\n".join(repeated_lines(row)))
        if raw.get("apart"):
            print(f"\nMedians of {rounds(raw['apart'])} runs each\n")
            print("| program, data, memory | arm | all | read, MiB |\n| --- | --- | ---: | --- |")
        for row in raw.get("apart", []):
            print("\n".join(repeated_lines(row)))


def rounds(rows):
    return len(rows[0]["runs"]["plain"])


def mixed_lines(row):
    sums = {result["sum"] for arm in row["runs"].values() for result in arm}
    for arm, runs in row["runs"].items():
        title = f"{row['streams']}, {row['read_ahead_kb']} KiB" if arm == "plain" else ""
        vain = f"{in_vain(runs):.1%}" if arm == "foreseen" else ""
        read = statistics.median(sum(it["passes_read_bytes"]) for it in runs) / 2**20
        times = f"{median(runs, 'elapsed_s'):.2f} s | {median(runs, 'streams_s'):.2f} s"
        wrong = "" if len(sums) == 1 else " WRONG BYTES"
        yield f"| {title}{wrong} | {arm} | {times} | {median(runs, 'at_once') / RANDOM_READS:.0%} | {read:.0f} MiB | {vain} |"


def beside_lines(row):
    sums = {result["sum"] for arm in row["runs"].values() for result in arm}
    for arm, runs in row["runs"].items():
        sizes = f"{row['loop_bytes'] >> 20} + {row['hot_bytes'] >> 20} MiB, {row['memory'] >> 20} MiB"
        title = (sizes if arm == "plain" else "") + ("" if len(sums) == 1 else " WRONG BYTES")
        hits = median(runs, "at_once") / row["reads"]
        meanwhile = statistics.median(it["passes"][-1]["at_once"] / max(1, it["passes"][-1]["reads"]) for it in runs)
        times, read = of_passes(runs, "end_s"), of_passes(runs, "disk_bytes")
        words = " ".join(f"{it:.2f}" for it in times), " ".join(f"{it / 2**20:.0f}" for it in read)
        yield f"| {title} | {arm} | {median(runs, 'elapsed_s'):.2f} s | {hits:.1%} | {meanwhile:.1%} | {words[0]} | {words[1]} |"


def of_passes(runs, key):
    """What each of the loop's passes added, in the median."""
    ends = [[0, *(mark[key] for mark in it["passes"])] for it in runs]
    return [statistics.median(run[at] - run[at - 1] for run in ends) for at in range(1, len(ends[0]))]


def repeated_lines(row):
    outputs = {result["output"] for arm in row["runs"].values() for result in arm}
    for arm, runs in row["runs"].items():
        title = f"{row['name']}, {row['data_bytes'] >> 20} MiB, {row['memory'] >> 20} MiB" if arm == "plain" else ""
        passes = [statistics.median(of_pass) / 2**20 for of_pass in zip(*(it["passes_read_bytes"] for it in runs))]
        wrong = "" if len(outputs) == 1 else " WRONG OUTPUT"
        yield f"| {title}{wrong} | {arm} | {median(runs, 'elapsed_s'):.2f} s | {' '.join(f'{it:.0f}' for it in passes)} |"


def digest(output):
    """Of its lines in any order, for rg's threads print in any."""
    return hashlib.sha256("\n".join(sorted(output.splitlines())).encode()).hexdigest()


if __name__ == "__main__":
    main(__doc__, "load", ["mixed", "again", "beside", "apart", *REPEATED], [make_data, inside, table])
