"""PostgreSQL on the slow disk: its server runs as a user of its own, whoever starts it."""

import random
import shlex
import sys
from pathlib import Path

# Where Debian keeps it.
BINARIES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"))), None)
ROWS = 400_000
LOOKUPS = 1_500
# The table takes 100 MiB, its index 9.
OPTIONS = "-c shared_buffers=16MB -c autovacuum=off -c listen_addresses= -c unix_socket_directories=$PWD/cluster"
FILL = (f"create unlogged table rows as select id, repeat(md5(id::text), 7) as text from generate_series(1, {ROWS}) as id;"
        "alter table rows add primary key (id); vacuum freeze analyze;")
ASK = "".join(f"select id, md5(text) from rows where id = {key};" for key in random.Random(5).choices(range(1, ROWS + 1), k=LOOKUPS))

SCAN = "select count(*), max(md5(text)) from rows;"


def server(statements):
    """A script that has a server answer these statements."""
    return f"""
set -e
as_user() {{ runuser -u postgres -- "$@"; }}
as_user {BINARIES}/pg_ctl -w -D $PWD/cluster -l $PWD/cluster/log -o "{OPTIONS}" start >/dev/null
echo {shlex.quote(statements)} | as_user {BINARIES}/psql -qAtX -v ON_ERROR_STOP=1 -h $PWD/cluster postgres
as_user {BINARIES}/pg_ctl -w -D $PWD/cluster -m fast stop >/dev/null
"""


def setup():
    """What fills the slow disk."""
    return f"""
cd "$SLOWDISK_MOUNT"
install -d -o postgres cluster
runuser -u postgres -- {BINARIES}/initdb --no-sync -A trust -D $PWD/cluster >/dev/null
{server(FILL)}"""


def jobs(job):
    """The job, where it can be done."""
    if BINARIES is None:
        print("left out: PostgreSQL is not installed", file=sys.stderr)
        return []
    name = f"PostgreSQL under root's foresee run, {LOOKUPS:,} look-ups"
    run = lambda statements: (["sh", "-c", server(statements)], "cluster", [BINARIES / "postgres", "--version"])  # noqa: E731
    return [job(name, (1, 10), *run(ASK)), job("PostgreSQL, a scan of the table", (0, 0), *run(SCAN))]


SETUP = setup() if BINARIES else ""
