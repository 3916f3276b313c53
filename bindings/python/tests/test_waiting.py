"""Who waits for stores that do not answer, or not as they should: others go on, and each is told."""

import asyncio
import contextlib
import signal
import time
from pathlib import Path

import pytest

import foresee
from conftest import Store, content

A = content(300_000)


@pytest.fixture
def hung():
    """Its files can be opened, and no read of them returns until the test ends."""
    store = Store(a=A)
    store.depth = 4
    store.goes_on.clear()
    yield store
    store.goes_on.set()


async def give_up_many(file):
    """More reads than there are threads; none comes to anything but an error."""
    tasks = [asyncio.create_task(file.read_at_async(at * 16384 % 300_000, 10)) for at in range(100)]
    failed, waiting = await asyncio.wait(tasks, timeout=0.2)
    for it in waiting:
        it.cancel()
    await asyncio.wait(tasks)
    for error in [it.exception() for it in failed]:
        raise error


def test_reads_that_were_given_up_hold_up_nobody_else(hung, tmp_path):
    (tmp_path / "f").write_bytes(A)

    async def others():
        file = await foresee.Cache(16 << 20, stores={"hung": hung}).open_async("hung://a")
        await give_up_many(file)
        # All that a thread is at is given up only now: those in the queue were never begun.
        await give_up_many(file)
        async with asyncio.timeout(60):
            return await (await foresee.Cache(16 << 20).open_async(tmp_path / "f")).read_at_async(5, 5)
    assert asyncio.run(others()) == A[5:10]


def test_the_main_thread_waits_for_no_thread(hung, tmp_path):
    (tmp_path / "f").write_bytes(A)

    async def others():
        file = await foresee.Cache(16 << 20, stores={"hung": hung}).open_async("hung://a")
        tasks = [asyncio.create_task(file.read_at_async(at * 16384 % 300_000, 10)) for at in range(100)]
        await asyncio.sleep(0.2)
        # They wait on, and take all threads that coroutines have.
        came = foresee.Cache(16 << 20).open(tmp_path / "f").read_at(5, 5)
        hung.goes_on.set()
        return came, await asyncio.gather(*tasks)
    signal.alarm(60)
    came, waited = asyncio.run(others())
    signal.alarm(0)
    assert came == A[5:10] and waited == [A[at * 16384 % 300_000:][:10] for at in range(100)]


def test_interrupted_reads_hold_up_nobody_else(program, tmp_path):
    (tmp_path / "f").write_bytes(A)
    assert program(f"""
        import foresee, signal, threading
        class Hung:
            size, version, depth = 1 << 20, 1, 4
            def open(self, name):
                return self
            def read(self, offset, size):
                threading.Event().wait()
        def interrupt(*_):
            raise TimeoutError
        signal.signal(signal.SIGALRM, interrupt)
        file = foresee.Cache(16 << 20, stores={{"hung": Hung()}}).open("hung://a")
        for at in range(70):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try:
                file.read_at(at * 10_000, 10)
            except TimeoutError:
                pass
        signal.alarm(0)
        print(foresee.open({str(tmp_path / "f")!r}).read_at(0, 1)[0])
    """) == f"{A[0]}\n"


def test_threads_come_back_from_what_was_given_up(hung):
    async def all_of_it():
        cache = foresee.Cache(16 << 20, stores={"hung": hung})
        file = await cache.open_async("hung://a")
        # There may be many, and not any number.
        with pytest.raises(OSError, match="1000 reads that were given up still wait"):
            for _ in range(50):
                await give_up_many(file)
        hung.goes_on.set()
        # They end, but for as many as there may be.
        deadline = time.monotonic() + 60
        while waiting_threads() > 64 and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        async with asyncio.timeout(60):
            reads = [file.read_at_async(at * 1000, 1000) for at in range(300)]
            return waiting_threads(), b"".join(await asyncio.gather(*reads))
    threads, read = asyncio.run(all_of_it())
    assert threads <= 64 and read == A


def waiting_threads():
    """How many threads there are for what waits."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text())
    return names.count("foresee-wait\n")


@pytest.mark.parametrize("read", [lambda file: file.read_at(0, 10), lambda file: asyncio.run(file.read_at_async(0, 10))])
def test_a_store_that_raises_stop_iteration_is_no_end(read):
    class Stops(Store):
        def open(self, name):
            opened = super().open(name)
            opened.read = lambda offset, size: next(iter(()))
            return opened
    file = foresee.Cache(16 << 20, stores={"stops": Stops(a=A)}).open("stops://a")
    signal.alarm(60)
    with pytest.raises(RuntimeError, match="the store raised StopIteration") as raised:
        read(file)
    signal.alarm(0)
    assert isinstance(raised.value.__cause__, StopIteration)


def test_coroutines_of_others_are_told_whose_these_are():
    file = foresee.Cache(16 << 20, stores={"test": Store(a=A)}).open("test://a")
    # As whatever runs coroutines without asyncio does.
    with pytest.raises(RuntimeError, match="are asyncio's.*trio.to_thread.run_sync"):
        file.read_at_async(0, 10).send(None)
