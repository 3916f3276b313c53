"""Forks, pickles, interrupts, and ends of the interpreter: never a hang, never a crash."""

import asyncio
import multiprocessing
import os
import pickle

import pytest

import foresee
from conftest import Store, content

A = content(300_000)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "f").write_bytes(A)
    return str(tmp_path / "f")


def part(file, at):
    return file.read_at(at, 1000), os.getpid()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_open_it_anew(path, method):
    cache = foresee.Cache(16 << 20)
    file = cache.open(path)
    assert file.read_at(0, 100) == A[:100]
    with multiprocessing.get_context(method).Pool(2) as pool:
        for at, (came, worker) in enumerate(pool.starmap(part, [(file, at * 1000) for at in range(50)])):
            assert came == A[at * 1000:(at + 1) * 1000] and worker != os.getpid()
    assert file.read_at(0, 100) == A[:100]


def test_a_fork_while_others_read_neither_hangs_nor_crashes(program, path):
    program(f"""
        import os, threading, foresee
        cache = foresee.Cache(1 << 20, block_bytes=4096)
        expected, stop = open({path!r}, "rb").read(), False
        def read():
            file, at = cache.open({path!r}), 0
            while not stop:
                at = (at + 77_777) % 290_000
                assert file.read_at(at, 5000) == expected[at:at + 5000]
        threads = [threading.Thread(target=read) for _ in range(4)]
        [it.start() for it in threads]
        inherited, plan, view = cache.open({path!r}), cache.plan(), cache.open({path!r}).view(0, 100)
        for _ in range(20):
            child = os.fork()
            if child == 0:
                plan.range(inherited, 0, 10_000)
                good = inherited.read_at(70_000, 9) == expected[70_000:70_009] and bytes(view) == expected[:100]
                del inherited, plan, view, cache
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        [it.join() for it in threads]
        print("done")
    """)


def test_a_child_that_runs_to_its_end_ends(program, path):
    assert program(f"""
        import os, foresee
        file = foresee.open({path!r})
        file.read_at(0, 10); view = file.view(0, 10); plan = file.cache.plan().range(file, 0, 100)
        if os.fork() == 0:
            print(file.read_at(3, 1)[0], bytes(view)[3])
        else:
            assert os.wait()[1] == 0
    """) == f"{A[3]} {A[3]}\n"


def test_an_inherited_file_that_changed_says_so(program, path):
    assert "open it again" in program(f"""
        import os, foresee
        file = foresee.open({path!r})
        file.read_at(0, 10)
        open({path!r}, "ab").write(b"more")
        if os.fork() == 0:
            try:
                file.read_at(100_000, 10)
            except foresee.Changed as error:
                print(error)
        else:
            os.wait()
    """)


