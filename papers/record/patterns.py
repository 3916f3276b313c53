"""Records what the applications of paper 004 read and write, with the call site of each, as today's programs do their work.

    cscope    queries on part of Linux's source: symbols, which the index answers, and texts, for which all files are read
    glimpse   queries in Linux's documentation and part of its source
    gcc       part of Linux is built, with temporary files of assembler, a library, and a link (kernel_build.py)
    viewer    a program that loads data files of five sets, each file two or three times, in the way of viewperf
    tpc-h     queries of TPC-H's kind on PostgreSQL (tpch.py)
    multi1    cscope and gcc at once; multi2: viewer as well; multi3: glimpse and tpc-h

Each runs once under 'foresee record', on inputs that are made first. Kept are the application's own files, under names without the
machine's folders, with offset, length, call site, process, and whether it was written; what continues what the same process read
or wrote before from the same place becomes one request. Traces go to papers/src/p004/traces.

Needs Debian's cscope, gcc and postgresql; its packages of Linux's source and headers and of glimpse are downloaded and unpacked
beside the inputs, not installed; and pyarrow and tpchgen-cli (pip). Ten minutes.
"""

import argparse
import random
import re
import subprocess
import tempfile
from pathlib import Path

import inputs
import kernel_build
import pyarrow as pa
import pyarrow.parquet as pq
import tpch

ROOT = Path(__file__).resolve().parents[2]
SEED = 4


def cscope_inputs(folder):
    inputs.kernel_source(folder, ("kernel", "mm", "block", "net", "fs/ext4", "fs/btrfs", "include"), inputs.is_code)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    (folder / "cscope.files").write_text("\n".join(files) + "\n")
    subprocess.run(["cscope", "-b"], cwd=folder, check=True)


def cscope():
    """A line is the number of the kind of search (0: a symbol, 4: a text), and what is searched for."""
    words = ("kmalloc", "spin_lock", "inode", "sk_buff", "vmalloc", "EXPORT_SYMBOL", "rcu_read_lock", "page_cache",
             "mutex_lock", "copy_from_user", "wake_up", "printk")
    lines = "".join(f"{kind}{word}\\n" for word in words for kind in (0, 4))
    return f"printf '{lines}' | cscope -d -l > /dev/null"


TEXTS = ("Documentation", "fs", "net")


def glimpse_inputs(folder):
    inputs.package(folder.parent, "glimpse")
    inputs.kernel_source(folder, TEXTS, lambda path: True)
    index = [folder.parent / "glimpse/usr/bin/glimpseindex", "-H", ".", *TEXTS]
    subprocess.run(index, cwd=folder, check=True, capture_output=True)
    for file in folder.glob(".glimpse_*"):
        file.chmod(0o644)


def glimpse():
    words = ("scheduling", "buffer", "interrupt", "cluster", "volume", "scheduling", "memory", "device")
    return "; ".join(f"../glimpse/usr/bin/glimpse -y -H . '{word}' > /dev/null" for word in words) + "; true"


# Files of each set, each set as large; how often each file is loaded: four of them twice.
DATA_SETS, SET_BYTES = (8, 4, 1, 4, 3), 80_000_000


