"""Records what the eight applications of paper 002 read and write, as today's programs do their work, at the paper's sizes.

Each runs once under 'foresee record', on inputs that are made first. What is kept of a recording is in trim.py. The traces go to
papers/src/p002/traces, where 'foresee paper 002' has them from.

Needs Debian's cscope, postgresql, binutils, coreutils and gcc; its packages of Linux and glimpse are downloaded and unpacked beside
the inputs, not installed (165 MB); and pyarrow (pip). Nothing depends on chance: the same versions give the same traces, byte for
byte, in a folder whose name is as long (cscope and glimpse write its name into what they read) on a file system that lists names
in the same order (glimpse keeps to that). Five minutes.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from applications import APPLICATIONS
from trim import trim

ROOT = Path(__file__).resolve().parents[2]
# Programs, and Debian's packages of them.
NEEDED = {"cscope": "cscope", "ld": "binutils", "gcc": "gcc", "psql": "postgresql"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foresee", type=Path, default=ROOT / "target/release/foresee", help="the foresee to record with")
    parser.add_argument("--traces", type=Path, default=ROOT / "papers/src/p002/traces", help="where the traces go")
    parser.add_argument("--work", type=Path, help="make the inputs here, and keep them: 1 GB (else: removed at the end)")
    parser.add_argument("--only", nargs="+", choices=list(APPLICATIONS), default=list(APPLICATIONS), help="only these")
    options = parser.parse_args()
    for program, package in NEEDED.items():
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing; apt-get install {package}")
    foresee, traces = options.foresee.resolve(), options.traces.resolve()
    traces.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="r") as temporary:
        work = options.work.resolve() if options.work else Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        work.chmod(0o755)  # Postgres does not run as root.
        for name in options.only:
            folder = work / name
            if not folder.exists():
                APPLICATIONS[name].prepare(folder)
            record(name, folder, foresee, traces / f"{name}.parquet")


def record(name, folder, foresee, trace):
    application = APPLICATIONS[name]
    raw = folder / "recorded"
    command = [*application.as_user(folder), foresee, "record", "--report", "-o", raw, "--", *application.command(folder)]
    lines = application.lines.encode()
    done = subprocess.run(command, cwd=folder, input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    if b"records were lost" in done.stderr:
        raise SystemExit(f"{name}: foresee did not keep up with the program; record it again when the machine is idle")
    requests = trim(raw, folder, application.name_of(folder), trace)
    raw.unlink()
    application.clean(folder)
    printed, packed = len(done.stdout), trace.stat().st_size
    print(f"{name:<4} {requests:>7,} requests, {packed:>7,} bytes, {printed:>9,} bytes printed", flush=True)


if __name__ == "__main__":
    main()
