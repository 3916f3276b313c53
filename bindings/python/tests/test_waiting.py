"""Who waits for stores that do not answer, or not as they should: others go on, and each is told."""

import asyncio
import contextlib
import functools
import resource
import signal
import time
from pathlib import Path

import pytest

import foresee
from conftest import Store, content
from foresee import waiting

A = content(300_000)
# So many wait for what was not given up.
THREADS_MAX = 64


@pytest.fixture
def hung():
    """Its files can be opened, and no read of them returns until the test ends."""
    store = Store(a=A)
    store.depth = 4
    store.goes_on.clear()
    yield store
    store.goes_on.set()
    # What was given up ends a moment later, and counts until then.
    deadline = time.monotonic() + 60
    while waiting_threads() > THREADS_MAX and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.fixture
def in_time():
    """A minute: then what still waits in the main thread ends with an error."""
    def late(*_):
        raise TimeoutError("it waits for ever")
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@functools.cache
def threads_that_may_be():
    """So many this process may have, as far as that is said."""
    most = [soft for soft, _ in [resource.getrlimit(resource.RLIMIT_NPROC)] if soft != resource.RLIM_INFINITY]
    group = Path("/proc/self/cgroup").read_text().split("::")[-1].strip().lstrip("/")
    for folder in [Path("/sys/fs/cgroup", group), *Path("/sys/fs/cgroup", group).parents]:
        with contextlib.suppress(OSError, ValueError):
            most.append(int((folder / "pids.max").read_text()))
    with contextlib.suppress(OSError, ValueError):
        most.append(int(Path("/sys/fs/cgroup/pids/pids.max").read_text()))
    return min(most, default=1 << 20)


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


def test_the_main_thread_waits_for_no_thread(hung, tmp_path, in_time):
    (tmp_path / "f").write_bytes(A)

    async def others():
        file = await foresee.Cache(16 << 20, stores={"hung": hung}).open_async("hung://a")
        tasks = [asyncio.create_task(file.read_at_async(at * 16384 % 300_000, 10)) for at in range(100)]
        await asyncio.sleep(0.2)
        # They wait on, and take all threads that coroutines have.
        came = foresee.Cache(16 << 20).open(tmp_path / "f").read_at(5, 5)
        hung.goes_on.set()
        return came, await asyncio.gather(*tasks)
    came, waited = asyncio.run(others())
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
            try:
                # Again and again: a first one may come before anything waits.
                signal.setitimer(signal.ITIMER_REAL, 0.02, 0.5)
                file.read_at(at * 10_000, 10)
            except TimeoutError:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        print(foresee.open({str(tmp_path / "f")!r}).read_at(0, 1)[0])
    """) == f"{A[0]}\n"


@pytest.mark.skipif(threads_that_may_be() < 2000, reason="a process may not have 2000 threads here")
def test_threads_come_back_from_what_was_given_up(hung):
    async def all_of_it():
        cache = foresee.Cache(16 << 20, stores={"hung": hung})
        file = await cache.open_async("hung://a")
        # There may be many, and not any number.
        with pytest.raises(OSError, match="1000 reads that were given up still wait"):
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                await give_up_many(file)
        hung.goes_on.set()
        # They end, but for as many as there may be.
        deadline = time.monotonic() + 60
        while waiting_threads() > THREADS_MAX and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        async with asyncio.timeout(60):
            reads = [file.read_at_async(at * 1000, 1000) for at in range(300)]
            return waiting_threads(), b"".join(await asyncio.gather(*reads))
    threads, read = asyncio.run(all_of_it())
    assert threads <= THREADS_MAX and read == A


@pytest.mark.skipif(threads_that_may_be() < 2000, reason="a process may not have 2000 threads here")
def test_what_no_thread_is_left_for_fails(hung):
    async def all_of_it():
        file = await foresee.Cache(16 << 20, stores={"hung": hung}).open_async("hung://a")
        reads, deadline = [], time.monotonic() + 60

        async def give_up_the_first():
            for it in reads[:64]:
                it.cancel()
            del reads[:64]
            await asyncio.sleep(0.2)
        # Nearly all threads that there may be wait for what was given up,
        while waiting_threads() < 1000 and time.monotonic() < deadline:
            reads.extend(asyncio.create_task(file.read_at_async(at * 1000, 10)) for at in range(600 - len(reads)))
            await give_up_the_first()
        # and then all of them, while more is to be read.
        while len(reads) > 100 and not any(it.done() for it in reads):
            await give_up_the_first()
        ended, _ = await asyncio.wait(reads, timeout=60)
        return len(reads), [str(it.exception()) for it in ended]
    count, errors = asyncio.run(all_of_it())
    assert len(errors) == count > 0 and all("1000 reads that were given up still wait" in it for it in errors)


def waiting_threads():
    """How many threads there are for what waits."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text())
    return names.count("foresee-wait\n")


