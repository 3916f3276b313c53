"""Records what the applications of paper 004 read, with the call site of each read, as today's programs do their work.

    cscope    queries on part of Linux's source: symbols, which the index answers, and texts, for which all files are read
    glimpse   queries in Linux's documentation
    gcc       the preprocessing of part of Linux: each file of C is read once, headers again and again
    viewer    a program that loads five sets of data files as often as each is shown, in the way of viewperf
    tpc-h     queries like TPC-H's on SQLite: tables scanned, joined by an index, and both at once
    multi1    cscope and gcc at once; multi2: viewer as well; multi3: glimpse and tpc-h

The data are about a quarter of the paper's. Each runs once under 'foresee record', on inputs that are made first. Kept are the
application's own files, under names without the machine's folders, with offset, length, call site and process; what continues
what the same process read before from the same place becomes one request. Traces go to papers/src/p004/traces.

Needs Debian's cscope, gcc and sqlite3; its packages of Linux's source and glimpse are downloaded and unpacked beside the inputs, not
installed; and pyarrow (pip). Ten minutes.
"""

import argparse
import random
import re
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import inputs
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
SEED = 4


def cscope_inputs(folder):
    inputs.kernel_source(folder, ("kernel", "mm", "block", "net/core", "net/ipv4", "fs/ext4", "fs/btrfs", "include/linux"), inputs.is_code)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    (folder / "cscope.files").write_text("\n".join(files) + "\n")
    subprocess.run(["cscope", "-b"], cwd=folder, check=True)


def cscope():
    """A line is the number of the kind of search (0: a symbol, 4: a text), and what is searched for."""
    words = ("kmalloc", "spin_lock", "inode", "sk_buff", "vmalloc", "EXPORT_SYMBOL", "rcu_read_lock", "page_cache")
    lines = "".join(f"{kind}{word}\\n" for word in words for kind in (0, 4))
    return f"printf '{lines}' | cscope -d -l > /dev/null"


def glimpse_inputs(folder):
    inputs.package(folder.parent, "glimpse")
    inputs.kernel_source(folder, ["Documentation"], lambda path: True)
    index = [folder.parent / "glimpse/usr/bin/glimpseindex", "-H", ".", "Documentation"]
    subprocess.run(index, cwd=folder, check=True, capture_output=True)


def glimpse():
    words = ("scheduling", "buffer", "interrupt", "cluster", "volume", "scheduling", "memory", "device")
    return "; ".join(f"../glimpse/usr/bin/glimpse -y -H . '{word}' > /dev/null" for word in words) + "; true"


# As the kernel's own Makefile says, but for what it generates.
CPP = ("gcc -E -nostdinc -D__KERNEL__ -Iarch/x86/include -Iarch/x86/include/generated -Iinclude -Iarch/x86/include/uapi "
       "-Iinclude/uapi -include include/linux/kconfig.h -include include/linux/compiler_types.h")


def gcc_inputs(folder):
    parts = ("include", "arch/x86/include", "kernel", "mm")
    inputs.kernel_source(folder, parts, inputs.is_code)
    generated = folder / "arch/x86/include/generated"
    sources = [path.relative_to(folder) for path in sorted(folder.glob("kernel/*.c")) + sorted(folder.glob("mm/*.c"))]
    for source in sources:
        # What a configured kernel generates: most pass on to asm-generic, the others may be empty here.
        while missing := re.search(r"fatal error: (\S+): No such file", preprocess(folder, source)):
            stub, generic = generated / missing[1], missing[1].replace("asm/", "asm-generic/")
            stub.parent.mkdir(parents=True, exist_ok=True)
            is_generic = missing[1].startswith("asm/") and any((folder / it / generic).exists() for it in ("include", "include/uapi"))
            stub.write_text(f"#include <{generic}>\n" if is_generic else "")
    (folder / "build").write_text("".join(f"{CPP} {source} -o out.i 2> /dev/null\n" for source in sources))


def preprocess(folder, source):
    words = [*CPP.split(), source, "-o", "/dev/null"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True).stderr


def gcc():
    return "sh build; true"


DATA_SETS = (8, 4, 1, 4, 3)


