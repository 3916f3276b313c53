"""What type checkers make of the package."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy")
USE = '''
import asyncio
import foresee
import foresee.h5py
import foresee.obspec

def sums(url: str, rows: list[int]) -> int:
    cache = foresee.Cache(1 << 30, policy="informed", settings={"s3": {"region": "eu-west-1"}})
    file: foresee.File = cache.open(url)
    with cache.plan() as plan:
        plan.ranges(file, [(row, row + 8) for row in rows]).repeat(len(rows), 2)
        view: foresee.View = file.view(0, 8)
        size: int = file.size
        return sum(memoryview(view)) + size + sum(file.read_at(row, 8)[0] for row in rows)

async def first(url: str) -> bytes:
    file = await foresee.default_cache().open_async(url)
    return await file.read_at_async(0, 8)

def others(url: str) -> list[tuple[str, int]]:
    foresee.hint_segments("data.bin", [(0, 10)])
    table = foresee.simulate("trace", ["lru"], ["64MiB", 10])
    ranges: list[bytes] = foresee.obspec.Store(url).get_ranges("key", starts=[0], lengths=[8])
    print(table, ranges, asyncio.run(first(url)))
    return foresee.default_cache().list(url)
'''
WRONG = '''
import foresee
foresee.open(1)
foresee.Cache("1 GiB")
foresee.hint_repeat(1)
text: str = foresee.open("x").read()
foresee.open("x").version = "1"
'''


def mypy(*words):
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.fixture
def checked(tmp_path):
    """What is said of a program, strictly."""
    def check(text):
        program = tmp_path / "program.py"
        program.write_text(text)
        return mypy("mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path), str(program))
    return check


def test_a_program_that_is_right_is_right_strictly(checked):
    assert "Success" in (said := checked(USE)), said


def test_what_is_wrong_is_found_at_each_line(checked):
    lines = [line.split(":")[1] for line in checked(WRONG).splitlines() if ": error: " in line]
    assert lines == ["3", "4", "5", "6", "7"]


def test_the_stubs_are_the_native_module(tmp_path):
    # Before Python 3.12 what has the buffer protocol has no such method.
    allowed = tmp_path / "allowed"
    allowed.write_text("foresee._foresee.View.__buffer__\n")
    said = mypy("mypy.stubtest", "--allowlist", str(allowed), "--ignore-unused-allowlist", "foresee._foresee")
    assert "Success" in said, said
