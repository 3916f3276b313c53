"""The told table: what the default policy does with all it can know, beside the field's told policies and a rule, and with less.

Two bars. Told all, it takes at most 1.05 times what the best of `aggressive`, `forestall` and the rule takes. And to know more never costs:
told <= 1.02 times recorded, recorded and recordings of which a part is wrong <= 1.02 times told nothing.

The rule is a model that knows the device exactly (`rule.py`). It stands beside the others where it can: on links, for traces of one
reader, with pyarrow. It leaves out much of what holds the others up, and where it is quicker than the device can be (`least`), that counts.
"""

import importlib.util
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean

import cells as traced
import rule

OURS = "informed"
OTHERS = ("aggressive", "forestall", "tip1", "tip2")
RULE = "rule"
BARRED = ("aggressive", "forestall", RULE)
WRONG = {"recorded:1%": "a hundredth", "recorded:5%": "a twentieth", "recorded:20%": "a fifth"}
RUNS = [
    ("told", (OURS, *OTHERS), ["--disclose=told"]),
    ("recorded", (OURS,), ["--disclose=recorded"]),
    *((wrong, (OURS,), [f"--disclose={wrong}"]) for wrong in WRONG),
    ("nothing", (OURS,), []),
]
BARS = {
    "told all, of the best of aggressive, forestall and the rule": (1.05, lambda it: (it["told", OURS], it["told", best(it)])),
    "told all, of recorded": (1.02, lambda it: (it["told", OURS], it["recorded", OURS])),
    "recorded, of nothing": (1.02, lambda it: (it["recorded", OURS], it["nothing", OURS])),
    **{f"recorded and {part} wrong, of nothing": (1.02, lambda it, wrong=wrong: (it[wrong, OURS], it["nothing", OURS]))
       for wrong, part in WRONG.items()},
}
KEYS = ("trace", "device", "think", "memory")


def measure(cells):
    has_rule = importlib.util.find_spec("pyarrow") is not None
    if not has_rule:
        print("skipped: the rule, without pyarrow", file=sys.stderr)
    ruled = []
    for rows in cells.rows(RUNS):
        name = rows[-1]["trace"]
        told = [row for row in rows if row["trace"] == name and (row["told"], row["policy"]) == ("told", OURS)]
        ruled += by_rule(cells, name, told) if has_rule else []
        yield rows + ruled


def by_rule(cells, name, rows):
    """These rows of a trace, by the rule; those it cannot model are left out."""
    with tempfile.TemporaryDirectory() as scratch:
        reads = rule.rows_of(cells.foresee, traced.readable(cells.traces[name], Path(scratch) / "trace")[0])
    thinks = {row["think"] for row in rows} if reads is not None else ()
    requests = {think: rule.requests_of(reads, think) for think in thinks}
    for row in rows:
        device = rule.device_of(traced.DEVICES[row["device"]])
        if device is not None and row["think"] in requests:
            took_ms, _ = rule.Reader(requests[row["think"]], row["blocks"], device).run()
            yield row | {"policy": RULE, "elapsed_s": max(took_ms / 1e3, row["least_s"])}


def best(times):
    """Who of those that a cell is measured by took least there."""
    return min((policy for policy in BARRED if ("told", policy) in times), key=lambda policy: times["told", policy])


def report(rows):
    cells, least, tuning = defaultdict(dict), {}, {}
    for row in rows:
        cell = tuple(row[key] for key in KEYS)
        cells[cell][row["told"], row["policy"]] = row["elapsed_s"]
        least[cell], tuning[cell] = row["least_s"], row["tuning"]
    short, summary = [], []
    for name, (bar, sides) in BARS.items():
        ratios = {cell: ours / max(best, 1e-9) for cell, times in cells.items() for ours, best in [sides(times)]}
        for half in (True, False):
            of_half = sorted(ratio for cell, ratio in ratios.items() if tuning[cell] == half)
            if of_half:
                met = sum(ratio <= bar for ratio in of_half)
                summary.append(f"{name:<60} {bar:>5} {'tuning' if half else 'judging':<8} {met:>5} of {len(of_half):>4}"
                               f" {of_half[len(of_half) // 2]:>7.3f} {of_half[-1]:>7.3f}")
        short += [(ratio, name, cell) for cell, ratio in ratios.items() if ratio > bar]
    lines = [f"{ratio:>7.3f}  {name:<60} {', '.join(cell)}; {told_beside(cells[cell])}, {least[cell]:.4g} at least"
             for ratio, name, cell in sorted(short, reverse=True)]
    # Raw results may be older than the bound for several disks: there it is of thought alone, or none.
    bound = sorted(times["told", OURS] / least[cell] for cell, times in cells.items() if least[cell] > 0)
    middle = f"Told all, of the least time there can be: {bound[len(bound) // 2]:.2f} in the middle, {bound[-1]:.1f} at most."
    head = f"{'bar':<60} {'':>5} {'half':<8} {'met in':>13} {'middle':>7} {'worst':>7}"
    return "\n".join(["Cells that fall short:", *lines, "", head, *summary, "", *of_nothing(cells), "", *of_rule(cells), middle])


def told_beside(times):
    """What it takes told all, and the best of those it is measured by."""
    return f"{times['told', OURS]:.4g} s told, {best(times)} {times['told', best(times)]:.4g}"


def of_nothing(cells):
    """Lines of what it takes on each device told so much, in parts of what it takes told nothing, in the geometric mean."""
    yield "Of the time told nothing, in the geometric mean:"
    for told in ["told", "recorded", *WRONG]:
        parts = defaultdict(list)
        for (_, device, _, _), times in cells.items():
            parts[device].append(max(times[told, OURS], 1e-9) / max(times["nothing", OURS], 1e-9))
        yield f"{told:<13} " + ", ".join(f"{device} {geometric_mean(of_device):.3f}" for device, of_device in parts.items())


def of_rule(cells):
    """A line of what it takes on each device told all, in parts of what the rule takes, in the geometric mean; none without the rule."""
    parts = defaultdict(list)
    for (_, device, _, _), times in cells.items():
        if ("told", RULE) in times:
            parts[device].append(max(times["told", OURS], 1e-9) / max(times["told", RULE], 1e-9))
    if parts:
        yield "Told all, of the rule's time, in the geometric mean: " + ", ".join(
            f"{device} {geometric_mean(of_device):.3f} (of {len(of_device)})" for device, of_device in parts.items())
