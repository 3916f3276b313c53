"""Programs that people use, as they come: version control, databases and their files, copies, a virtual machine, a linter."""

import shlex
import shutil
import sys

NEEDED = ["duckdb", "pyarrow", "rocksdict", "h5py", "numpy"]

COMMITS = """
mkdir history && cd history && git init -q && git config user.name bench && git config user.email bench@example.org
for package in ../packages/*/; do cp -r "$package" . && git add -A && git commit -qm "$package"; done
for file in $(git ls-files '*.py' | head -2000); do sed -i 's/import/import /' "$file"; done
git commit -qam changed && rm -rf -- */ && git repack -qad
"""

TABLES = """
import duckdb, numpy, pyarrow, pyarrow.parquet, h5py, rocksdict
values = numpy.random.default_rng(5).random((1_000_000, 16))
pyarrow.parquet.write_table(pyarrow.table({f"c{at}": column for at, column in enumerate(values.T)}), "tables/rows.parquet")
database = duckdb.connect("tables/rows.duckdb")
database.execute("create table rows as select * from 'tables/rows.parquet'")
database.close()
with h5py.File("tables/array.h5", "w") as file:
    file.create_dataset("values", data=values, chunks=(1000, 16))
pairs = rocksdict.Rdict("tables/pairs")
for number in range(300_000):
    pairs[number] = "x" * 200
pairs.close()
"""

DUCKDB = """
import duckdb
print(duckdb.connect('tables/rows.duckdb', read_only=True).execute('select max(c3), max(c7) from rows').fetchall())
"""
PYARROW = "import pyarrow.parquet; print(pyarrow.parquet.read_table('tables/rows.parquet', columns=['c3', 'c7']).num_rows)"
H5PY = """
import h5py
values = h5py.File('tables/array.h5')['values']
print(sum(float(values[at, 0]) for at in range(0, 1_000_000, 4000)))
"""
ROCKSDB = """
import random, rocksdict
pairs = rocksdict.Rdict('tables/pairs', access_type=rocksdict.AccessType.read_only())
print(sum(len(pairs[key]) for key in random.Random(5).choices(range(300_000), k=1500)))
"""
SCRIPTS = """
mkdir scripts && cd scripts && npm init -y > /dev/null && npm install --silent eslint@9 lodash
echo 'export default [];' > eslint.config.mjs
"""
JAVA = 'mkdir java && cp -rL "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")"/. java/ 2> /dev/null || true'

SETUP = {
    "history": COMMITS,
    "tables": f"mkdir tables; PYTHONPATH=$FORESEE_BENCH_PACKAGES {sys.executable} -c {shlex.quote(TABLES)}",
    "scripts": SCRIPTS,
    "java": JAVA,
}

# What is made of other data.
MADE_OF = {"history": "packages"}


def jobs(job, python):
    """The jobs that can be done here."""
    shell = lambda script: ["sh", "-c", script]  # noqa: E731
    into = 'copy=$(mktemp -d) && {} && find "$copy" -type f | wc -l && rm -rf "$copy"'
    lints = "cd scripts && node node_modules/eslint/bin/eslint.js node_modules/lodash/lodash.js && echo fine"
    clone = shell(into.format('git clone -q --no-local history "$copy/it"'))
    cats = "find packages -name '*.py' -print0 | xargs -0 -P4 -n64 cat | wc -c"
    no_cats = "find /dev/null | xargs cat | wc -c"
    every = [
        ("rg", job("rg over the packages", (0, 0), ["rg", "-c", "import", "packages"], "packages", ["rg", "--version"], in_any_order=True)),
        ("xargs", job("find and xargs -P4 cat, the packages' sources", (0, 0), shell(cats), "packages", shell(no_cats))),
        ("git", job("git log -p", (0, 0), shell("git -C history log -p | md5sum"), "history", ["git", "--version"])),
        ("git", job("git clone", (0, 0), clone, "history", ["git", "--version"])),
        ("python3", python("duckdb, two columns", (0, 0), [DUCKDB], "tables")),
        ("python3", python("pyarrow, two columns of a Parquet file", (0, 0), [PYARROW], "tables")),
        ("python3", python("RocksDB, 1,500 look-ups", (0, 0), [ROCKSDB], "tables")),
        ("python3", python("h5py, a value of every fourth chunk", (0, 0), [H5PY], "tables")),
        ("rsync", job("rsync -a", (0, 0), shell(into.format('rsync -a packages/ "$copy"')), "packages", ["rsync", "--version"])),
        ("java", job("java, its own modules", (0, 0), shell("java/bin/java --list-modules | wc -l"), "java", ["true"])),
        ("npm", job("eslint, a large file", (0, 0), shell(lints), "scripts", ["node", "--version"])),
    ]
    for program in sorted({program for program, _ in every}):
        if not shutil.which(program):
            print(f"left out: there is no {program}", file=sys.stderr)
    return [it for program, it in every if shutil.which(program)]
