"""The kinds of mounts: what each needs, how it is mounted over what, and what a run over it moved."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import servers
from servers import Daemon, Failed, Link

VERSITYGW = "go install github.com/versity/versitygw/cmd/versitygw@latest"
SLOW_MODEL = "network latency=5ms servers=0"


class Kind:
    """A way to mount the data. `place` has the data, a scratch folder, the mount point, the paths of our programs, and the slow disk."""

    # Programs it needs, and where to have them from.
    programs = {}
    # Of the kernel.
    file_system = "fuse"
    needs_root = False

    def __init__(self, name, *options):
        self.name, self.options = name, options

    def lacking(self):
        """Why it cannot be measured here, and the remedy; or none."""
        if self.file_system not in Path("/proc/filesystems").read_text().split():
            return f"the kernel has no {self.file_system}: modprobe {self.file_system}"
        absent = [f"{program} ({remedy})" for program, remedy in self.programs.items() if servers.find(program) is None]
        if absent:
            return f"not installed: {', '.join(absent)}"
        return "it needs root" if self.needs_root and os.geteuid() != 0 else None

    def start(self, stack, place):
        """Starts what it is mounted over, for as long as the stack lasts."""

    def mount(self, place):
        """Mounts it with nothing of it cached anywhere, and counts from here."""
        self.make_cold(place)
        self.attach(place)
        self.count(place)

    def unmount(self, place):
        """What was moved since the mount: bytes, and requests by their kind where they can be told."""
        unmount(place.mount)
        self.detach()
        return self.count(place)

    def detach(self):
        """What is left to do once it is unmounted."""


class ByDaemon(Kind):
    """Mounted by a process that answers for it: FUSE."""

    def attach(self, place):
        self.daemon = Daemon(self.command(place), place.scratch)
        self.daemon.wait_until(lambda: os.path.ismount(place.mount), "does not mount")

    def detach(self):
        self.daemon.end()


class OverLink(Kind):
    """The data come from a server over a slow link."""

    def make_cold(self, place):
        self.cache = place.scratch / "cache"
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir()

    def count(self, _):
        counts = self.link.counts()
        return {"bytes": counts["bytes_to_client"], "requests": counts["requests"], "connections": counts["connections"]}


class OverSlowDisk(Kind):
    """The data are in a file system on the slow disk."""

    needs_root = True

    def make_cold(self, place):
        place.disk.make_cold(SLOW_MODEL)

    def count(self, place):
        counts = place.disk.statistics()
        place.disk.reset()
        return {"bytes": int(counts["read_bytes"]), "requests": {"read": int(counts["reads"])}}


class OverS3(ByDaemon, OverLink):
    # Whether it must be told of each object that it has one.
    with_checksums = False

    def start(self, stack, place):
        port = servers.s3(stack, place.scratch, place.data, self.with_checksums)
        self.link = Link(stack, place.slowlink, port, "--http")

    def url(self):
        return f"http://{servers.HERE}:{self.link.port}"


class Rclone(OverS3):
    programs = {"rclone": "apt install rclone", "versitygw": VERSITYGW}

    def command(self, place):
        return [servers.find("rclone"), "mount", f":s3:{servers.BUCKET}", place.mount, "--config", "/dev/null",
                "--s3-provider", "Other", "--s3-endpoint", self.url(), "--s3-access-key-id", servers.ACCESS,
                "--s3-secret-access-key", servers.SECRET, "--cache-dir", self.cache, *self.options]


class S3fs(OverS3):
    programs = {"s3fs": "apt install s3fs", "versitygw": VERSITYGW}

    def command(self, place):
        secret = place.scratch / "s3fs.passwd"
        secret.write_text(f"{servers.ACCESS}:{servers.SECRET}")
        secret.chmod(0o600)
        options = [it.replace("CACHE", str(self.cache)) for it in self.options]
        return [servers.find("s3fs"), servers.BUCKET, place.mount, "-f", "-o", f"url={self.url()}", "-o", "use_path_request_style",
                "-o", f"passwd_file={secret}", *options]


class Sshfs(ByDaemon, OverLink):
    programs = {"sshfs": "apt install sshfs", "sshd": "apt install openssh-server", "ssh-keygen": "apt install openssh-client"}

    def start(self, stack, place):
        self.link = Link(stack, place.slowlink, servers.sshd(stack, place.scratch))

    def command(self, place):
        return [servers.find("sshfs"), f"{servers.user()}@{servers.HERE}:{place.data}", place.mount, "-f", "-p", self.link.port,
                "-F", "/dev/null", "-o", f"IdentityFile={place.scratch}/user", "-o", "IdentitiesOnly=yes",
                "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", *self.options]


class Nfs(OverLink):
    programs = {"ganesha.nfsd": "apt install nfs-ganesha-vfs", "mount.nfs4": "apt install nfs-common"}
    file_system = "nfs4"
    needs_root = True

    def start(self, stack, place):
        self.link = Link(stack, place.slowlink, servers.nfs(stack, place.scratch, place.data))

    def attach(self, place):
        options = ",".join([f"port={self.link.port}", "proto=tcp", *self.options])
        mount("nfs4", options, f"{servers.HERE}:/{servers.BUCKET}", place.mount)


class Bindfs(ByDaemon, OverSlowDisk):
    programs = {"bindfs": "apt install bindfs"}

    def command(self, place):
        return [servers.find("bindfs"), "-f", *self.options, place.disk.mount, place.mount]


class Overlayfs(OverSlowDisk):
    file_system = "overlay"

    def attach(self, place):
        folders = {name: place.scratch / name for name in ("upper", "work")}
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        mount("overlay", f"lowerdir={place.disk.mount},upperdir={folders['upper']},workdir={folders['work']}", "overlay", place.mount)


KINDS = [
    Rclone("rclone"),
    Rclone("rclone full", "--vfs-cache-mode", "full", "--no-modtime"),
    S3fs("s3fs"),
    S3fs("s3fs use_cache", "-o", "use_cache=CACHE"),
    Sshfs("sshfs"),
    Sshfs("sshfs kernel_cache", "-o", "kernel_cache"),
    Bindfs("bindfs"),
    Overlayfs("overlayfs"),
    Nfs("NFS"),
]


def mount(file_system, options, source, folder):
    done = subprocess.run(["mount", "-t", file_system, "-o", options, source, folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{folder}: {done.stderr.strip()}")


def unmount(folder):
    """At once, but for what a process that ended just now still holds."""
    command = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
    deadline = time.monotonic() + servers.PATIENCE_S
    while (done := subprocess.run([*command, folder], capture_output=True, text=True)).returncode != 0:
        if time.monotonic() > deadline:
            raise Failed(f"{folder}: {done.stderr.strip()}")
        time.sleep(0.05)


def abandon(folder):
    """Takes the mount away whatever still uses it, if there is one."""
    if os.path.ismount(folder):
        command = ["umount", "--lazy"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
        subprocess.run([*command, folder], check=False)
