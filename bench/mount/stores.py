#!/usr/bin/env python3
"""foresee mount over each store that is here: versitygw, MinIO, emulators of Azure and of Google's, and HTTP servers of three kinds.

What is shown is compared with the directory that it is of. Where the store takes objects, they are put there by the mount, and some of
them are copied, renamed and removed, after a file by its name alone.
A server that cannot be read as it should be may give errors, never wrong bytes. What is missing is named with the way to get it.
"""

import argparse
import base64
import contextlib
import email.utils
import hashlib
import hmac
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH), str(BENCH / "mounts"), str(BENCH / "mount")]

import common  # noqa: E402
import kinds  # noqa: E402
import servers  # noqa: E402
import web  # noqa: E402

MINIO = "go install github.com/minio/minio@latest"
AZURITE = "npm install --global azurite"
FAKE_GCS = "go install github.com/fsouza/fake-gcs-server@latest"
# Azurite's account and its key, the same everywhere.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
# Shorter than a request, as long, longer, and in several parts.
SIZES = (0, 1, 4096, 65537, 1 << 20, 9_000_001, 20_000_000)
WITH_PERCENT = "x%20y"
ODD_NAMES = (WITH_PERCENT, "a b", "é中", "plus+", "tilde~", "quote'", "a&b")


class Wrong(Exception):
    """What was found that should not be."""


def make_data(root):
    rng = random.Random(3)
    for at, size in enumerate(SIZES):
        path = root / "sizes" / str(at % 2) / f"{size}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
    (root / "odd").mkdir()
    for name in ODD_NAMES:
        (root / "odd" / name).write_text(name)


def files(root):
    return {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}


def expect(found, expected, what):
    if found != expected:
        raise Wrong(what)


def read_all(data, mount):
    """All of it is there; returns how many files could not be read."""
    shown, errors = files(mount), 0
    expect(sorted(shown), sorted(files(data)), f"names: {sorted(shown)}")
    for name, path in files(data).items():
        try:
            expect(shown[name].read_bytes(), path.read_bytes(), f"bytes of {name}")
        except OSError:
            errors += 1
    return errors


def write_by_name(mount):
    """Writes a file, and does with it what takes its name alone: nothing is listed."""
    path, moved = mount / "by-name" / "a b&c", mount / "by-name" / "moved"
    path.parent.mkdir()
    path.write_bytes(b"one")
    expect(path.stat().st_size, 3, "size of what was written")
    expect(path.read_bytes(), b"one", "what was written")
    try:
        with path.open("x"):
            raise Wrong("what is there was made once more")
    except FileExistsError:
        pass
    with path.open("ab") as file:
        file.write(b", two")
    os.rename(path, moved)
    expect((moved.read_bytes(), path.exists()), (b"one, two", False), "what was renamed by its name")
    moved.unlink()
    expect(moved.exists(), False, "what was removed by its name is there")
    path.parent.rmdir()


def write_all(data, mount):
    """Copies all of it beside itself, renames some of that, and removes the rest."""
    subprocess.run(["cp", "-r", mount / "sizes", mount / "copy"], check=True)
    for path in files(data / "sizes"):
        expect((mount / "copy" / path).read_bytes(), (data / "sizes" / path).read_bytes(), f"copy of {path}")
    moved = mount / "copy" / "0" / "moved"
    os.rename(mount / "copy" / "0" / str(SIZES[-1]), moved)
    expect(moved.read_bytes(), (data / "sizes/0" / str(SIZES[-1])).read_bytes(), "what was renamed")
    subprocess.run(["rm", "-r", mount / "copy"], check=True)
    expect((mount / "copy").exists(), False, "what was removed is there")


def bucket(scratch):
    """Empty: what it has it is given by its interface alone."""
    drive = scratch / "drive"
    (drive / servers.BUCKET).mkdir(parents=True)
    return drive


def versitygw(stack, scratch, _):
    port = servers.free_port()
    command = [servers.find("versitygw"), "--port", f"{servers.HERE}:{port}", "--access", servers.ACCESS, "--secret", servers.SECRET,
               "--quiet", "posix", bucket(scratch)]
    servers.serve(stack, command, scratch, port)
    return port


def minio(stack, scratch, _):
    port = servers.free_port()
    command = ["env", f"MINIO_ROOT_USER={servers.ACCESS}", f"MINIO_ROOT_PASSWORD={servers.SECRET}", servers.find("minio"), "server",
               "--quiet", "--address", f"{servers.HERE}:{port}", bucket(scratch)]
    servers.serve(stack, command, scratch, port)
    return port


def azurite(stack, scratch, _):
    port = servers.free_port()
    command = [servers.find("azurite-blob"), "--silent", "--skipApiVersionCheck", "--location", scratch / "azurite", "--blobHost",
               servers.HERE, "--blobPort", port]
    servers.serve(stack, command, scratch, port)
    # A container is made by a request that is signed.
    headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    named = "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed = "PUT" + "\n" * 12 + f"{named}/{ACCOUNT}/{ACCOUNT}/{servers.BUCKET}\nrestype:container"
    signature = base64.b64encode(hmac.digest(base64.b64decode(ACCOUNT_KEY), signed.encode(), hashlib.sha256)).decode()
    address = f"http://{servers.HERE}:{port}/{ACCOUNT}/{servers.BUCKET}?restype=container"
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{signature}"
    urllib.request.urlopen(urllib.request.Request(address, method="PUT", headers=headers)).close()
    return port


