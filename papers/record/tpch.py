"""TPC-H on PostgreSQL: its tables at a tenth of their smallest size, and queries that ask what the benchmark's do.

The server runs alone on its database, with 64 buffers of 8 KB and 1 MB for sorts and hashes, as it had by default when the paper was
written: what it reads is what the system's cache sees. What does not fit in 1 MB goes to temporary files.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SCALE = "0.1"
# What today's server has and that of the paper had not: more processes a query, compiled expressions.
SETTINGS = ("shared_buffers=64", "work_mem=1MB", "effective_cache_size=8MB", "max_parallel_workers_per_gather=0", "jit=off")

COLUMNS = {
    "region": "r_regionkey int PRIMARY KEY, r_name text, r_comment text",
    "nation": "n_nationkey int PRIMARY KEY, n_name text, n_regionkey int, n_comment text",
    "part": "p_partkey int PRIMARY KEY, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, p_container text, "
            "p_retailprice numeric, p_comment text",
    "supplier": "s_suppkey int PRIMARY KEY, s_name text, s_address text, s_nationkey int, s_phone text, s_acctbal numeric, "
                "s_comment text",
    "partsupp": "ps_partkey int, ps_suppkey int, ps_availqty int, ps_supplycost numeric, ps_comment text, "
                "PRIMARY KEY (ps_partkey, ps_suppkey)",
    "customer": "c_custkey int PRIMARY KEY, c_name text, c_address text, c_nationkey int, c_phone text, c_acctbal numeric, "
                "c_mktsegment text, c_comment text",
    "orders": "o_orderkey int PRIMARY KEY, o_custkey int, o_orderstatus text, o_totalprice numeric, o_orderdate date, "
              "o_orderpriority text, o_clerk text, o_shippriority int, o_comment text",
    "lineitem": "l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric, l_extendedprice numeric, "
                "l_discount numeric, l_tax numeric, l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, "
                "l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text, PRIMARY KEY (l_orderkey, l_linenumber)",
}

# By the benchmark's numbers: what is asked, in words of our own.
QUERIES = {
    1: "SELECT l_returnflag, l_linestatus, sum(l_extendedprice * (1 - l_discount)), avg(l_quantity) FROM lineitem "
       "WHERE l_shipdate < '1998-09-03' GROUP BY 1, 2",
    2: "SELECT min(ps_supplycost) FROM part JOIN partsupp ON ps_partkey = p_partkey JOIN supplier ON s_suppkey = ps_suppkey "
       "WHERE p_size = 15 AND p_type LIKE '%BRASS' GROUP BY p_partkey",
    3: "SELECT o_orderkey, sum(l_extendedprice) FROM customer JOIN orders ON o_custkey = c_custkey "
       "JOIN lineitem ON l_orderkey = o_orderkey WHERE c_mktsegment = 'BUILDING' AND o_orderdate < '1995-03-15' "
       "AND l_shipdate > '1995-03-15' GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
    4: "SELECT o_orderpriority, count(*) FROM orders WHERE o_orderdate BETWEEN '1993-07-01' AND '1993-09-30' AND EXISTS "
       "(SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY 1",
    5: "SELECT n_name, sum(l_extendedprice) FROM nation JOIN customer ON c_nationkey = n_nationkey "
       "JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey "
       "JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = n_nationkey "
       "WHERE n_regionkey = 2 AND o_orderdate BETWEEN '1994-01-01' AND '1994-12-31' GROUP BY 1",
    6: "SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate BETWEEN '1994-01-01' AND '1994-12-31' "
       "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    10: "SELECT c_custkey, sum(l_extendedprice) FROM customer JOIN orders ON o_custkey = c_custkey "
        "JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderdate BETWEEN '1993-10-01' AND '1993-12-31' "
        "AND l_returnflag = 'R' GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
    12: "SELECT l_shipmode, count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE l_shipmode IN ('MAIL', 'SHIP') "
        "AND l_receiptdate BETWEEN '1994-01-01' AND '1994-12-31' AND l_shipdate < l_commitdate GROUP BY 1",
    14: "SELECT sum(l_extendedprice) FILTER (WHERE p_type LIKE 'PROMO%') / sum(l_extendedprice) FROM lineitem "
        "JOIN part ON p_partkey = l_partkey WHERE l_shipdate BETWEEN '1995-09-01' AND '1995-09-30'",
    18: "SELECT o_orderkey, o_totalprice FROM orders WHERE o_orderkey IN "
        "(SELECT l_orderkey FROM lineitem GROUP BY 1 HAVING sum(l_quantity) > 300) ORDER BY 2 DESC LIMIT 100",
}


def programs():
    """Where Debian has the newest version's."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))


def as_user():
    """PostgreSQL does not run as root."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []


def prepare(folder):
    """Makes the tables, and a database of them."""
    folder.mkdir()
    folder.chmod(0o777)
    tables, data = folder / "tables", folder / "data"
    # Beside the Python that has it.
    generator = shutil.which("tpchgen-cli", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if generator is None:
        raise SystemExit("tpchgen-cli is missing; pip install tpchgen-cli")
    run = {"check": True, "capture_output": True, "cwd": folder}
    subprocess.run([generator, "csv", "-s", SCALE, "-o", tables], **run)
    subprocess.run([*as_user(), programs() / "initdb", "-N", "--no-locale", "-E", "SQL_ASCII", "-D", data], **run)
    lines = [f"CREATE TABLE {table} ({columns});" for table, columns in COLUMNS.items()]
    lines += [f"COPY {table} FROM '{tables}/{table}.csv' (FORMAT csv, HEADER);" for table in COLUMNS]
    lines += ["CREATE INDEX orders_custkey ON orders (o_custkey);", "CREATE INDEX lineitem_partkey ON lineitem (l_partkey);",
              "VACUUM (FREEZE, ANALYZE);", "CHECKPOINT;"]
    lines += ["COPY (SELECT pg_relation_filepath(oid), relname FROM pg_class WHERE relkind IN ('r', 'i') AND "
              f"relnamespace = 'public'::regnamespace) TO '{folder}/relations' (DELIMITER ' ');"]
    done = subprocess.run([*as_user(), *server(data)], input="\n".join(lines).encode() + b"\n", capture_output=True, cwd=folder)
    if b"ERROR" in done.stderr or b"FATAL" in done.stderr or done.returncode != 0:
        raise SystemExit(f"{folder}: {done.stderr.decode(errors='replace')}")
    shutil.rmtree(tables)
    # In this mode a line is a command.
    (folder / "queries").write_text("".join(f"{query};\n" for query in QUERIES.values()))


def server(data):
    return [programs() / "postgres", "--single", "-D", data, *(word for it in SETTINGS for word in ("-c", it)), "postgres"]


def command():
    return " ".join(map(str, server("data"))) + " < queries > /dev/null"
