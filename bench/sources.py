"""The sources of Linux as Debian packages them, with cscope's database: what several benchmarks read."""

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "papers" / "record"))

import inputs  # noqa: E402

PARTS = ("kernel", "mm", "fs", "net", "block", "lib", "crypto", "ipc", "init", "io_uring", "security")


def make(work, folder):
    """Puts them into a folder that is not there yet. `work` keeps the packages."""
    if folder.exists():
        return
    made = work / "source"
    if not made.exists():
        inputs.kernel_source(made, PARTS, inputs.is_code)
    shutil.copytree(made, folder)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    (folder / "cscope.files").write_text("\n".join(files) + "\n")
    subprocess.run(["cscope", "-b"], cwd=folder, check=True)