@pytest.fixture
def elsewhere(path, tmp_path, monkeypatch):
    """To go there: another file has the same name there."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_bytes(content(300_000, 5))
    monkeypatch.chdir(tmp_path)
    return lambda: monkeypatch.chdir(tmp_path / "elsewhere")


def test_a_path_is_of_the_directory_in_which_it_was_opened(elsewhere, tmp_path):
    cache = foresee.Cache(16 << 20)
    files = [cache.open("f"), cache.open(b"./f"), cache.open("file://elsewhere/../f"), *cache.open_all(["f"]),
             asyncio.run(cache.open_async("f"))]
    shown = [(file.url, repr(file)) for file in files]
    elsewhere()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert [came for came, _ in pool.starmap(part, [(file, 200_000) for file in files])] == [A[200_000:201_000]] * 5
    child = os.fork()
    if child == 0:
        os._exit(0 if all(file.read_at(200_000, 9) == A[200_000:200_009] for file in files) else 1)
    assert os.waitpid(child, 0)[1] == 0
    again = pickle.loads(pickle.dumps(files))
    assert [file.read_at(100_000, 9) for file in again] == [A[100_000:100_009]] * 5
    assert [(file.url, repr(file)) for file in again] == shown and shown[0] == ("f", "<foresee.File 'f'>")


def test_stores_and_plans_are_of_the_directory_in_which_they_were_named(elsewhere):
    cache = foresee.Cache(16 << 20)
    store, plan = foresee.obspec.Store(".", cache=cache), cache.plan().url("f")
    while cache.statistics()["planned"]["fetched"] == 0:
        pass
    file = cache.open("f")
    elsewhere()
    assert store.get_range("f", start=5, length=5) == file.read_at(5, 5) == A[5:10]
    assert cache.statistics()["misses"] == 0
    plan.close()


def test_a_path_of_a_store_of_its_own_is_what_was_said():
    assert foresee.Cache(16 << 20, stores={"file": Store(f=A)}).open("f").read() == A


def test_pickles_are_settings(path):
    cache = foresee.Cache(16 << 20, block_bytes=4096, policy="readahead:keep=lru")
    file = cache.open(path)
    file.seek(5)
    again = pickle.loads(pickle.dumps(file))
    assert again.cache is cache and (again.tell(), again.read(3)) == (5, A[5:8])
    with pytest.raises(TypeError, match="make one where"):
        pickle.dumps(cache.plan())
    reader = pickle.loads(pickle.dumps(cache.reader()))
    assert reader.open(path).read_at(0, 5) == A[:5]
    # In a process that never saw it, what is unpickled twice is one cache.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        keys = pool.map(same, [(cache, cache.open(path))] * 2)
    assert keys == [(True, 4096)] * 2


def same(pair):
    cache, file = pair
    return file.cache is cache, cache.statistics()["block_bytes"]


SLOW = """
    import foresee, os, signal, sys, threading, time
    begun = threading.Event()
    class Slow:
        size, version, waits = 100_000, 1, False
        def open_waits(self):
            self.waits = True
        def open(self, name):
            return self.read(0, 0) if self.waits else self
        def list(self, prefix):
            return self.read(0, 0)
        def read(self, offset, size):
            begun.set()
            time.sleep(3600)
    slow = Slow()
    cache = foresee.Cache(16 << 20, stores={"slow": slow})
    file = cache.open("slow://x")
