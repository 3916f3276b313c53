"""How long policies keep programs waiting, by the simulator: tables of what the default policy must reach, each in a file of its own.

    told    the default policy told all, beside the field's told policies; and told less: an earlier run, one that is partly wrong, nothing
    mixed   programs side by side, of each of which something else is known

Traces are the recordings of papers/record and the block traces of a folder (--traces), which need not be there. Nothing depends on
the machine: the same program gives the same numbers. Half of the traces are for tuning, the others judge (README.md), and each table
tells the halves apart.

python3 bench/policies/run.py [--only-table TABLE] [--only TRACE] [--quick]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cells
import mixed
import told
from common import BENCH, ROOT, folder, keep, options

TABLES = {"told": told, "mixed": mixed}


def main():
    parser = options(__doc__, "cell")
    parser.set_defaults(rounds=1)
    parser.add_argument("--only-table", choices=list(TABLES), help="only this table")
    parser.add_argument("--traces", type=folder, default=ROOT.parent / "shared/traces", help="a folder of block traces")
    parser.add_argument("--only", nargs="+", metavar="TRACE", help="only these, as cs or p002-cs1")
    parser.add_argument("--quick", action="store_true", help="only short traces, and two sizes of memory")
    arguments = parser.parse_args()
    for name, table in TABLES.items():
        if arguments.only_table not in (None, name):
            continue
        if not arguments.table:
            # What is interrupted keeps what it has.
            for rows in table.measure(cells.Cells(arguments)):
                keep(arguments, f"policies-{name}", rows)
        print(table.report(cells.read(arguments, f"policies-{name}")))


if __name__ == "__main__":
    main()
