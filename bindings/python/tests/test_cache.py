"""Reads, views, plans and errors."""

import array
import asyncio
import gc
import io
import os
import queue
import socket
import sys
import time
import weakref

import pytest

import foresee
from conftest import Store, content

A = content(300_000)


def test_positions_and_reads_are_as_of_any_file(cache):
    file, plain = cache.open("test://a"), io.BytesIO(A)
    for seek, size in [((0,), 10), ((100_000,), 70_000), ((5, 1), 3), ((-7, 2), 100), ((0, 2), 1), ((400_000,), 5), ((0,), -1)]:
        assert file.seek(*seek) == plain.seek(*seek)
        assert file.read(size) == plain.read(size)
        assert file.tell() == plain.tell()
    assert (file.size, file.readable(), file.seekable(), file.writable()) == (300_000, True, True, False)
    buffer = bytearray(20_000)
    file.seek(290_000)
    assert file.readinto(buffer) == 10_000 and buffer[:10_000] == A[290_000:]
    assert io.BufferedReader(file).read(1) == b""
    for wrong in [(-1,), (-300_001, 2), (0, 3)]:
        with pytest.raises(ValueError):
            file.seek(*wrong)


def test_what_is_read_again_comes_from_memory(cache, store):
    file = cache.open("test://a")
    for _ in range(3):
        assert file.read_at(1000, 200_000) == A[1000:201_000]
    once = len(store.reads)
    assert cache.open("test://a").read_at(50_000, 10) == A[50_000:50_010]
    assert len(store.reads) == once


def test_views_are_the_memory_itself_and_keep_it(store):
    cache = foresee.Cache(600_000, block_bytes=4096, stores={"test": store})
    file = cache.open("test://a")
    view = file.view(4096 * 3 + 5, 100_000)
    assert len(view) == 4091 and memoryview(view).readonly
    assert bytes(view) == A[4096 * 3 + 5:4096 * 4]
    numpy = pytest.importorskip("numpy")
    one, other = numpy.frombuffer(view, "u1"), numpy.frombuffer(file.view(4096 * 3, 4096), "u1")
    assert one.ctypes.data == other.ctypes.data + 5, "it was copied"
    del view, file
    for at in range(40):
        cache.open(f"test://{'ab'[at % 2]}").read()
    assert bytes(one) == A[4096 * 3 + 5:4096 * 4]
    assert cache.statistics()["views"] == 2
    del one, other
    assert cache.statistics()["views"] == 0


def test_views_have_half_of_the_memory(store):
    file = foresee.Cache(200_000, block_bytes=4096, stores={"test": store}).open("test://a")
    with pytest.raises(BufferError, match="drop some"):
        file.views(0, 300_000)
    assert b"".join(file.views(10, 50_000)) == A[10:50_010]


def test_coroutines_wait_for_the_same_bytes(cache, store):
    async def all_at_once():
        file = await cache.open_async("test://a")
        reads = [file.read_at_async(at * 1000, 1000) for at in range(250)]
        return await asyncio.gather(*reads, file.view_async(7, 5))
    *reads, view = asyncio.run(all_at_once())
    assert b"".join(reads) == A[:250_000] and bytes(view) == A[7:12]

    async def nothing():
        await cache.open_async("test://nothing")
    with pytest.raises(FileNotFoundError):
        asyncio.run(nothing())
    assert asyncio.run(cache.list_async("test://")) == cache.list("test://") == [("test://a", 300_000), ("test://b", 100_000)]


def test_a_directory_is_listed_as_a_bucket_is(cache, tmp_path):
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name in ["a", "d/b", "d/e/c"]:
        (tmp_path / name).write_bytes(b"x" * len(name))
    assert cache.list(f"{tmp_path}/d") == [(f"{tmp_path}/d/b", 3), (f"{tmp_path}/d/e/c", 5)]
    assert [name for name, _ in cache.list(f"{tmp_path}/")] == [f"{tmp_path}/{name}" for name in ["a", "d/b", "d/e/c"]]
    with pytest.raises(IsADirectoryError):
        cache.open(f"{tmp_path}/d")


def test_a_directory_is_listed_by_its_dots(cache, tmp_path, monkeypatch):
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name in ["d/.hidden", "d/b", "d/e/c"]:
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.chdir(tmp_path / "d")
    below = [".hidden", "b", "e/c"]
    for asked, begin in [(".", "./"), ("./", "./"), ("e/..", "e/../"), ("..", "../d/"), ("file://.", "file://./")]:
        assert [name for name, _ in cache.list(asked)] == [begin + name for name in below]
    assert cache.list("../nope") == []
    with pytest.raises(FileNotFoundError):
        cache.list("../nope/")


