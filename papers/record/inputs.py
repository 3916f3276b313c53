"""The applications' inputs: parts of Debian's packages of Linux, and what is made up, the same each time."""

import random
import shutil
import subprocess
import tarfile

SOURCE, MODULES = "linux-source-6.1", "linux-image-6.1.0-47-cloud-amd64"
SEED = 2


def package(work, name):
    """Downloads and unpacks a package of Debian's. Returns the folder, which later calls find there."""
    folder = work / name
    if not folder.exists():
        downloads = work / f"{name}.download"
        downloads.mkdir()
        done = subprocess.run(["apt-get", "download", name], cwd=downloads, capture_output=True, text=True)
        archive = next(downloads.glob("*.deb"), None)
        if archive is None:
            raise SystemExit(f"Debian's package {name} cannot be downloaded ({done.stderr.strip()}); try apt-get update")
        subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
        shutil.rmtree(downloads)
    return folder


def is_code(path):
    return path.endswith((".c", ".h", ".S"))


def kernel_source(folder, parts, is_wanted):
    """Puts those files of some of Linux's folders into this one."""
    archive = package(folder.parent, SOURCE) / f"usr/src/{SOURCE}.tar.xz"
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.removeprefix(f"{SOURCE}/")
            if member.isfile() and is_wanted(path) and any(path.startswith(f"{part}/") for part in parts):
                member.name = path
                tar.extract(member, folder, filter="data")


def kernel_modules(folder, parts):
    """Copies the modules in some of the kernel's folders."""
    (kernel,) = package(folder.parent, MODULES).glob("lib/modules/*/kernel")
    for part in parts:
        shutil.copytree(kernel / part, folder / part)


def address_trace(path):
    """8 MB in dinero's format: a line is what is done (0 read, 1 write, 2 instruction) and to which address."""
    rng, code, heap, stack = random.Random(SEED), 0x400000, 0x10000000, 0x7FFF0000
    counter = code
    with path.open("w") as file:
        while file.tell() < 8_000_000:
            for _ in range(rng.randrange(2, 12)):
                file.write(f"2 {counter:x}\n")
                counter += 4
                if rng.random() < 0.35:
                    on_stack = rng.random() < 0.6
                    address = stack + 4 * rng.randrange(256) if on_stack else heap + 4 * rng.randrange(1 << 18)
                    file.write(f"{int(rng.random() < 0.3)} {address:x}\n")
            jumps = rng.random() < 0.2
            counter = code + 4 * rng.randrange(1 << 16) if jumps else max(code, counter - 4 * rng.randrange(64))


def lines(path):
    """200,000 lines, 17 MB: a number, and something behind it."""
    rng = random.Random(SEED)
    filler = "abcdefghijklmnopqrstuvwxyz "
    with path.open("w") as file:
        for _ in range(200_000):
            number = str(rng.randrange(1 << 31))
            file.write(number + " " + "".join(rng.choices(filler, k=83 - len(number))) + "\n")


# 52 tuples a page, so that 200,000 take 32 MB; a random order that is the same each time.
DATABASE = """
CREATE TABLE twohundredk (unique1 int, filler text);
CREATE TABLE twentyk (unique1 int, filler text);
INSERT INTO twohundredk SELECT n, repeat('x', 120) FROM generate_series(1, 200000) n ORDER BY md5(n::text);
INSERT INTO twentyk SELECT n, repeat('x', 120) FROM generate_series(1, 1000020) n ORDER BY md5(n || 'outer') LIMIT 20000;
CREATE INDEX twohundredk_unique1 ON twohundredk (unique1) WITH (fillfactor = 81);
VACUUM (FREEZE, ANALYZE);
CHECKPOINT;
COPY (SELECT pg_relation_filepath(oid), relname FROM pg_class WHERE relname LIKE 'tw%') TO '{to}' (DELIMITER ' ');
"""


def database(folder, programs, as_user):
    """Makes the paper's two relations and the index, in a database of its own."""
    folder.mkdir()
    folder.chmod(0o777)
    run = {"check": True, "capture_output": True, "cwd": folder}
    data = folder / "data"
    subprocess.run([*as_user, programs / "initdb", "-N", "--no-locale", "-E", "SQL_ASCII", "-D", data], **run)
    statements = DATABASE.format(to=folder / "relations").strip() + "\n"
    single = [*as_user, programs / "postgres", "--single", "-D", data, "postgres"]
    subprocess.run(single, input=statements.encode(), **run)
