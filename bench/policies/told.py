"""The told table: what the default policy does with all it can know, beside the field's told policies, and with less.

Two bars. Told all, it takes at most 1.05 times what the best of the others takes. And to know more never costs: told <= 1.02 times
recorded, recorded and recordings of which a part is wrong <= 1.02 times told nothing.
"""

from collections import defaultdict
from statistics import geometric_mean

OURS = "informed"
OTHERS = ("aggressive", "forestall", "tip1", "tip2")
BARRED = ("aggressive", "forestall")
WRONG = {"recorded:1%": "a hundredth", "recorded:5%": "a twentieth", "recorded:20%": "a fifth"}
RUNS = [
    ("told", (OURS, *OTHERS), ["--disclose=told"]),
    ("recorded", (OURS,), ["--disclose=recorded"]),
    *((wrong, (OURS,), [f"--disclose={wrong}"]) for wrong in WRONG),
    ("nothing", (OURS,), []),
]
BARS = {
    "told all, of the best of aggressive and forestall": (1.05, lambda it: (it["told", OURS], min(it["told", one] for one in BARRED))),
    "told all, of recorded": (1.02, lambda it: (it["told", OURS], it["recorded", OURS])),
    "recorded, of nothing": (1.02, lambda it: (it["recorded", OURS], it["nothing", OURS])),
    **{f"recorded and {part} wrong, of nothing": (1.02, lambda it, wrong=wrong: (it[wrong, OURS], it["nothing", OURS]))
       for wrong, part in WRONG.items()},
}
KEYS = ("trace", "device", "think", "memory")


def measure(cells):
    return cells.rows(RUNS)


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
                summary.append(f"{name:<52} {bar:>5} {'tuning' if half else 'judging':<8} {met:>5} of {len(of_half):>4}"
                               f" {of_half[len(of_half) // 2]:>7.3f} {of_half[-1]:>7.3f}")
        short += [(ratio, name, cell) for cell, ratio in ratios.items() if ratio > bar]
    lines = [f"{ratio:>7.3f}  {name:<52} {', '.join(cell)}; {cells[cell]['told', OURS]:.4g} s told, {least[cell]:.4g} at least"
             for ratio, name, cell in sorted(short, reverse=True)]
    # Of several disks thought alone is a bound, which may be none.
    bound = sorted(times["told", OURS] / least[cell] for cell, times in cells.items() if least[cell] > 0)
    middle = f"Told all, of the least time there can be: {bound[len(bound) // 2]:.2f} in the middle, {bound[-1]:.1f} at most."
    head = f"{'bar':<52} {'':>5} {'half':<8} {'met in':>13} {'middle':>7} {'worst':>7}"
    return "\n".join(["Cells that fall short:", *lines, "", head, *summary, "", *of_nothing(cells), "", middle])


def of_nothing(cells):
    """Lines of what it takes on each device told so much, in parts of what it takes told nothing, in the geometric mean."""
    yield "Of the time told nothing, in the geometric mean:"
    for told in ["told", "recorded", *WRONG]:
        parts = defaultdict(list)
        for (_, device, _, _), times in cells.items():
            parts[device].append(max(times[told, OURS], 1e-9) / max(times["nothing", OURS], 1e-9))
        yield f"{told:<13} " + ", ".join(f"{device} {geometric_mean(of_device):.3f}" for device, of_device in parts.items())