def test_paths_are_text_or_bytes(cache, tmp_path):
    (tmp_path / "f").write_bytes(b"bytes")
    for path in [tmp_path / "f", str(tmp_path / "f"), os.fsencode(tmp_path / "f")]:
        assert cache.open(path).read() == b"bytes"
        assert cache.list(path) == asyncio.run(cache.list_async(path)) == [(str(tmp_path / "f"), 5)]
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike"):
        cache.open(None)


def test_a_local_url_may_have_its_host(cache, tmp_path):
    (tmp_path / "f").write_bytes(b"bytes")
    for url in [f"file://{tmp_path}/f", f"file://localhost{tmp_path}/f", f"FILE://LocalHost{tmp_path}/f"]:
        assert cache.open(url).read() == b"bytes"
        assert cache.list(url) == asyncio.run(cache.list_async(url)) == [(f"file://{tmp_path}/f", 5)]
    named = foresee.Cache(16 << 20, stores={"file": Store(**{"localhost/f": b"named"})})
    assert named.open("file://localhost/f").read() == b"named" and named.list("file://localhost/") == [("file://localhost/f", 5)]


def test_what_cannot_be_is_said(cache):
    with cache.open("test://a") as file:
        with pytest.raises(io.UnsupportedOperation, match="not writable"):
            file.write(b"x")
        with pytest.raises(ValueError, match=r"\(5, 3\) ends before it begins"):
            cache.plan().ranges(file, [(0, 1), (5, 3)])


@pytest.mark.parametrize("name", ["fsspec", "h5py", "obspec", "torch", "zarr"])
def test_modules_for_others_libraries_need_no_import_of_their_own(program, name):
    if name != "obspec":
        pytest.importorskip(name)
    assert program(f"import foresee; print(foresee.{name}.__name__)") == f"foresee.{name}\n"


def test_a_module_whose_library_is_not_here_is_no_attribute(program):
    text = """
        import sys
        sys.modules["torch"] = None
        import foresee
        print(hasattr(foresee, "torch"))
        import foresee.torch
    """
    said = program(text, status=1)
    assert said.startswith("False\n") and "ModuleNotFoundError" in said and "torch" in said


def test_what_is_set_is_looked_at(tmp_path):
    with pytest.raises(TypeError, match="disk is a path and the bytes it may have"):
        foresee.Cache(1 << 20, disk=str(tmp_path / "disk"))
    with pytest.raises(TypeError, match="disk is a path and the bytes it may have"):
        foresee.Cache(1 << 20, disk=5)
    with pytest.raises(TypeError, match=r"settings\['s3'\]: a dict of options is needed.*not 'x'"):
        foresee.Cache(1 << 20, settings={"s3": "x"})
    for wrong in ["soon", -1, "0", "inf"]:
        with pytest.raises(ValueError, match=f"deadline '{wrong}' of 'http'"):
            foresee.Cache(1 << 20, settings={"http": {"deadline": wrong}})
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        cache = foresee.Cache(1 << 20, settings={"http": {"Deadline": 0.5}})
        with pytest.raises(OSError):
            cache.open(f"http://127.0.0.1:{nobody.getsockname()[1]}/x")


def test_what_was_opened_once_may_be_known_for_ever(store):
    cache = foresee.Cache(1 << 20, max_age=float("inf"), stores={"test": store})
    cache.open("test://a").read()
    del store.objects["a"]
    assert cache.open("test://a").read_at(0, 5) == A[:5]


def test_coroutines_have_what_others_have(cache, store, tmp_path):
    (tmp_path / "f").write_bytes(A)

    async def ways():
        async with asyncio.timeout(60):
            file = await foresee.open_async(tmp_path / "f", cache=cache)
            assert file.cache is cache and (await foresee.open_async(tmp_path / "f")).cache is foresee.default_cache()
            views = await file.views_async(299_000 - 100_000, 100_000)
            assert b"".join(views) == A[199_000:299_000] and len(views) > 1
            file.seek(290_000)
            buffer = bytearray(20_000)
            assert await file.readinto_async(buffer) == 10_000 == 300_000 - 290_000 and buffer[:10_000] == A[290_000:]
            assert file.tell() == 300_000 and await file.readinto_async(buffer) == 0
            with pytest.raises(ValueError, match="written to"):
                await file.readinto_async(b"fixed")
            opened = await cache.open_all_async(["test://a", "test://nothing", tmp_path / "f"])
            assert [getattr(it, "url", type(it)) for it in opened] == ["test://a", FileNotFoundError, str(tmp_path / "f")]
    asyncio.run(ways())