"""


@pytest.mark.parametrize("wait", [
    "file.read_at(0, 10)", "file.view(20_000, 10)", "file.readinto(bytearray(9))", "file.views(0, 10)",
    'slow.open_waits(), cache.open("slow://y")', 'cache.list("slow://")', 'slow.open_waits(), cache.open_all(["slow://y"])',
])
def test_who_waits_can_be_interrupted(program, wait):
    assert program(SLOW + f"""
    threading.Thread(target=lambda: (begun.wait(), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
    try:
        {wait}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """) == "interrupted\n"


@pytest.mark.parametrize("wait", ["file.read_at(0, 100_000)", "file.view(0, 10)", "file.readinto(bytearray(100_000))"])
@pytest.mark.parametrize("waits", ["main", "other"])
def test_other_threads_go_on_while_one_waits(program, waits, wait):
    assert program(f"""
    import foresee, threading, time
    asked, goes_on, turns = threading.Event(), threading.Event(), 0
    class Slow:
        size, version = 100_000, 1
        def open(self, name):
            return self
        def read(self, offset, size):
            asked.set()
            goes_on.wait()
            return bytes(size)
    file = foresee.Cache(16 << 20, stores={{"slow": Slow()}}).open("slow://x")

    def turn():
        global turns
        asked.wait()
        for turns in range(1000):
            time.sleep(0)
        goes_on.set()

    def wait():
        assert {wait}
        # It ended after all the turns, for nobody lets it go on before.
        print(turns)
    ways = [turn, wait] if {waits == "main"} else [wait, turn]
    other = threading.Thread(target=ways[0])
    other.start()
    ways[1]()
    other.join()
    """) == "999\n"


@pytest.mark.parametrize("left", [
    "threading.Thread(target=lambda: file.read_at(0, 10), daemon=True).start(); begun.wait()",
    "plan = cache.plan().range(file, 0, 50_000); begun.wait()",
    "plan = cache.plan(); plan.generate((time.sleep(3600), file, 1) for _ in range(3)); time.sleep(0.1)",
    "import asyncio; loop = asyncio.new_event_loop(); task = loop.create_task(file.read_at_async(0, 1)); loop.run_until_complete("
    "asyncio.sleep(0.1)); task.cancel()",
])
def test_the_interpreter_ends_while_a_store_is_waited_for(program, left):
    assert "Fatal" not in program(SLOW + f"""
    {left}
    print("end")
    """)


def test_the_interpreter_ends_with_views_alive(program, path):
    assert program(f"""
        import foresee, sys
        file = foresee.open({path!r})
        views = file.views(0, 100_000)
        cycle = [views, memoryview(views[0])]; cycle.append(cycle)
        sys.modules["kept"] = cycle, file, file.cache.plan().file(file)
        print(len(views))
    """) == "7\n"


def test_threads_read_side_by_side(path):
    import threading
    cache, wrong = foresee.Cache(1 << 20, block_bytes=4096), []

    def read(seed):
        file, at = cache.reader().open(path), seed
        for _ in range(300):
            at = (at * 31 + 7777) % 290_000
            if file.read_at(at, 9000) != A[at:at + 9000] or bytes(file.view(at, 9)) != A[at:at + min(9, 4096 - at % 4096)]:
                wrong.append(at)
    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_interpreter_ends_while_stores_answer(program):
    program("""
        import foresee, time
        class Store:
            size, version = 100_000_000, 1
            def open(self, name):
                return self
            def read(self, offset, size):
                time.sleep(0.0001 * (offset // 16384 % 7))
                return bytes(size)
        cache = foresee.Cache(64 << 20, stores={"slow": Store()})
        files = [cache.open(f"slow://{at}") for at in range(8)]
        plan = cache.plan()
        plan.generate((files[at % 8], at * 16384, at * 16384 + 1) for at in range(6000))
        for at in range(20):
            files[at % 8].read_at(at * 16384, 1)
    """)


@pytest.mark.parametrize("late, said", [
    ("asyncio.run(file.read_at_async(0, 10))", "RuntimeError: the interpreter ends"),
    ("cache.open_all(['/dev/null'])", "RuntimeError: the interpreter ends"),
    ("loop.run_until_complete(task)", "RuntimeError: the interpreter ends"), ("print(len(file.read_at(0, 10)))", "10"),
])
def test_what_is_read_when_the_interpreter_ends_is_read_or_told(program, path, late, said):
    assert said in program(f"""
        import atexit
        @atexit.register
        def bye():
            {late}
        import asyncio, foresee, threading
        class Hung:
            size, version = 100_000, 1
            def open(self, name):
                return self
            def read(self, offset, size):
                threading.Event().wait()
        cache = foresee.Cache(16 << 20, stores={{"hung": Hung()}})
        file, loop = cache.open({path!r}), asyncio.new_event_loop()
        task = loop.create_task(cache.open("hung://x").read_at_async(0, 10))
        loop.run_until_complete(asyncio.sleep(0.1))
    """)


@pytest.mark.parametrize("first", ["", "import foresee; foresee.default_cache()"])
def test_another_interpreter_of_the_process_is_refused(program, path, first):
    pytest.importorskip("_xxsubinterpreters")
    assert program(f"""
        import _xxsubinterpreters as interpreters
        {first}
        lines = ["import foresee", "foresee.hint_repeat", "try:", "    foresee.open({path!r}).read()", "except ImportError as error:",
                 "    print('refused:', error, flush=True)"]
        interpreters.run_string(interpreters.create(), chr(10).join(lines))
    """).startswith("refused: ")
