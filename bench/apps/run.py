"""make bench-apps: the five applications of paper 000 on a slow disk, each in less memory than its data.

Each runs plain, with the best posix_fadvise a careful programmer would write in the place of the hints, and with hints under
foresee, by the default policy and by tip2; in turn, each time on a cold cache. Then once more beside a program that discloses
nothing. Raw results go to bench/results/apps-DISK.json; the table is printed at the end.

Needs root, a memory control group (v1 or v2), /dev/fuse, loop devices and gcc; h5py (or pip to get it) and tre-agrep for the
applications that use them. What is missing is said, and its application skipped.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

APPS = Path(__file__).resolve().parent
sys.path.insert(0, str(APPS.parent))

import common  # noqa: E402
import populate  # noqa: E402
from common import DISKS, ROOT  # noqa: E402
from limited import Disk, Group, main  # noqa: E402

FORESEEN = {"default": [], "tip2": ["--policy", "tip2:burst_margin=8"]}
SITES = 22
AGREP_FILES = 2000
NEIGHBOUR_BYTES = 24 << 20  # its file, and Python


class App:
    """Its name; the share of the plain elapsed time that foresee is to save on network storage; the memory it gets, in MiB; and
    its arms: options of foresee (None: without) and command."""

    def __init__(self, name, goal, memory, arms):
        self.name, self.goal, self.memory, self.arms = name, goal, memory << 20, arms


def python(name):
    return [sys.executable, str(APPS / f"{name}.py")]


def arms(command):
    """The arms of a program whose last word says how it discloses."""
    foreseen = {name: (options, [*command, "hints"]) for name, options in FORESEEN.items()}
    return {"plain": (None, [*command, "none"]), "fadvise": (None, [*command, "fadvise"]), **foreseen}


def join_arms(command):
    """Plain is the join as SQLite does it; the loop split without hints is an arm of its own."""
    usual = arms(command)
    return {"plain": (None, [*command, "standard"]), "split": usual.pop("plain"), **usual}


def agrep_arms(wrapper, mount):
    """foresee takes the words of the command, so tre-agrep itself runs in its arms, and the wrapper in one more."""
    files = sorted(str(path.relative_to(mount)) for path in (mount / "source").rglob("*.rs"))
    words = ["no such words at all", *files[:AGREP_FILES]]
    foreseen = {name: (options, ["tre-agrep", *words]) for name, options in FORESEEN.items()}
    return {"plain": (None, ["tre-agrep", *words]), "fadvise": (None, [*wrapper, "fadvise", *words]), **foreseen,
            "hint_file": ([], [*wrapper, "hints", *words])}


def applications(tools, mount):
    text = str(ROOT / "LICENSE-APACHE")
    return [
        App("agrep", 0.84, 32, agrep_arms(python("agrep"), mount)),
        App("slices", 0.75, 128, arms([*python("slices"), "render", "field.h5"])),
        App("join", 0.55, 48, join_arms([*python("join"), "join.db"])),
        App("ngrams", 0.20, 32, arms([str(tools / "ngrams"), "score", "model", text])),
        App("eigen", 0.30, 64, arms([str(tools / "eigen"), "solve", "matrix"])),
    ]


def set_up(tools):
    """The programs in C, the hint library, and h5py if Python has none; both steps need them."""
    hints = ROOT / "bindings" / "c"
    library = [hints / "foresee.c", "-ldl", "-lm"]
    for name in ("eigen", "ngrams"):
        subprocess.run(["gcc", "-O2", "-I", hints, "-o", tools / name, APPS / f"{name}.c", *library], check=True)
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", "-o", tools / "libforesee.so", *library], check=True)
    packages = tools / "python"
    os.environ["PYTHONPATH"] = f"{ROOT / 'bindings' / 'python'}:{packages}:{os.environ.get('PYTHONPATH', '')}"
    os.environ["LD_LIBRARY_PATH"] = str(tools)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if not has_h5py():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--target", packages]
        subprocess.run([*install, "h5py"])


def make_data(tools, mount):
    """What the applications read, as far as it is not there."""
    set_up(tools)
    os.chdir(mount)
    makers = {
        "field.h5": [*python("slices"), "make", "field.h5", "800"],
        "join.db": [*python("join"), "make", "join.db"],
        "model": [tools / "ngrams", "make", "model", "1024"],
        "matrix": [tools / "eigen", "write", str(SITES), "matrix"],
        "neighbour": [*python("neighbour"), "make", "neighbour"],
    }
    for name, command in makers.items():
        if not Path(name).exists():
            subprocess.run(command)
    if not Path("source").exists():
        populate.source_tree(Path())


def spin_ring_energy(sites):
    """What eigen should find: the Bethe ansatz, solved by iteration."""
    ups = sites // 2
    numbers, roots = [at - (ups - 1) / 2 for at in range(ups)], [0.0] * ups
    for _ in range(2000):
        roots = [math.tan((math.pi * number + sum(math.atan(root - other) for other in roots)) / sites) / 2
                 for number, root in zip(numbers, roots)]
    return sites / 4 - sum(0.5 / (root**2 + 0.25) for root in roots)


def is_ground_state(output):
    energy, _ = output.split()
    return abs(float(energy) - spin_ring_energy(SITES)) < 1e-6


def run(arguments, disk, model, app, arm, beside=False):
    """One run of one arm; beside a neighbour, its time too."""
    options, command = app.arms[arm]
    account = arguments.tools / "account.json"
    if options is not None:
        command = [arguments.foresee, "run", "--no-learn", "--quiet", "--json", str(account), *options, "--", *command]
    disk.make_cold(model)
    group = Group(app.memory + (NEIGHBOUR_BYTES if beside else 0))
    start = dict(cwd=disk.mount, preexec_fn=group.enter, stdout=subprocess.PIPE)
    neighbour = beside and subprocess.Popen([sys.executable, APPS / "neighbour.py", "neighbour"], **start)
    begun = time.perf_counter()
    child = subprocess.Popen(command, **start)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    result = {"elapsed_s": time.perf_counter() - begun, "status": status, "cpu_s": usage.ru_utime + usage.ru_stime,
              "read_bytes": disk.read_bytes(), "output": output.decode()}
    child.returncode = status
    if neighbour:
        result["neighbour_s"] = float(neighbour.communicate()[0])
    if options is not None:
        result["account"] = json.loads(account.read_text())
    group.remove()
    return result


def stall_s(result):
    """What foresee saw, or what is left when the processor's time is taken from the elapsed."""
    return result["account"]["stall_s"] if "account" in result else max(0, result["elapsed_s"] - result["cpu_s"])