def viewer_inputs(folder):
    folder.mkdir()
    subprocess.run(["gcc", "-O2", "-o", folder / "viewer", Path(__file__).with_name("viewer.c")], check=True)
    rng = random.Random(SEED)
    for data_set, files in enumerate(DATA_SETS):
        for file in range(files):
            (folder / f"set{data_set}-{file}").write_bytes(rng.randbytes(24_000_000 // files))


def viewer():
    sets = (" ".join(f"set{number}-{file}" for file in range(files)) for number, files in enumerate(DATA_SETS))
    return "; ".join(f"./viewer 6 {files} > /dev/null; ./viewer 4 {files} > /dev/null" for files in sets)


def tpch_inputs(folder):
    folder.mkdir()
    rng = random.Random(SEED)
    base = sqlite3.connect(folder / "tpch.db")
    base.executescript("""
        CREATE TABLE customer (custkey INTEGER PRIMARY KEY, segment INT, comment TEXT);
        CREATE TABLE orders (orderkey INTEGER PRIMARY KEY, custkey INT, orderdate INT, comment TEXT);
        CREATE TABLE lineitem (orderkey INT, partkey INT, quantity INT, price INT, shipdate INT, comment TEXT);
        CREATE TABLE part (partkey INTEGER PRIMARY KEY, brand INT, comment TEXT);""")
    text = lambda length: "x" * (length // 2 + rng.randrange(length))
    base.executemany("INSERT INTO customer VALUES (?, ?, ?)", ((key, rng.randrange(5), text(100)) for key in range(6000)))
    base.executemany("INSERT INTO part VALUES (?, ?, ?)", ((key, rng.randrange(25), text(60)) for key in range(8000)))
    orders = ((key, rng.randrange(6000), rng.randrange(2400), text(60)) for key in range(60_000))
    base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", orders)
    items = ((key // 4, rng.randrange(8000), rng.randrange(50), rng.randrange(10**6), rng.randrange(2400), text(60))
             for key in range(240_000))
    base.executemany("INSERT INTO lineitem VALUES (?, ?, ?, ?, ?, ?)", items)
    base.executescript("CREATE INDEX by_order ON lineitem (orderkey); CREATE INDEX by_customer ON orders (custkey);")
    base.commit()


QUERIES = (
    "SELECT quantity % 3, sum(price), count(*) FROM lineitem WHERE shipdate < 2200 GROUP BY 1",
    "SELECT sum(price) FROM lineitem WHERE shipdate BETWEEN 300 AND 700 AND quantity < 24",
    "SELECT o.orderdate / 100, sum(l.price) FROM customer c JOIN orders o ON o.custkey = c.custkey "
    "JOIN lineitem l ON l.orderkey = o.orderkey WHERE c.segment = 1 GROUP BY 1",
    "SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM lineitem l WHERE l.orderkey = o.orderkey AND l.quantity > 45) "
    "AND o.orderdate BETWEEN 500 AND 900",
    "SELECT p.brand, avg(l.price) FROM lineitem l JOIN part p ON p.partkey = l.partkey WHERE l.quantity < 10 GROUP BY 1",
    "SELECT sum(l.price) FROM lineitem l WHERE l.quantity > (SELECT avg(quantity) * 1.5 FROM lineitem)",
)


def tpch():
    return "sqlite3 tpch.db \"" + "; ".join(QUERIES) + "\" > /dev/null"


INPUTS = {"cscope": cscope_inputs, "glimpse": glimpse_inputs, "gcc": gcc_inputs, "viewer": viewer_inputs, "tpc-h": tpch_inputs}
COMMANDS = {"cscope": cscope, "glimpse": glimpse, "gcc": gcc, "viewer": viewer, "tpc-h": tpch}
MIXES = {"multi1": ("cscope", "gcc"), "multi2": ("cscope", "gcc", "viewer"), "multi3": ("glimpse", "tpc-h")}


def record(name, foresee, work, trace):
    parts = MIXES.get(name, (name,))
    shell = " & ".join(f"(cd {part}.data && {{ {COMMANDS[part]()}; }})" for part in parts) + "; wait"
    raw = work / "recorded"
    done = subprocess.run([foresee, "record", "--report", "-o", raw, "--", "sh", "-c", shell], cwd=work, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: ended with {done.returncode}: {done.stderr}")
    if "records were lost" in done.stderr:
        raise SystemExit(f"{name}: foresee did not keep up; record it again when the machine is idle")
    rows = trim(raw, f"{work}/", trace)
    raw.unlink()
    print(f"{name:<8} {rows:>8,} requests, {trace.stat().st_size:>9,} bytes", flush=True)


def trim(raw, prefix, trace):
    """Writes what lies below the prefix. Requests of a process from one site that continue one another become one."""
    wanted = ("process", "file", "offset", "length", "site")
    columns = pq.read_table(raw, columns=list(wanted), filters=[("write", "=", 0)]).to_pydict()
    rows, last, processes = [], {}, {}
    for process, file, offset, length, site in zip(*(columns[name] for name in wanted)):
        if not file.startswith(prefix) or length <= 0:
            continue
        process = processes.setdefault(process, len(processes) + 1)
        before = last.get(process)
        if before and before is rows[-1] and (before[1], before[2] + before[3], before[4]) == (file, offset, site):
            before[3] += length
        else:
            last[process] = [process, file, offset, length, site]
            rows.append(last[process])
    process, file, offset, length, site = zip(*rows)
    types = {"process": pa.int32(), "file": pa.string(), "offset": pa.int64(), "length": pa.int64(), "site": pa.int64()}
    columns = (process, [name.removeprefix(prefix) for name in file], offset, length, site)
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])
    table = pa.Table.from_arrays([pa.array(it, kind) for it, kind in zip(columns, types.values())], schema=schema)
    packed = {"offset": "DELTA_BINARY_PACKED", "length": "DELTA_BINARY_PACKED"}
    pq.write_table(table, trace, compression="zstd", compression_level=19, use_dictionary=["file", "site", "process"],
                   column_encoding=packed, write_statistics=False, store_schema=False)
    return len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = [*COMMANDS, *MIXES]
    parser.add_argument("--foresee", type=Path, default=ROOT / "target/release/foresee", help="the foresee to record with")
    parser.add_argument("--traces", type=Path, default=ROOT / "papers/src/p004/traces", help="where the traces go")
    parser.add_argument("--work", type=Path, help="make the inputs here, and keep them: 1 GB (else: removed at the end)")
    parser.add_argument("--only", nargs="+", choices=every, default=every, help="only these")
    options = parser.parse_args()
    options.traces.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="r") as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        for name in options.only:
            for part in MIXES.get(name, (name,)):
                if not (work / f"{part}.data").exists():
                    INPUTS[part](work / f"{part}.data")
            record(name, options.foresee.resolve(), work, options.traces.resolve() / f"{name}.parquet")


if __name__ == "__main__":
    main()
