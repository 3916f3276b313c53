"""The default of `foresee run` beside the machine without it: every row of the benchmarks of real programs, worst first.

    make bench-policies
    python3 bench/policies/alive.py

Runs nothing: reads what make bench, bench-apps, bench-advice, bench-unhinted, bench-varied, bench-listing, bench-walks and bench-stripe
left in bench/results, each from when it was made last. A row's ratio is the time without foresee over the time with it, medians of its
runs; rows below 0.97 come first. Of arms with foresee the default policy's count, with what the program tells or not. What foresee adds
to a start is no ratio, and is not here (make bench says it).

Then the hits of the reader of a hot set while a loop runs beside it (`beside` of bench-unhinted), which must not be fewer than without
foresee.
"""

import json
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cells as traced

RATIO_MIN = 0.97
# Arms of applications that go by the default policy.
DEFAULT_ARMS = ("default", "hint_file")


def seconds(runs, key="elapsed_s"):
    return median(run[key] for run in runs)


def jobs(raw):
    """Of make bench, bench-listing, bench-walks, bench-stripe: a list of times for each arm."""
    for row in raw["results"]:
        name = f"{row['job']}, {row['state']}" if "state" in row else row["job"]
        if "disks" in row:
            name += f", {row['disks']} striped" if row["disks"] else ", not striped"
        for unit in ("s", "ns"):
            if f"plain_{unit}" in row:
                yield name, median(row[f"plain_{unit}"]), median(row[f"foreseen_{unit}"])


def apps(raw):
    for row in (row for row in raw["results"] if "skipped" not in row):
        plain = row["runs"]["plain"]
        for arm in DEFAULT_ARMS:
            if arm in row["runs"]:
                yield f"{row['app']}, {arm}", seconds(plain), seconds(row["runs"][arm])
        beside = row["beside"]
        yield f"{row['app']}, beside a neighbour", *(beside[arm]["elapsed_s"] for arm in ("plain", "default"))
        yield f"{row['app']}, the neighbour", *(beside[arm]["neighbour_s"] for arm in ("plain", "default"))


def advice(raw):
    for row in raw["results"]:
        yield row["app"], seconds(row["runs"]["plain"]), seconds(row["runs"]["advised"])
    if "together" in raw:
        for at, name in enumerate(("symbols", "glimpse")):
            yield f"{name}, both at once", *(raw["together"][arm]["runs"][at]["elapsed_s"] for arm in ("plain", "advised"))


def unhinted(raw):
    for part, after in (("mixed", ""), ("again", ", after another run")):
        for row in raw.get(part, []):
            name = f"{row['streams']} streams, {row['read_ahead_kb']} KiB{after}"
            plain, foreseen = row["runs"]["plain"], row["runs"]["foreseen"]
            yield name, seconds(plain), seconds(foreseen)
            if row["streams"]:
                yield f"{name}: the streams", seconds(plain, "streams_s"), seconds(foreseen, "streams_s")
    for row in raw.get("beside", []):
        yield "a loop beside a hot set", seconds(row["runs"]["plain"]), seconds(row["runs"]["foreseen"])
    for row in raw.get("repeated", []):
        yield f"{row['name']}, six times", seconds(row["runs"]["plain"]), seconds(row["runs"]["foreseen"])


def varied(raw):
    for name, job in raw["jobs"].items():
        # In each round one run after the other, each with other words.
        for turn, (plain, foreseen) in enumerate(zip(*(zip(*job["rows"][arm]) for arm in ("plain", "foreseen"))), 1):
            yield f"{name}, run {turn}", seconds(plain), seconds(foreseen)


BENCHES = {"network": jobs, "disk": jobs, "apps-*": apps, "advice-*": advice, "unhinted-*": unhinted, "varied-*": varied,
           "listing-*": jobs, "walks-*": jobs, "stripe": jobs}


def rows(results):
    """Ratio, bench and row, and both times, the worst first."""
    found = [(plain / foreseen, f"{path.stem}: {name}", plain, foreseen)
             for pattern, rows_of in BENCHES.items() for path in sorted(results.glob(f"{pattern}.json"))
             for name, plain, foreseen in rows_of(json.loads(path.read_text()))]
    return sorted(found)


def hot_readers(results):
    """Of each disk, the share of hits of the reader of a hot set while it is beside a loop, without foresee and with it."""
    for path in sorted(results.glob("unhinted-*.json")):
        for row in json.loads(path.read_text()).get("beside", []):
            looped = {arm: median(run["passes"][-1]["at_once"] / max(1, run["passes"][-1]["reads"]) for run in runs)
                      for arm, runs in row["runs"].items()}
            yield path.stem, looped["plain"], looped["foreseen"]


def main():
    arguments = traced.options(__doc__).parse_args()
    found = rows(arguments.results)
    short = [row for row in found if row[0] < RATIO_MIN]
    print(f"{len(short)} of {len(found)} rows: less than {RATIO_MIN} of what the machine does without foresee")
    for at, (ratio, name, plain, foreseen) in enumerate(found):
        if at == len(short):
            print("and the others")
        unit = "ns" if "warm" in name else "s "
        print(f"{ratio:>8.2f}  {plain:>9.2f} {unit} {foreseen:>9.2f} {unit}  {name}")
    print("\nhits of a reader of a hot set while a loop runs beside it: without foresee, with it")
    for name, plain, foreseen in hot_readers(arguments.results):
        print(f"  {name:<18} {plain:>6.1%} {foreseen:>6.1%}{'  fewer' if foreseen < plain else ''}")


main()
