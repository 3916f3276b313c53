"""The servers, each behind a slow link on the loopback; all of them end with the block that started them."""

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import time
from pathlib import Path

HERE = "127.0.0.1"
LATENCY_MS, BANDWIDTH_MB = 20, 100
ACCESS, SECRET = "foresee", "foresee-secret"
BUCKET = "data"
PATIENCE_S = 20


class Failed(Exception):
    """A server or a mount could not be had; says which and why."""


def environment(scratch):
    """Nothing of the user's own settings: proxies, keys, configuration files."""
    return {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "HOME": str(scratch), "TMPDIR": str(scratch), "LC_ALL": "C"}


def find(program):
    """Where a program is, also where only root looks for it, or where Go puts what it builds; or none."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin:{Path.home()}/go/bin")


class Daemon:
    """A process in the foreground of its own session, so that Ctrl-C does not reach it and we end it in its turn.

    It is killed with us if we are.
    """

    def __init__(self, command, scratch):
        self.name = Path(command[0]).name
        self.log = scratch / f"{self.name}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=environment(scratch), start_new_session=True)

    def wait_until(self, ready, otherwise):
        deadline = time.monotonic() + PATIENCE_S
        try:
            while not ready():
                if self.process.poll() is not None or time.monotonic() > deadline:
                    last = self.log.read_text(errors="replace").strip().splitlines()[-3:]
                    raise Failed(f"{self.name}: {otherwise}: {' / '.join(last) or 'it says nothing'}")
                time.sleep(0.01)
        except BaseException:
            self.end(0)
            raise

    def end(self, patience=PATIENCE_S):
        """Ends it if it does not end by itself in this time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
            return
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(stack, command, scratch, port):
    daemon = Daemon(command, scratch)
    stack.callback(daemon.end, 0)
    daemon.wait_until(lambda: answers(port), f"does not listen on {HERE}:{port}")


def answers(port):
    with socket.socket() as trial:
        return trial.connect_ex((HERE, port)) == 0


def free_port():
    with socket.socket() as trial:
        trial.bind((HERE, 0))
        return trial.getsockname()[1]


def name_checksums(scratch, data):
    """What tells versitygw that each file has a checksum, as each object of S3 has, without its value."""
    told = scratch / "told"
    for file in (path for path in data.rglob("*") if path.is_file()):
        attributes = told / BUCKET / file.relative_to(data) / "meta"
        attributes.mkdir(parents=True)
        (attributes / "checksums").write_text(json.dumps({"Algorithm": "CRC32", "Type": "FULL_OBJECT"}))
    return told


def s3(stack, scratch, data, with_checksums=False):
    """The data as one bucket; the port it is served on. What files have no ETag of theirs is told as having one of several parts."""
    buckets, port = scratch / "buckets", free_port()
    buckets.mkdir()
    (buckets / BUCKET).symlink_to(data)
    attributes = ["--sidecar", name_checksums(scratch, data)] if with_checksums else ["--nometa"]
    serve(stack, [find("versitygw"), "--port", f"{HERE}:{port}", "--access", ACCESS, "--secret", SECRET, "--keep-alive", "--quiet",
                  "posix", "--bucketlinks", *attributes, "--default-etag", f"{0:032x}-1", buckets], scratch, port)
    return port


def sshd(stack, scratch):
    """For the present user, by keys of its own; the port it is served on."""
    port = free_port()
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scratch / key], check=True)
    settings = scratch / "sshd_config"
    settings.write_text(f"ListenAddress {HERE}:{port}\nHostKey {scratch}/host\nPidFile none\nAuthorizedKeysFile {scratch}/user.pub\n"
                        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
                        "LogLevel ERROR\nSubsystem sftp internal-sftp\n")
    if os.geteuid() == 0 and not Path("/run/sshd").exists():
        # Where sshd, as root, locks those in who have not logged in yet.
        Path("/run/sshd").mkdir(mode=0o755)
        stack.callback(os.rmdir, "/run/sshd")
    serve(stack, [find("sshd"), "-D", "-e", "-f", settings], scratch, port)
    return port


def nfs(stack, scratch, data):
    """NFS 4 alone, which needs no other daemons; the port it is served on."""
    port, settings = free_port(), scratch / "ganesha.conf"
    settings.write_text(
        f"NFS_Core_Param {{ Protocols = 4; NFS_Port = {port}; Bind_addr = {HERE}; Enable_NLM = false; Enable_RQUOTA = false; }}\n"
        f'NFSv4 {{ Graceless = true; RecoveryRoot = "{scratch}"; }}\n'
        f'EXPORT {{ Export_Id = 1; Path = "{data}"; Pseudo = "/{BUCKET}"; Protocols = 4; Transports = TCP; Access_Type = RO; '
        "Squash = No_Root_Squash; SecType = sys; FSAL { Name = VFS; } }\n")
    serve(stack, [find("ganesha.nfsd"), "-F", "-f", settings, "-L", "/dev/stderr", "-p", scratch / "ganesha.pid"], scratch, port)
    return port


def user():
    return pwd.getpwuid(os.geteuid()).pw_name


class Link:
    """A slow link before a server."""

    def __init__(self, stack, program, to, *options):
        command = [program, "--to", str(to), "--latency", str(LATENCY_MS), "--bandwidth", str(BANDWIDTH_MB), *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        stack.callback(self.end)
        self.port = int(self.process.stdout.readline())

    def counts(self):
        """What passed since the last time this was asked."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


