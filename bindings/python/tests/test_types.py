"""What type checkers make of the package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import foresee

pytest.importorskip("mypy")
USE = '''
import asyncio
from typing import Any
import zarr
import foresee
import foresee.fsspec
import foresee.h5py
import foresee.obspec
import foresee.zarr

def sums(url: str, rows: list[int]) -> int:
    cache = foresee.Cache(1 << 30, policy="informed", settings={"s3": {"region": "eu-west-1"}})
    file: foresee.File = cache.open(url)
    with cache.plan() as plan:
        plan.ranges(file, [(row, row + 8) for row in rows]).repeat(len(rows), 2)
        view: foresee.View = file.view(0, 8)
        size: int = file.size
        return sum(memoryview(view)) + size + sum(file.read_at(row, 8)[0] for row in rows)

async def first(url: str) -> bytes:
    file = await foresee.open_async(url)
    buffer = bytearray(8)
    views: list[foresee.View] = await file.views_async(await file.readinto_async(buffer), 8)
    opened = [it for it in await file.cache.open_all_async([url]) if isinstance(it, foresee.File)]
    return await opened[0].read_at_async(len(views), 8)

def chained(path: str, filesystem: Any) -> list[bytes | BaseException]:
    ours = foresee.fsspec.ForeseeFileSystem(fs=filesystem, memory=1 << 30)
    whole: bytes = ours.cat_file(path, 0, 8)
    stores = {"memory": foresee.fsspec.FilesystemStore(ours.fs)}
    array = zarr.open_array(foresee.zarr.Store("memory://array", cache=foresee.Cache(stores=stores)), mode="r")
    with foresee.zarr.plan(array, (slice(0, len(whole)),)):
        return ours.ranges([(path, 0, None)]) + ours.cat_ranges([path], [0], [8])

def others(url: str) -> list[tuple[str, int]]:
    foresee.hint_segments("data.bin", [(0, 10)])
    table = foresee.simulate("trace", ["lru"], ["64MiB", 10])
    ranges: list[bytes] = foresee.obspec.Store(url).get_ranges("key", starts=[0], lengths=[8])
    print(table, ranges, asyncio.run(first(url)))
    return foresee.default_cache().list(url)
'''
WRONG = '''
import foresee
import foresee.fsspec, foresee.zarr
foresee.open(1)
foresee.Cache("1 GiB")
foresee.hint_repeat(1)
text: str = foresee.open("x").read()
foresee.open("x").version = "1"
foresee.fsspec.ForeseeFileSystem(memory="1 GiB")
foresee.zarr.Store(1)
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
    assert lines == ["4", "5", "6", "7", "8", "9", "10"]


def test_the_stubs_are_the_native_module(tmp_path):
    # Before Python 3.12 what has the buffer protocol has no such method.
    allowed = tmp_path / "allowed"
    allowed.write_text("foresee._foresee.View.__buffer__\n")
    said = mypy("mypy.stubtest", "--allowlist", str(allowed), "--ignore-unused-allowlist", "foresee._foresee")
    assert "Success" in said, said


@pytest.mark.parametrize("name", ["cache", "fsspec", "h5py", "hints", "obspec", "simulator", "torch", "zarr"])
def test_public_functions_say_their_types(name):
    """Of each argument and of what comes back: what py.typed promises."""
    tree = ast.parse((Path(foresee.__file__).parent / f"{name}.py").read_text())
    is_public = lambda it, kinds: isinstance(it, kinds) and not it.name.startswith("_")  # noqa: E731
    bodies = [tree.body, *(it.body for it in tree.body if is_public(it, ast.ClassDef))]
    public = [it for body in bodies for it in body if is_public(it, (ast.FunctionDef, ast.AsyncFunctionDef))]
    assert public

    def untyped(function):
        arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        given = [*arguments, *filter(None, (function.args.vararg, function.args.kwarg))]
        return [it.arg for it in given if it.annotation is None and it.arg not in ("self", "cls")] + ["return"] * (function.returns is None)
    assert {it.name: missing for it in public if (missing := untyped(it))} == {}
