"""The eight applications: their inputs, their commands, and which of the files they touch are part of the paper's job.

The paper's sizes of data are taken as 10^6 bytes to the MB.
"""

import os
import subprocess
from pathlib import Path

import inputs


class Application:
    """One application. `lines` is what it is told on its standard input."""

    lines = ""

    def prepare(self, folder):
        """Makes its inputs in a folder that is not there yet."""

    def command(self, folder):
        """The words of its command, which runs in the folder."""

    def as_user(self, folder):
        """What comes before the command, to run it as somebody else."""
        return []

    def name_of(self, folder):
        """From a file's path in the folder to its name in the trace; None leaves it out."""
        return lambda path: path

    def clean(self, folder):
        """Removes what a run leaves and the next one must not find."""


class Cscope(Application):
    """cscope's line-oriented mode: a line is the number of the kind of search, and what is searched for."""

    SYMBOL, TEXT = 0, 6

    def __init__(self, parts, kind, searches):
        self.parts, self.lines = parts, "".join(f"{kind}{search}\n" for search in searches)

    def prepare(self, folder):
        inputs.kernel_source(folder, self.parts, inputs.is_code)
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        (folder / "cscope.files").write_text("\n".join(files) + "\n")
        subprocess.run(["cscope", "-b"], cwd=folder, check=True)

    def command(self, folder):
        return ["cscope", "-d", "-l"]


class Dinero(Application):
    """Our own cache simulator in the way of dinero, which is in no registry: one run for each cache."""

    LINES, WAYS = (32, 64, 128), (1, 2, 4)

    def prepare(self, folder):
        folder.mkdir()
        source = Path(__file__).with_name("cachesim.c")
        subprocess.run(["gcc", "-O2", "-o", folder / "cachesim", source], check=True)
        inputs.address_trace(folder / "cc.din")

    def command(self, folder):
        runs = [f"./cachesim {line} {ways} cc.din" for line in self.LINES for ways in self.WAYS]
        return ["sh", "-e", "-c", "; ".join(runs)]

    def name_of(self, folder):
        return lambda path: path if path == "cc.din" else None


class Glimpse(Application):
    """The paper's five searches in Linux's documentation: 8,600 files of text, 39 MB."""

    SEARCHES = ("scheduling", "scheduling;disk", "cluster", "rendering;volume", "DTM")

    def prepare(self, folder):
        inputs.package(folder.parent, "glimpse")
        inputs.kernel_source(folder, ["Documentation"], lambda path: True)
        (folder / "Documentation").rename(folder / "articles")
        index = [self.program(folder, "glimpseindex"), "-H", ".", "articles"]
        subprocess.run(index, cwd=folder, check=True, capture_output=True)

    @staticmethod
    def program(folder, name):
        return folder.parent / "glimpse" / "usr/bin" / name

    def command(self, folder):
        glimpse = self.program(folder, "glimpse")
        # Its status is 1 where nothing matches, as one search of two words does not.
        return ["sh", "-c", "; ".join(f"{glimpse} -y -H . '{search}'" for search in self.SEARCHES) + "; true"]


class Ld(Application):
    """GNU ld, which links modules of Debian's kernel into one: 25 MB of object files. What they want of the kernel stays open."""

    PARTS = ("crypto", "drivers/block", "drivers/char", "drivers/virtio", "net")

    def prepare(self, folder):
        inputs.kernel_modules(folder, self.PARTS)

    def command(self, folder):
        objects = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.ko"))
        lenient = ["-e", "0", "--unresolved-symbols=ignore-all", "-z", "muldefs"]
        return ["ld", *lenient, "-o", "kernel", *objects]

    def clean(self, folder):
        (folder / "kernel").unlink()


class Postgres(Application):
    """A join by an index in PostgreSQL, alone on its database, with the fewest buffers that it allows: 16 of 8 KB."""

    # Of the ways to join, that of the paper is left.
    LEFT_OUT = ("hashjoin", "mergejoin", "bitmapscan", "material", "memoize")
    lines = "SELECT sum(length(i.filler)) FROM twentyk o JOIN twohundredk i ON o.unique1 = i.unique1;\n"

    def prepare(self, folder):
        inputs.database(folder, self.programs(), self.as_user(folder))

    @staticmethod
    def programs():
        """Where Debian has the newest version's."""
        return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))

    def as_user(self, folder):
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []

    def command(self, folder):
        off = [word for what in self.LEFT_OUT for word in ("-c", f"enable_{what}=off")]
        few = ["-c", "shared_buffers=16", "-c", "max_parallel_workers_per_gather=0", "-c", "jit=off"]
        return [self.programs() / "postgres", "--single", "-D", "data", *few, *off, "postgres"]

    def name_of(self, folder):
        relations = dict(line.split() for line in (folder / "relations").read_text().splitlines())
        return {f"data/{path}": name for path, name in relations.items()}.get


class Sort(Application):
    """GNU sort with 1 MB of memory, merging eight files at a time, as the paper's does."""

    def prepare(self, folder):
        folder.mkdir()
        (folder / "tmp").mkdir()
        inputs.lines(folder / "input")

    def command(self, folder):
        little = ["-S1M", "--batch-size=8", "--parallel=1", "-T", "tmp"]
        return ["env", "LC_ALL=C", "sort", "-n", "-k1,1", *little, "-o", "sorted", "input"]

    def name_of(self, folder):
        """Temporary files have random names; here they are numbered as they appear."""
        numbers = {}
        return lambda path: f"tmp/{numbers.setdefault(path, len(numbers)):02}" if path.startswith("tmp/") else path

    def clean(self, folder):
        (folder / "sorted").unlink()


# Symbols and texts that kernels have.
SYMBOLS = ("kmalloc", "schedule", "mutex_lock", "rcu_read_lock", "current", "printk", "copy_from_user", "task_struct")
TEXTS = ("panic", "deadlock", "wake_up.*queue", "TODO|FIXME")
LARGE = ("certs", "init", "io_uring", "ipc", "kernel", "mm", "virt")
SMALL = tuple(f"net/{part}" for part in
              ("bridge", "core", "ipv4", "ipv6", "netlink", "packet", "sched", "unix", "xfrm"))

APPLICATIONS = {
    # Its database has 9 MB, as the paper's for 18 MB of source: today's cscope notes more of each file.
    "cs1": Cscope(["kernel"], Cscope.SYMBOL, SYMBOLS),
    "cs2": Cscope(LARGE, Cscope.TEXT, TEXTS),
    "cs3": Cscope(SMALL, Cscope.TEXT, TEXTS),
    "din": Dinero(),
    "gli": Glimpse(),
    "ldk": Ld(),
    "pjn": Postgres(),
    "sort": Sort(),
}