def measure(arguments, disk, model, app):
    if (missing := lacking(app)) is not None:
        return {"app": app.name, "skipped": missing}
    runs = {arm: [] for arm in app.arms}
    for arm in common.in_turn(app.arms, arguments.rounds):
        runs[arm].append(run(arguments, disk, model, app, arm))
        last = runs[arm][-1]
        print(f"  {arm:9} {last['elapsed_s']:7.2f} s, stalled {stall_s(last):7.2f} s", file=sys.stderr, flush=True)
    beside = {arm: run(arguments, disk, model, app, arm, beside=True) for arm in ("plain", *FORESEEN)}
    every = [it for arm in (*runs.values(), beside.values()) for it in arm]
    outputs = {it["output"] for it in every}
    alike = len(outputs) == 1 and len({it["status"] for it in every}) == 1
    right = alike and (app.name != "eigen" or is_ground_state(*outputs))
    return {"app": app.name, "goal": app.goal, "memory": app.memory, "runs": runs, "beside": beside, "right": right}


def lacking(app):
    if app.name == "agrep" and shutil.which("tre-agrep") is None:
        return "tre-agrep is not installed"
    if app.name == "agrep" and len(app.arms["plain"][1]) < AGREP_FILES:
        return "cargo has fetched too few sources to search"
    if app.name == "slices" and not has_h5py():
        return "h5py is not installed"
    return None


def has_h5py():
    return subprocess.run([sys.executable, "-c", "import h5py"], capture_output=True).returncode == 0


def inside(arguments):
    """Runs under slowdisk."""
    tools = arguments.packages or arguments.tools
    set_up(tools)
    disk = Disk()
    for name in arguments.disks:
        results = []
        for app in applications(tools, Path(disk.mount)):
            if not arguments.only or app.name in arguments.only:
                print(f"{name}: {app.name}", file=sys.stderr, flush=True)
                results.append(measure(arguments, disk, DISKS[name], app))
        machine = common.machine(disk.device)
        raw = {"disk": DISKS[name], "rounds": arguments.rounds, "machine": machine, "results": results}
        common.keep(arguments, f"apps-{name}", raw)


def median(runs, key):
    return statistics.median(key(it) if callable(key) else it[key] for it in runs)


def table(results):
    """Prints the table of what lies in the results folder."""
    for path in sorted(results.glob("apps-*.json")):
        raw = json.loads(path.read_text())
        machine = raw["machine"]
        print(f"\n{raw['disk']}; Linux {machine['kernel']}, {machine['processors']} processors, read_ahead_kb "
              f"{machine['read_ahead_kb']}, medians of {raw['rounds']} runs each")
        print("| application, memory | arm | elapsed | stalled | CPU | read | saved | goal | neighbour |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for row in raw["results"]:
            print("\n".join(lines(row, path.stem == "apps-network")))


def lines(row, network):
    if "skipped" in row:
        return [f"| {row['app']} | {row['skipped']} | | | | | | | |"]
    plain = median(row["runs"]["plain"], "elapsed_s")
    found = []
    for arm, runs in row["runs"].items():
        elapsed = median(runs, "elapsed_s")
        title = f"{row['app']}, {row['memory'] >> 20} MiB" if arm == "plain" else ""
        goal = f"{row['goal']:.0%}" if network and arm in FORESEEN else ""
        beside = f"{row['beside'][arm]['neighbour_s']:.2f} s" if arm in row["beside"] else ""
        stalled, cpu, read = median(runs, stall_s), median(runs, "cpu_s"), median(runs, "read_bytes") / 2**20
        found.append(f"| {title} | {arm} | {elapsed:.2f} s | {stalled:.2f} s | {cpu:.2f} s | {read:.0f} MiB "
                     f"| {1 - elapsed / plain:.0%} | {goal} | {beside} |")
    if not row["right"]:
        found.append(f"| {row['app']} | WRONG OUTPUT | | | | | | | |")
    return found


if __name__ == "__main__":
    main(__doc__, "application", ["agrep", "slices", "join", "ngrams", "eigen"], [make_data, inside, table])