@pytest.mark.parametrize("read", [lambda file: file.read_at(0, 10), lambda file: asyncio.run(file.read_at_async(0, 10))])
def test_a_store_that_raises_stop_iteration_is_no_end(read, in_time):
    class Stops(Store):
        def open(self, name):
            opened = super().open(name)
            opened.read = lambda offset, size: next(iter(()))
            return opened
    file = foresee.Cache(16 << 20, stores={"stops": Stops(a=A)}).open("stops://a")
    with pytest.raises(RuntimeError, match="the store raised StopIteration") as raised:
        read(file)
    assert isinstance(raised.value.__cause__, StopIteration)


def test_coroutines_of_others_are_told_whose_these_are():
    file = foresee.Cache(16 << 20, stores={"test": Store(a=A)}).open("test://a")
    # As whatever runs coroutines without asyncio does.
    with pytest.raises(RuntimeError, match="are asyncio's.*trio.to_thread.run_sync"):
        file.read_at_async(0, 10).send(None)
    with pytest.raises(RuntimeError, match="are asyncio's.*trio.to_thread.run_sync"):
        file.cache.open_all_async(["test://a"]).send(None)


def test_reads_that_are_given_up_together_begin_few_threads(hung, tmp_path):
    (tmp_path / "f").write_bytes(A)

    async def others():
        file = await foresee.Cache(16 << 20, stores={"hung": hung}).open_async("hung://a")
        before = waiting_threads()
        tasks = [asyncio.create_task(file.read_at_async(at * 16384 % 300_000, 10)) for at in range(2000)]
        await asyncio.sleep(0.2)
        for it in tasks:
            it.cancel()
        await asyncio.wait(tasks)
        async with asyncio.timeout(60):
            came = await (await foresee.Cache(16 << 20).open_async(tmp_path / "f")).read_at_async(5, 5)
        return came, waiting_threads() - before
    came, more = asyncio.run(others())
    assert came == A[5:10] and more < 500


def test_what_waits_for_its_turn_takes_no_memory(program):
    assert program("""
        import asyncio, foresee, resource, time
        class Slow:
            size, version, depth = 300 << 22, 1, 64
            def open(self, name):
                return self
            def read(self, offset, size):
                time.sleep(0.001)
                return bytes(size)
        async def count(file, at):
            return len(await file.read_at_async(at << 22, 1 << 22))
        async def all_of_it():
            file = await foresee.Cache(32 << 20, block_bytes=1 << 20, stores={"slow": Slow()}).open_async("slow://a")
            return sum(await asyncio.gather(*[count(file, at) for at in range(300)]))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        read = asyncio.run(all_of_it())
        print(read == 300 << 22, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 800 << 10)
    """) == "True True\n"


@pytest.mark.parametrize("in_the_main_thread", [True, False])
def test_a_long_read_that_was_given_up_ends_soon(program, in_the_main_thread):
    assert program(f"""
        import asyncio, foresee, signal, time
        class Slow:
            size, version, depth, reads = 1 << 30, 1, 4, 0
            def open(self, name):
                return self
            def read(self, offset, size):
                time.sleep(0.01)
                self.reads += 1
                return bytes(size)
        slow = Slow()
        file = foresee.Cache(64 << 20, policy="lru", block_bytes=1 << 20, stores={{"slow": slow}}).open("slow://a")
        def interrupt(*_):
            raise TimeoutError
        async def cancelled():
            async with asyncio.timeout(0.1):
                await file.read_at_async(0, 1 << 30)
        signal.signal(signal.SIGALRM, interrupt)
        try:
            if {in_the_main_thread}:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                file.read_at(0, 1 << 30)
            else:
                asyncio.run(cancelled())
        except TimeoutError:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        deadline, before = time.monotonic() + 50, -1
        while slow.reads != before and time.monotonic() < deadline:
            before = slow.reads
            time.sleep(0.5)
        print(0 < before < 200, slow.reads == before)
    """) == "True True\n"


def test_what_failed_is_not_given_up_as_well(monkeypatch):
    class Begun:
        given_up = 0

        def give_up(self):
            self.given_up += 1

    begun = Begun()
    monkeypatch.setattr(waiting, "Begun", Begun)

    def fails(done):
        done(None, OSError("no"))
        return begun

    async def all_of_it():
        with pytest.raises(OSError, match="no"):
            await waiting.later(fails)
        failed = begun.given_up
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await waiting.later(lambda done: begun)
        return failed, begun.given_up
    assert asyncio.run(all_of_it()) == (0, 1)