@pytest.mark.parametrize("one", ["test://a", b"test://a"])
def test_one_url_is_not_several(cache, one):
    with pytest.raises(TypeError, match="several URLs are needed"):
        cache.open_all(one)
    with pytest.raises(TypeError, match="several URLs are needed"):
        asyncio.run(cache.open_all_async(one))


def test_large_reads_of_what_is_in_memory():
    large = foresee.Cache(64 << 20, stores={"large": Store(it=content(1 << 20))})
    file = large.open("large://it")
    for _ in range(2):
        assert file.read_at(0, 1 << 20) == content(1 << 20) and file.read_at(5, 600_000) == content(1 << 20)[5:600_005]
    assert asyncio.run(file.read_at_async(1, 500_000)) == content(1 << 20)[1:500_001]


def test_a_coroutine_that_was_cancelled_disturbs_nobody(cache, store):
    async def cancelled():
        file = await cache.open_async("test://a")
        store.goes_on.clear()
        task = asyncio.create_task(file.read_at_async(0, 10))
        while not store.reads:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.goes_on.set()
        return await file.read_at_async(0, 10)
    assert asyncio.run(cancelled()) == A[:10]


def test_what_is_planned_is_brought_ahead_of_its_reader(cache, store):
    file = cache.open("test://a")
    with cache.plan() as plan:
        plan.range(file, 200_000, 201_000).ranges(file, [(0, 10), (100_000, 100_010)]).url("test://b").repeat(1, 2)
        while cache.statistics()["planned"]["fetched"] < 10 or store.reads == []:
            pass
        assert file.read_at(200_000, 1000) == A[200_000:201_000]
        assert file.read_at(0, 10) + file.read_at(100_000, 10) == A[:10] + A[100_000:100_010]
    assert cache.statistics()["misses"] == 0
    plan.close()


def test_a_plan_is_generated_as_it_is_read(cache):
    file, asked = cache.open("test://a"), []

    def pieces():
        for at in range(0, 300_000, 1000):
            asked.append(at)
            yield file, at, at + 1000
    with cache.plan() as plan:
        plan.generate(pieces())
        while cache.statistics()["planned"]["fetched"] == 0:
            pass
        for at in range(0, 300_000, 1000):
            assert file.read_at(at, 1000) == A[at:at + 1000]
    assert asked


def test_a_plan_of_what_does_not_exist_costs_nothing(cache):
    with cache.plan() as plan:
        plan.url("test://nothing").url("/nowhere/at/all")
        assert cache.open("test://a").read_at(0, 10) == A[:10]
        with pytest.raises(ValueError, match="nope"):
            plan.url("nope://a")
        with pytest.raises(FileNotFoundError):
            cache.open("test://nothing")


def test_errors_say_what_to_do(cache, store, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError) as raised:
        cache.open(tmp_path / "nothing")
    assert raised.value.filename == str(tmp_path / "nothing") and raised.value.errno == 2
    with pytest.raises(ValueError, match="no store for 'ftp://'.*stores="):
        cache.open("ftp://a")
    for settings, text in [({"memory": 1}, "give [0-9]+ or more"), ({"block_bytes": 5000}, "power of two"),
                           ({"policy": "lrru"}, "lrru"), ({"max_age": -1.0}, "max_age is -1.*seconds from 0 on"),
                           ({"max_age": float("nan")}, "max_age is NaN"), ({"memory": -1}, "memory: an integer from 0 to.*-1"),
                           ({"disk": ("/nowhere", -1)}, "bytes of disk.*-1"), ({"settings": {"ftp": {}}}, "s3, gs, az"),
                           ({"log": "/nowhere/log"}, "/nowhere/log")]:
        with pytest.raises((ValueError, OSError), match=text):
            foresee.Cache(**settings)
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"]:
        monkeypatch.delenv(name, raising=False)
    for name in ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"]:
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(PermissionError, match="AWS_ACCESS_KEY_ID"):
        foresee.Cache(settings={"s3": {"metadata_endpoint": "http://127.0.0.1:1"}}).open("s3://bucket/key")
    store.objects["a"] = b"short"
    file = cache.open("test://b")
    store.objects["b"] = b""
    with pytest.raises(foresee.Changed, match="open it again"):
        file.read()