def viewer_inputs(folder):
    folder.mkdir()
    subprocess.run(["gcc", "-O2", "-o", folder / "viewer", Path(__file__).with_name("viewer.c")], check=True)
    rng = random.Random(SEED)
    for data_set, files in enumerate(DATA_SETS):
        for file in range(files):
            (folder / f"set{data_set}-{file}").write_bytes(rng.randbytes(SET_BYTES // files))


def viewer():
    files = [(data_set, file) for data_set, count in enumerate(DATA_SETS) for file in range(count)]
    times = (2 if at % 5 == 4 else 3 for at in range(len(files)))
    return "; ".join(f"./viewer {data_set} set{data_set}-{file} > /dev/null"
                     for (data_set, file), count in zip(files, times) for _ in range(count))


INPUTS = {"cscope": cscope_inputs, "glimpse": glimpse_inputs, "gcc": kernel_build.prepare, "viewer": viewer_inputs,
          "tpc-h": tpch.prepare}
COMMANDS = {"cscope": cscope, "glimpse": glimpse, "gcc": kernel_build.command, "viewer": viewer, "tpc-h": tpch.command}
MIXES = {"multi1": ("cscope", "gcc"), "multi2": ("cscope", "gcc", "viewer"), "multi3": ("glimpse", "tpc-h")}


def record(name, foresee, work, trace):
    parts = MIXES.get(name, (name,))
    shell = " & ".join(f"(cd {part}.data && {{ {COMMANDS[part]()}; }})" for part in parts) + "; wait"
    raw = work / "recorded"
    words = [*tpch.as_user(), foresee, "record", "--report", "-o", raw, "--", "sh", "-c", shell]
    done = subprocess.run(words, cwd=work, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: ended with {done.returncode}: {done.stderr}")
    if "records were lost" in done.stderr:
        raise SystemExit(f"{name}: foresee did not keep up; record it again when the machine is idle")
    rows = trim(raw, Names(work), trace)
    raw.unlink()
    print(f"{name:<8} {rows:>8,} requests, {trace.stat().st_size:>9,} bytes", flush=True)


class Names:
    """What files are called in a trace: without the machine's folders; temporary ones by numbers, tables by their names."""

    TEMPORARY = re.compile(r"/(cc|st)\w{6}|/pgsql_tmp\d+")

    def __init__(self, work):
        self.prefix, self.numbers, self.tables = f"{work}/", {}, {}
        relations = work / "tpc-h.data/relations"
        if relations.exists():
            lines = (line.split() for line in relations.read_text().splitlines())
            self.tables = {f"tpc-h.data/data/{path}": f"tpc-h.data/{table}" for path, table in lines}

    def of(self, path):
        """None: it is not the application's."""
        if not path.startswith(self.prefix):
            return None
        name = path.removeprefix(self.prefix)
        number = lambda found: f"/temporary{self.numbers.setdefault(found[0], len(self.numbers))}"
        return self.tables.get(name) or self.TEMPORARY.sub(number, name)


def trim(raw, names, trace):
    """Writes what has a name. Requests of a process from one site that continue one another become one."""
    columns = pq.read_table(raw, columns=["process", "file", "offset", "length", "site", "write"]).to_pydict()
    rows, last, processes = [], {}, {}
    for process, path, offset, length, site, write in zip(*columns.values()):
        file = names.of(path)
        if file is None or length <= 0:
            continue
        process = processes.setdefault(process, len(processes) + 1)
        before = last.get(process)
        is_next = before and before is rows[-1] and before[2] + before[3] == offset
        if is_next and (before[1], before[4], before[5]) == (file, site, write):
            before[3] += length
        else:
            last[process] = [process, file, offset, length, site, write]
            rows.append(last[process])
    types = {"process": pa.int32(), "file": pa.string(), "offset": pa.int64(), "length": pa.int64(), "site": pa.int64(),
             "write": pa.int32()}
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])
    table = pa.Table.from_arrays([pa.array(it, kind) for it, kind in zip(zip(*rows), types.values())], schema=schema)
    # Everything as it is, in one page: what is read again is then found by the compression, and takes a third of the room.
    pq.write_table(table, trace, compression="zstd", compression_level=19, use_dictionary=False,
                   column_encoding=dict.fromkeys(types, "PLAIN"), data_page_size=1 << 28, max_rows_per_page=1 << 30,
                   write_statistics=False, store_schema=False)
    return len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = [*COMMANDS, *MIXES]
    parser.add_argument("--foresee", type=Path, default=ROOT / "target/release/foresee", help="the foresee to record with")
    parser.add_argument("--traces", type=Path, default=ROOT / "papers/src/p004/traces", help="where the traces go")
    parser.add_argument("--work", type=Path, help="make the inputs here, and keep them: 2 GB (else: removed at the end)")
    parser.add_argument("--only", nargs="+", choices=every, default=every, help="only these")
    options = parser.parse_args()
    options.traces.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="r") as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        work.chmod(0o777)  # PostgreSQL does not run as root.
        for name in options.only:
            for part in MIXES.get(name, (name,)):
                if not (work / f"{part}.data").exists():
                    INPUTS[part](work / f"{part}.data")
            record(name, options.foresee.resolve(), work, options.traces.resolve() / f"{name}.parquet")


if __name__ == "__main__":
    main()
