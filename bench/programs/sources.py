"""Source trees of Debian's packages, by apt, without root and without touching its lists."""

import re
import shutil
import subprocess
from pathlib import Path


def mirror():
    """Where this machine has its packages from, and of which release."""
    for entry in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        text = entry.read_text() if entry.is_file() else ""
        found = re.search(r"^deb (?:\[.*\] )?(\S+) (\S+) main", text, re.M)
        if found:
            return found[1], found[2]
        found = re.search(r"^URIs: (\S+)\s+Suites: (\S+)", text, re.M)
        if found:
            return found[1], found[2]
    return None


def tree(package, workshop, missing):
    """The package's upstream sources, unpacked; raises `missing` with what would help."""
    for program, package_of_it in [("gcc", "gcc"), ("make", "make"), ("bzip2", "bzip2"), ("xz", "xz-utils")]:
        if not shutil.which(program):
            raise missing(f"no {program}: apt-get install {package_of_it}")
    at = mirror() if shutil.which("apt-get") else None
    if not at:
        raise missing("its sources come by apt from a Debian mirror, and there is none in /etc/apt")
    place = workshop / f"{package}-source"
    for folder in ["lists/partial", "cache/archives/partial", "download", "tree"]:
        (place / folder).mkdir(parents=True)
    (place / "sources.list").write_text(f"deb-src {at[0]} {at[1]} main\n")
    options = {"Dir::Etc::SourceList": place / "sources.list", "Dir::Etc::SourceParts": "/dev/null",
               "Dir::State::Lists": place / "lists", "Dir::Cache": place / "cache", "APT::Sandbox::User": "root"}
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    for words in [["update"], ["source", "--download-only", package]]:
        done = subprocess.run([*apt, *words], cwd=place / "download", capture_output=True, text=True)
        if done.returncode:
            raise missing(f"its sources could not be had from {at[0]}: {done.stderr.strip()[-300:]}")
    archive = next((place / "download").glob("*.orig.tar.*"))
    subprocess.run(["tar", "xf", archive, "-C", place / "tree", "--strip-components=1"], check=True)
    return place / "tree"