def test_what_a_store_raises_reaches_its_reader(cache, store):
    class Odd(Exception):
        pass

    class Broken(Store):
        def open(self, name):
            raise Odd(name)
    with pytest.raises(Odd, match="x"):
        foresee.Cache(stores={"odd": Broken()}).open("odd://x")
    file = cache.open("test://a")
    del store.objects["a"]
    with pytest.raises(KeyError):
        file.read_at(0, 10)


@pytest.mark.parametrize("call", [
    lambda cache, file: foresee.Cache("much"), lambda cache, file: cache.open(7), lambda cache, file: file.read_at("0", 1),
    lambda cache, file: file.read_at(-1, 1), lambda cache, file: file.view(0, -1), lambda cache, file: file.readinto(b"fixed"),
    lambda cache, file: cache.plan().range("file", 0, 1), lambda cache, file: cache.plan().range(file, "a", 1),
    lambda cache, file: cache.plan().ranges(file, 7), lambda cache, file: foresee.Cache(stores={"x": 7}),
    lambda cache, file: cache.plan().range(io.BytesIO(), 0, 1), lambda cache, file: foresee.Cache(disk=7),
])
def test_wrong_types_are_exceptions(cache, call):
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError)):
        call(cache, cache.open("test://a"))


def test_what_is_closed_is_not_read(cache):
    with cache.open("test://a") as file:
        view = file.view(0, 4)
    with pytest.raises(ValueError, match="closed"):
        file.read_at(0, 1)
    assert bytes(view) == A[:4]


def test_nothing_keeps_what_nobody_has(store):
    cache = foresee.Cache(16 << 20, stores={"test": store})
    file, plan = cache.open("test://a"), cache.plan()
    gone = [weakref.ref(it) for it in (cache, file)]
    del cache, file, plan
    gc.collect()
    assert [it() for it in gone] == [None, None]


def test_local_files_and_the_default_cache(tmp_path):
    (tmp_path / "f").write_bytes(A)
    with foresee.open(tmp_path / "f") as file:
        assert file.read() == A and file.cache is foresee.default_cache()
    file = foresee.open(str(tmp_path / "f"))
    (tmp_path / "f").write_bytes(content(300_000, 3))
    assert foresee.open(tmp_path / "f").read() == content(300_000, 3)
    assert foresee.open(tmp_path / "f").version != file.version


def test_a_disk_keeps_what_memory_gives_up(tmp_path, store):
    cache = foresee.Cache(16 << 20, disk=(tmp_path / "disk", 8 << 20), stores={"test": store})
    assert cache.open("test://a").read() == A and (tmp_path / "disk").exists()


def test_a_log_is_a_new_file_each_time(tmp_path, store):
    log = tmp_path / "log"
    # As a cell of a notebook does that runs twice.
    first, second = [foresee.Cache(1 << 20, log=log, stores={"test": store}) for _ in range(2)]
    for cache in first, second:
        assert cache.open("test://a").read_at(0, 10) == A[:10]
    del cache, second
    deadline = time.monotonic() + 60
    # A thread of it may hold on to it for a moment.
    while log.stat().st_size == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    written = log.read_text()
    del first
    assert written and log.read_text() == written and list(tmp_path.iterdir()) == [log]


def test_what_is_partly_here_is_read_once(store):
    ways = [lambda file: file.read_at(0, 50_000), lambda file: file.readinto(bytearray(50_000)),
            lambda file: asyncio.run(file.read_at_async(0, 50_000))]
    for read in ways:
        cache = foresee.Cache(16 << 20, policy="lru", stores={"test": store})
        file = cache.open("test://a")
        file.read_at(0, 20_000)
        read(file)
        counted = cache.statistics()
        assert (counted["hits"], counted["misses"]) == (2, 4)


def test_a_plan_is_of_one_cache(cache, monkeypatch):
    file = foresee.Cache(1 << 20).open(__file__)
    with cache.plan() as plan:
        for disclose in (plan.file, lambda it: plan.range(it, 0, 3)):
            with pytest.raises(ValueError, match="another cache opened it"):
                disclose(file)
        heard = queue.Queue()
        monkeypatch.setattr(sys, "unraisablehook", lambda it: heard.put(str(it.exc_value)))
        plan.generate([(file, 0, 3)])
        assert "another cache opened it" in heard.get(timeout=60)


def test_a_buffer_may_be_of_numbers(cache):
    numbers = array.array("i", [0] * 16)
    with cache.open("test://a") as file:
        assert file.readinto(numbers) == 64 and numbers.tobytes() == A[:64]
        with pytest.raises((ValueError, TypeError)):
            file.readinto(b"0123")
