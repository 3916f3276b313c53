"""Files as any file is: lines, buffers, and what is closed."""

import array
import asyncio
import io
import pickle

import pytest

import foresee
from conftest import Store

TEXT = b"".join(b"%d " % at * (at * 7919 % 23) + b"\n" * (at % 5 > 0) for at in range(3000)) + b"an end without a line feed"


@pytest.fixture
def text():
    """Lines of no bytes and of many, in blocks that end within them."""
    store = Store(text=TEXT, long=b"x" * 30_000 + b"\n\ny", empty=b"")
    return foresee.Cache(16 << 20, block_bytes=4096, stores={"test": store})


def test_lines_are_as_of_any_file(text):
    for name in ["text", "long", "empty"]:
        file, plain = text.open(f"test://{name}"), io.BytesIO(text.open(f"test://{name}").read())
        assert list(file) == list(plain) and next(file, None) is None
        for seek, size in [(0, -1), (0, 0), (0, 1), (3, 5), (17, None), (4090, 20), (4096, 4096), (5, 100_000), (29_999, -1), (10**6, -1)]:
            assert file.seek(seek) == plain.seek(seek)
            assert (file.readline(size), file.tell()) == (plain.readline(size), plain.tell())
            assert (file.read(3), file.readline(), file.tell()) == (plain.read(3), plain.readline(), plain.tell())
            back = max(plain.tell() - 1, 0)
            assert file.seek(back) == plain.seek(back)
            assert (next(file, b""), file.readlines(50)) == (next(plain, b""), plain.readlines(50))
    with pytest.raises(TypeError):
        file.readline("5")


def test_lines_are_read_by_blocks_and_not_by_bytes(text, monkeypatch):
    reads, read_at = [], foresee.File.read_at
    monkeypatch.setattr(foresee.File, "read_at", lambda self, *place: reads.append(place) or read_at(self, *place))
    assert b"".join(text.open("test://text")) == TEXT
    # The last two find the end.
    assert len(reads) == -(-len(TEXT) // 4096) + 2


def test_what_is_closed_says_nothing(text):
    file = text.open("test://text")
    file.readline()
    file.close()
    calls = [file.tell, file.readable, file.seekable, file.writable, file.readline, file.read, lambda: file.seek(0), lambda: next(file),
             lambda: pickle.dumps(file)]
    for call in calls:
        with pytest.raises(ValueError, match="closed file"):
            call()


def test_a_buffer_may_be_of_anything(text):
    numpy = pytest.importorskip("numpy")

    async def by_a_coroutine(file, buffer):
        return await file.readinto_async(buffer)
    for fill in (foresee.File.readinto, lambda *given: asyncio.run(by_a_coroutine(*given))):
        buffers = [numpy.zeros(shape, kind) for shape, kind in [(4, "M8[s]"), ((0, 3), "f8"), ((2, 3), ">i2"), (3, "U2")]]
        for buffer in [*buffers, array.array("d", [0])]:
            with text.open("test://text") as file:
                file.seek(1000)
                count = len(buffer.tobytes())
                assert fill(file, buffer) == count and buffer.tobytes() == TEXT[1000:1000 + count] and file.tell() == 1000 + count
        fixed = numpy.zeros(3)
        fixed.flags.writeable = False
        with text.open("test://text") as file:
            for wrong in (fixed, numpy.zeros((4, 4))[:, 1], b"fixed", 7):
                with pytest.raises((ValueError, TypeError)):
                    fill(file, wrong)
            assert file.tell() == 0


@pytest.mark.parametrize("read, name", [
    (lambda file: file.read_at(0, -1), "size"), (lambda file: file.read_at(-1, 1), "offset"), (lambda file: file.view(-1, 3), "offset"),
    (lambda file: file.views(0, -1), "size"), (lambda file: asyncio.run(file.read_at_async(0, -1)), "size"),
    (lambda file: asyncio.run(file.view_async(-1, 1)), "offset"), (lambda file: asyncio.run(file.views_async(-1, 1)), "offset"),
    (lambda file: file.cache.plan().range(file, -1, 3), "start"), (lambda file: file.cache.plan().range(file, 0, -1), "stop"),
    (lambda file: file.cache.plan().repeat(-1, 3), "entries"), (lambda file: file.cache.plan().repeat(1, -1), "passes"),
])
def test_a_number_that_cannot_be_is_named(text, read, name):
    with pytest.raises(ValueError, match=rf"{name}: an integer from 0 to 2\^64 - 1 is needed, not -1"):
        read(text.open("test://text"))


def test_a_range_that_ends_before_it_begins_is_said(text):
    file = text.open("test://text")
    with pytest.raises(ValueError, match="start 5 and stop 3: it ends before it begins"):
        text.plan().range(file, 5, 3)


@pytest.mark.parametrize("read", [
    "len(file.read())", "asyncio.run(read_all())", "file.readinto(bytearray(size))",
    "asyncio.run(file.readinto_async(bytearray(size)))",
])
def test_a_large_read_takes_little_more_than_what_it_returns(program, tmp_path, read):
    (tmp_path / "f").write_bytes(bytes(1 << 20))
    with open(tmp_path / "f", "ab") as file:
        file.truncate(200 << 20)
    program(f"""
        import asyncio, foresee, resource
        async def read_all():
            # Of a task that comes to bytes, asyncio.run has the text made.
            return len(await file.read_at_async(0, size))
        asyncio.run(asyncio.sleep(0))
        file, size = foresee.Cache(16 << 20).open({str(tmp_path / "f")!r}), 200 << 20
        file.read_at(0, 10)
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        before = peak()
        assert {read} == size
        assert peak() - before < 1.5 * size, (peak() - before) / size
    """)


def test_a_buffer_that_is_given_up_is_filled_no_more():
    store = Store(text=TEXT)
    file, buffer = foresee.Cache(16 << 20, stores={"test": store}).open("test://text"), bytearray(len(TEXT))

    async def give_up():
        store.goes_on.clear()
        task = asyncio.create_task(file.readinto_async(buffer))
        while not store.reads:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.goes_on.set()
        assert await file.read_at_async(0, len(TEXT)) == TEXT
    asyncio.run(give_up())
    assert buffer == bytes(len(TEXT)) and file.tell() == 0


def test_a_buffer_that_became_smaller_is_said(monkeypatch, text):
    monkeypatch.setattr(foresee.cache, "_PART", 1000)
    file, buffer = text.open("test://text"), bytearray(5000)

    async def shrink():
        task = asyncio.create_task(file.readinto_async(buffer))
        await asyncio.sleep(0)
        del buffer[10:]
        await task
    with pytest.raises(ValueError, match="the buffer has 10 bytes by now"):
        asyncio.run(shrink())
