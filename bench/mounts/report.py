"""The table of what was measured, and what in it falls short."""

import json
import statistics

# The runs under foresee, each with what the one before it left behind.
FORESEEN = ("first", "second")
# What they may cost, of the plain run's.
MOST_TIME, MOST_BYTES = 1.03, 1.05


def median(row, arm, key):
    return statistics.median(it[key] for it in row[arm])


def ratio(row, arm, key):
    plain, foreseen = median(row, "plain", key), median(row, arm, key)
    return foreseen / plain if plain else float(foreseen > 0)


def spread(row, key):
    """How far the plain runs are apart: a ratio that is nearer to 1 says nothing."""
    values = [it[key] for it in row["plain"]]
    share = (max(values) - min(values)) / 2 / statistics.median(values)
    return f" ± {share:.0%}" if share >= 0.005 else ""


def requests(row):
    """By their kind, where these can be told."""
    kinds_of = sorted({word for it in row["plain"] for word in it["requests"]})
    counts = [(statistics.median(it["requests"].get(word, 0) for it in row["plain"]), word) for word in kinds_of]
    return ", ".join(f"{count:,.0f} {word}" for count, word in counts)


def too_much(row):
    """What foresee costs that it must not cost, in words."""
    if "failed" in row:
        yield f"{row['mount']}: {row['job']}: failed: {row['failed']}"
        return
    for arm in FORESEEN:
        for key, most, what in (("elapsed_s", MOST_TIME, "time"), ("bytes", MOST_BYTES, "bytes")):
            if (found := ratio(row, arm, key)) > most:
                amounts = [f"{median(row, it, key):.2f} s" if key == "elapsed_s" else f"{median(row, it, key) / 2**20:.1f} MiB"
                           for it in ("plain", arm)]
                yield f"{row['mount']}: {row['job']}, {arm} run: {found:.2f} x the {what} ({' -> '.join(amounts)})"
    if not row["same_output"]:
        yield f"{row['mount']}: {row['job']}: output or exit status DIFFERS"


def line(row):
    if "failed" in row:
        return f"| {row['mount']} | {row['job']} | failed | | | | | | |"
    cells = []
    for arm in FORESEEN:
        for key, most in (("elapsed_s", MOST_TIME), ("bytes", MOST_BYTES)):
            found = ratio(row, arm, key)
            cells.append(f"**{found:.2f}**" if found > most else f"{found:.2f}")
    took = f"{median(row, 'plain', 'elapsed_s'):.2f} s{spread(row, 'elapsed_s')}"
    moved = f"{median(row, 'plain', 'bytes') / 2**20:.1f}{spread(row, 'bytes')}"
    return f"| {row['mount']} | {row['job']} | {took} | {moved} | {requests(row)} | {' | '.join(cells)} |"


def table(path):
    raw = json.loads(path.read_text())
    machine = raw["machine"]
    print(f"\n{raw['latency_ms']} ms on each answer, {raw['bandwidth_mb']} MB/s; bindfs and overlayfs over a slow disk, "
          f"{raw['slow_disk']}; Linux {machine['kernel']}, {machine['processors']} processors, medians of {raw['rounds']} runs each, "
          "of more where they are short\n"
          "± is half of what lies between the plain runs; under foresee: time and bytes over those of the plain run\n")
    print("| mount | job | plain | MiB | requests | first run: time | bytes | second run: time | bytes |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(line(row) for row in raw["results"]))
    for kind, why in raw["skipped"].items():
        print(f"\nskipped: {kind}: {why}")
    found = [words for row in raw["results"] for words in too_much(row)]
    print(f"\nslower than {MOST_TIME} x plain, or more than {MOST_BYTES} x its bytes: {len(found) or 'none'}")
    print("\n".join(found))
