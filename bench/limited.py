"""Programs in little memory on the slow disk: the memory control group, and the disk from within slowdisk."""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

GROUP = "foresee-bench"
# What foresee takes: its ring of 4 MiB, and itself.
FORESEE_BYTES = 12 << 20


class Group:
    """A memory control group, for one run: who enters it, and all it reads, shares the limit."""

    V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")

    def __init__(self, limit):
        self.path = (self.V1 if self.V1.is_dir() else self.V2) / GROUP
        self.path.mkdir(exist_ok=True)
        (self.path / ("memory.limit_in_bytes" if self.V1.is_dir() else "memory.max")).write_text(str(limit))

    @classmethod
    def there_are(cls):
        controllers = cls.V2 / "cgroup.subtree_control"
        return cls.V1.is_dir() or controllers.exists() and "memory" in controllers.read_text().split()

    def enter(self):
        (self.path / "cgroup.procs").write_text("0")

    def remove(self):
        """Once all who entered it have ended: a joined supervisor ends just after its last run."""
        while (self.path / "cgroup.procs").read_text():
            time.sleep(0.01)
        self.path.rmdir()


class Disk:
    """The slow disk, from within slowdisk."""

    def __init__(self):
        self.mount = os.environ["SLOWDISK_MOUNT"]
        self.device = os.environ["SLOWDISK_DEVICE"]
        self.control = Path(os.environ["SLOWDISK_CONTROL"])

    def statistics(self):
        """What it counted since it was made cold or reset: bench/slowdisk/README.md says what."""
        return dict(line.split(maxsplit=1) for line in self.control.read_text().splitlines())

    def read_bytes(self):
        return int(self.statistics()["read_bytes"])

    def reset(self):
        self.control.write_text("reset\n")

    def unmount(self):
        """Reads that are under way when a run ends keep it busy until they are done."""
        for _ in range(50):
            if subprocess.run(["umount", self.mount], stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.1)
        sys.exit(f"{self.mount} stays busy")

    def make_cold(self, model):
        """Mounts anew: nothing of it is in memory then. That itself need not be slow."""
        self.control.write_text("off\n")
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        options = next(mount[3] for mount in mounts if mount[1] == self.mount)
        self.unmount()
        subprocess.run(["blockdev", "--flushbufs", self.device], check=True)
        subprocess.run(["mount", "-t", "ext4", "-o", options, self.device, self.mount], check=True)
        self.control.write_text(f"{model}\nreset\n")


def in_group(limit, act):
    """Does something in a process of its own that is in a memory group."""
    group = Group(limit)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        group.enter()
        with os.fdopen(send, "w") as pipe:
            json.dump(act(), pipe)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    group.remove()
    return json.loads(text)


def main(text, what, parts, steps):
    """The command line of a benchmark of several `parts`. Its steps: one makes the data in a mounted folder, of packages that another one
    keeps; one measures on the slow disk; one prints the table."""
    make_data, inside, table = steps
    parser = common.options(text, what)
    common.choice(parser, f"these: {', '.join(parts)}")
    parser.add_argument("--image", help="keep the data in this file, for the next time")
    parser.add_argument("--packages", type=common.folder, help="keep downloaded packages in this folder, for the next time")
    parser.add_argument("--tools", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        packages = arguments.packages or arguments.tools
        packages.mkdir(parents=True, exist_ok=True)
        make_data(packages, Path(os.environ["SLOWDISK_MOUNT"]))
    elif arguments.tools:
        inside(arguments)
    else:
        if not arguments.table:
            on_slowdisk(arguments)
        table(arguments.results)


def on_slowdisk(arguments):
    """Runs this script again on a slow disk, first with --make at full speed; both with --tools, a folder for what they need."""
    if os.geteuid() != 0 or not Group.there_are():
        sys.exit("skipped: this needs root and a memory control group")
    with tempfile.TemporaryDirectory() as tools:
        own = common.again("--tools", tools)
        image = ["--image", arguments.image] if arguments.image else []
        common.on_slowdisk(arguments, ["--size", "8G", *image], shlex.join([*own, "--make"]), own)