def fake_gcs(stack, scratch, data):
    # It takes objects by another interface than the one that is spoken here, so it has them from the beginning.
    (buckets := scratch / "buckets").mkdir()
    shutil.copytree(data, buckets / servers.BUCKET)
    port = servers.free_port()
    command = [servers.find("fake-gcs-server"), "-scheme", "http", "-host", servers.HERE, "-port", port, "-public-host",
               f"{servers.HERE}:{port}", "-backend", "memory", "-data", buckets, "-log-level", "error"]
    servers.serve(stack, command, scratch, port)
    return port


def by_http(kind):
    def start(stack, scratch, data):
        port = servers.free_port()
        servers.serve(stack, [sys.executable, web.__file__, data, port, kind], scratch, port)
        return port
    return start


def settings_of(source, port):
    """What leads there, as the environment says it."""
    address = f"http://{servers.HERE}:{port}"
    if source.startswith("az://"):
        return {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY,
                "AZURE_STORAGE_ENDPOINT": f"{address}/{ACCOUNT}", "AZURE_ALLOW_HTTP": "true"}
    if source.startswith("gs://"):
        account = {"gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}
    return {"AWS_ACCESS_KEY_ID": servers.ACCESS, "AWS_SECRET_ACCESS_KEY": servers.SECRET, "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": address}


def daemon(arguments, scratch, source, port, mount, *options):
    """`foresee mount`, once it shows something."""
    mount.mkdir(exist_ok=True)
    settings = settings_of(source, port)
    command = ["env", *(f"{name}={value}" for name, value in settings.items()), arguments.mount, "mount", *options, source, mount]
    started = servers.Daemon(command, scratch)
    started.wait_until(lambda: os.path.ismount(mount), "does not mount")
    return started


@contextlib.contextmanager
def mounted(arguments, scratch, source, port, at="mount"):
    started = daemon(arguments, scratch, source, port, mount := scratch / at)
    try:
        yield mount
    finally:
        kinds.unmount(mount)
        started.end()


def of_bucket(arguments, scratch, data, port, scheme="s3"):
    with mounted(arguments, scratch, f"{scheme}://{servers.BUCKET}", port) as mount:
        write_by_name(mount)
        subprocess.run(["cp", "-r", *data.iterdir(), mount], check=True)
    with mounted(arguments, scratch, f"{scheme}://{servers.BUCKET}", port) as mount:
        expect(read_all(data, mount), 0, "files that cannot be read")
        write_all(data, mount)


def of_gcs(arguments, scratch, data, port):
    with mounted(arguments, scratch, f"gs://{servers.BUCKET}", port) as mount:
        expect(read_all(data, mount), 0, "files that cannot be read")


def of_http(arguments, scratch, data, port, may_fail):
    # object_store shows it as its address has it.
    (data / "odd" / WITH_PERCENT).unlink()
    with mounted(arguments, scratch, f"http://{servers.HERE}:{port}", port) as mount:
        errors = read_all(data, mount)
        if errors and not may_fail:
            raise Wrong(f"{errors} files cannot be read")


STORES = [
    ("versitygw", "versitygw", kinds.VERSITYGW, versitygw, of_bucket),
    ("MinIO", "minio", MINIO, minio, of_bucket),
    ("Azurite", "azurite-blob", AZURITE, azurite, lambda *of: of_bucket(*of, scheme="az")),
    ("fake-gcs-server", "fake-gcs-server", FAKE_GCS, fake_gcs, of_gcs),
    *((f"HTTP, {kind}", sys.executable, "", by_http(kind), lambda *of, kind=kind: of_http(*of, kind != "ranges")) for kind in web.KINDS),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", type=common.program, default=str(common.ROOT / "target/release/foresee-mount"),
                        help="the foresee-mount to try")
    parser.add_argument("--only", nargs="+", default=[""], help="only stores whose name holds one of these")
    arguments = parser.parse_args()
    failed = False
    for name, program, remedy, start, check in STORES:
        if not any(part in name for part in arguments.only):
            continue
        if servers.find(program) is None:
            print(f"{name}: skipped: {remedy}")
            continue
        with tempfile.TemporaryDirectory(prefix="foresee-stores-") as folder, contextlib.ExitStack() as stack:
            scratch, data = Path(folder), Path(folder) / "data"
            stack.callback(kinds.abandon, scratch / "mount")
            make_data(data)
            try:
                check(arguments, scratch, data, start(stack, scratch, data))
                print(f"{name}: as it should be", flush=True)
            except (Wrong, servers.Failed, OSError, subprocess.CalledProcessError) as why:
                failed = True
                print(f"{name}: {type(why).__name__}: {why}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
