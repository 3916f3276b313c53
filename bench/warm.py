"""A search of 200,000 small files that are all in memory, plain and under foresee, which has nothing to gain there.

Each run under foresee is compared with the plain ones right before and after it. Part of make bench-local.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

FOLDERS, FILES = 200, 1000
SEARCH = ["grep", "-rc", "needle", "."]


def populate(root):
    for folder in range(FOLDERS):
        (root / f"d{folder:03d}").mkdir()
        for file in range(FILES):
            (root / f"d{folder:03d}" / f"f{file:04d}.txt").write_text(f"line {folder} {file}\nneedle here\n" * 4)


def took(prefix, root, environment):
    begun = time.perf_counter()
    subprocess.run(prefix + SEARCH, cwd=root, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("foresee", help="the foresee to measure")
    parser.add_argument("--rounds", type=int, default=25, help="runs of each arm")
    arguments = parser.parse_args()
    arms = {"without a profile": ["--no-learn"], "with one": []}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as directory:
        root = Path(directory, "tree")
        root.mkdir()
        populate(root)
        environment = {**os.environ, "XDG_CACHE_HOME": directory + "/cache"}
        under = {arm: [arguments.foresee, "run", "--quiet", *options, "--"] for arm, options in arms.items()}
        # The first run records the profile.
        for prefix in [[], under["with one"], under["with one"]]:
            took(prefix, root, environment)
        ratios = {arm: [] for arm in arms}
        for _ in range(arguments.rounds):
            for arm, prefix in under.items():
                before, foreseen, after = (took(it, root, environment) for it in ([], prefix, []))
                ratios[arm].append(2 * foreseen / (before + after))
    for arm, values in ratios.items():
        low, median, high = statistics.quantiles(values, n=4)
        print(f"{arm}: {median:.2f} times a plain run (quartiles {low:.2f} and {high:.2f})")


if __name__ == "__main__":
    main()
