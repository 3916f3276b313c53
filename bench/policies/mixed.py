"""The mixed table: programs side by side in one memory, of each of which something else is known.

Of four, the first discloses all it will read, the second advises that what it read last goes first, nothing is known of the third, and four
in five of the fourth's disclosures are wrong; then two of them at a time. Who advises is a recording of paper 002 that reads in a cycle;
the others are taken in turn from the short traces. Two bars. Each program takes at most as long as under `readahead:keep=lru` in half the
memory: what others disclose may take no more of it. And all together take at most as long as under the best of the other policies. What
holds of one program is told apart by the half of the traces that its own is of; of a mix, by those of all its programs, which may be both.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cells

OURS = "informed:keep=lru-sp,keep.silent=reuse"
PLAIN = "readahead:keep=lru"
OTHERS = (PLAIN, "readahead:keep=lru-sp", "readahead:keep=pcc", "tip2", "aggressive", "forestall")
ADVICE = "level 0 mru\n"
# What is known of each: the words of --disclose and whether it advises.
ROLES = {"told": ("told", False), "advised": ("none", True), "silent": ("none", False), "lying": ("told:80%", False)}
MIXES = (("told", "advised", "silent", "lying"), ("told", "silent"), ("told", "lying"), ("advised", "silent"), ("silent", "lying"))
ADVISED = ("p002-cs1", "p002-cs2", "p002-cs3", "p002-din")
TURNS = 4
# Percent of what all of them read.
MEMORY = (20, 50)
DEVICES = ("network", "disk")
HALVES = ("tuning", "judging", "both")


def measure(all_cells):
    """All rows so far, after each mix."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        (scratch / "advice").write_text(ADVICE)
        short = {name: cells.readable(path, scratch / name)[0] for name, path in all_cells.traces.items()
                 if path.stat().st_size < cells.QUICK_BYTES}
        plain = [name for name in short if name not in ADVISED]
        for turn, roles in itertools.product(range(TURNS), MIXES):
            silent = itertools.cycle(plain[turn:] + plain[:turn])
            names = [ADVISED[turn % len(ADVISED)] if ROLES[role][1] else next(silent) for role in roles]
            if any(name not in short for name in names):
                continue
            for device, half in itertools.product(DEVICES, (False, True)):
                memory = [f"{percent / 2 if half else percent:g}%" for percent in MEMORY]
                spelled = cells.spelled((PLAIN,) if half else (OURS, *OTHERS), device)
                command = [all_cells.foresee, "sim", *(short[name] for name in names), "-p", ",".join(spelled), "-c", ",".join(memory),
                           "--device", *cells.DEVICES[device], "--think", "50us", "--json", "-",
                           "--disclose=" + ",".join(ROLES[role][0] for role in roles)]
                for role in roles:
                    command += ["--advice", scratch / "advice" if ROLES[role][1] else "/dev/null"]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
                found = json.loads(done.stdout)
                rows += [{"programs": list(zip(roles, names)), "device": device, "memory": MEMORY[at * len(MEMORY) // len(found)],
                          "policy": "half" if half else spelled[row["policy"]], "elapsed_s": row["elapsed_s"],
                          "each_s": [row[f"elapsed_s_{number + 1}"] for number in range(len(roles))]}
                         for at, row in enumerate(found)]
            print(f"{', '.join(names)}: simulated", file=sys.stderr, flush=True)
            yield rows


def half_of(programs):
    """Of which half of the traces these are, each named after its role."""
    halves = {"tuning" if cells.is_tuning(program.split()[1]) else "judging" for program in programs}
    return halves.pop() if len(halves) == 1 else "both"


def report(rows):
    mixes = {}
    for row in rows:
        mix = tuple(f"{role} {name}" for role, name in row["programs"]), row["device"], f"{row['memory']} %"
        mixes.setdefault(mix, {})[row["policy"]] = row
    bars = {f"{role}, of plain in half the memory": [] for role in ROLES}
    bars["all, of the best other policy"] = []
    bars["all, of plain"] = []
    for (programs, device, memory), by in mixes.items():
        what = ", ".join((*programs, device, memory))
        for program, ours, plain in zip(programs, by[OURS]["each_s"], by["half"]["each_s"]):
            bar = bars[f"{program.split()[0]}, of plain in half the memory"]
            bar.append((ours / plain, half_of([program]), f"{program} among {what}"))
        ours = by[OURS]["elapsed_s"]
        best = min(by[policy]["elapsed_s"] for policy in OTHERS)
        bars["all, of the best other policy"].append((ours / best, half_of(programs), what))
        bars["all, of plain"].append((ours / by[PLAIN]["elapsed_s"], half_of(programs), what))
    lines = ["Mixes that fall short:"]
    lines += [f"{ratio:>7.3f}  {of_half:<7}  {bar}: {what}"
              for bar, ratios in bars.items() for ratio, of_half, what in sorted(ratios, reverse=True) if ratio > 1.0]
    lines += ["", f"{'bar':<40} {'half':<7} {'met in':>11} {'middle':>7} {'worst':>7}"]
    for (bar, all_ratios), name in itertools.product(bars.items(), HALVES):
        ratios = sorted(ratio for ratio, of_half, _ in all_ratios if of_half == name)
        if ratios:
            met = sum(ratio <= 1.0 for ratio in ratios)
            lines.append(f"{bar:<40} {name:<7} {met:>4} of {len(ratios):>3} {ratios[len(ratios) // 2]:>7.3f} {ratios[-1]:>7.3f}")
    return "\n".join(lines)
