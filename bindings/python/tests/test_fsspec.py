"""The filesystem, the cache of open files, and who reads through them."""

import io
import pickle

import pytest

import foresee
from conftest import content

fsspec = pytest.importorskip("fsspec")
A, B = content(300_000), content(200_000, 1)


@pytest.fixture
def memory():
    other = fsspec.filesystem("memory")
    other.pipe_file("/data/a", A)
    other.pipe_file("/data/b", B)
    yield other
    other.rm("/data", recursive=True)


@pytest.fixture
def ours(memory):
    return fsspec.filesystem("foresee", fs=memory, skip_instance_cache=True)


def test_it_is_known_by_its_name_and_chains(memory, tmp_path):
    (tmp_path / "f").write_bytes(A)
    with fsspec.open(f"foresee::{tmp_path}/f") as file:
        assert isinstance(file, foresee.File) and file.read() == A
    with fsspec.open("foresee::memory://data/a", "rb") as file:
        assert file.read(10) == A[:10]
    (tmp_path / "text").write_text("one\ntwo\n")
    with fsspec.open(f"foresee::file://{tmp_path}/text", "rt") as file:
        assert file.readlines() == ["one\n", "two\n"]
    one, _ = fsspec.url_to_fs("foresee::memory://data/a", foresee={"memory": 1 << 24})
    other, path = fsspec.url_to_fs("foresee::memory://data/b", foresee={"memory": 1 << 24})
    assert one is other and other.cat_file(path, 5, 9) == B[5:9]


def test_it_reads_as_the_other_does(ours, memory):
    assert ours.ls("/data", detail=False) == memory.ls("/data", detail=False)
    assert ours.info("/data/a")["size"] == 300_000 and ours.exists("/data/b") and not ours.exists("/data/c")
    for start, end in [(None, None), (5, 10), (-10, None), (290_000, 400_000), (10, 5)]:
        assert ours.cat_file("/data/a", start, end) == A[slice(start, end)]
    assert ours.cat_ranges(["/data/a", "/data/b", "/data/a"], [0, 5, 100], [10, 10, 200]) == [A[:10], B[5:10], A[100:200]]
    missing = ours.cat_ranges(["/data/a", "/data/c"], 0, 10)
    assert missing[0] == A[:10] and isinstance(missing[1], FileNotFoundError)
    assert ours.cat(["/data/a", "/data/b"]) == {"/data/a": A, "/data/b": B} and ours.cat("/data/b") == B
    assert ours.find("/data") == ["/data/a", "/data/b"] and ours.glob("/data/*") == ["/data/a", "/data/b"]
    with pytest.raises(FileNotFoundError):
        ours.open("/data/c")
    with pytest.raises(ValueError, match="target_protocol or fs"):
        fsspec.filesystem("foresee")


def test_what_is_written_is_read_afterwards(ours):
    assert ours.cat_file("/data/a", 0, 5) == A[:5]
    with ours.open("/data/a", "wb") as file:
        file.write(B)
    assert ours.cat_file("/data/a") == B
    ours.pipe_file("/data/new", b"new")
    ours.mv("/data/new", "/data/other")
    assert ours.cat_file("/data/other") == b"new"
    ours.rm("/data/other")
    assert not ours.exists("/data/other")


def test_what_was_read_is_not_fetched_again(ours, memory, monkeypatch):
    fetched = []
    fetch = memory.cat_file
    monkeypatch.setattr(memory, "cat_file", lambda *arguments, **kwargs: fetched.append(arguments) or fetch(*arguments, **kwargs))
    ours.cat_file("/data/a")
    once = len(fetched)
    with ours.open("/data/a") as file:
        assert file.read() == A
    assert once > 0 and len(fetched) == once


@pytest.mark.parametrize("key", ["ETag", "Last-Modified", "last_modified", "modificationTime", "Content-MD5"])
def test_what_is_opened_anew_is_what_is_there_by_then(ours, memory, monkeypatch, key):
    info, said = memory.info, ["1"]
    said_by_default = {key: None for key in ("created", "modified")}
    monkeypatch.setattr(type(memory), "info", lambda self, path, **_: info(path) | said_by_default | {key: said[0]})
    assert ours.cat_file("/data/b") == B
    memory.pipe_file("/data/b", A[:len(B)])
    said[0] = "2"
    with ours.open("/data/b") as file:
        assert file.read() == A[:len(B)]


def test_it_is_pickled_as_its_settings(tmp_path):
    (tmp_path / "f").write_bytes(A)
    ours = fsspec.filesystem("foresee", target_protocol="file")
    assert pickle.loads(pickle.dumps(ours)).cat_file(str(tmp_path / "f"), 0, 9) == A[:9]
    assert pickle.loads(pickle.dumps(ours.open(str(tmp_path / "f")))).read(9) == A[:9]


class Buffered(fsspec.AbstractFileSystem):
    """A filesystem whose files are of fsspec's own kind."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.fetched = []

    def info(self, path, **kwargs):
        return {"name": path, "size": len(A), "type": "file", "ETag": "1"}

    def _open(self, path, mode="rb", block_size=None, **kwargs):
        return BufferedFile(self, path, mode, block_size or 1 << 16, **kwargs)


class BufferedFile(fsspec.spec.AbstractBufferedFile):
    def _fetch_range(self, start, end):
        self.fs.fetched.append((start, end))
        return A[start:end]


def test_files_share_what_they_read_by_cache_type():
    other = Buffered(skip_instance_cache=True)
    for _ in range(2):
        with other.open("/x", cache_type="foresee", cache_options={"memory": 16 << 20}) as file:
            file.seek(100)
            assert file.read(200_000) == A[100:200_100]
        if _ == 0:
            once = len(other.fetched)
    assert len(other.fetched) == once > 0
    cache = fsspec.caching.caches["foresee"](1 << 16, lambda start, end: B[start:end], len(B))
    assert cache._fetch(7, 100_000) == B[7:100_000]


def test_pandas_and_pyarrow_read_parquet(ours):
    pandas, parquet = pytest.importorskip("pandas"), pytest.importorskip("pyarrow.parquet")
    table = pandas.DataFrame({"x": range(50_000), "y": [str(at) for at in range(50_000)]})
    packed = io.BytesIO()
    table.to_parquet(packed)
    ours.pipe_file("/data/t.parquet", packed.getvalue())
    assert pandas.read_parquet("/data/t.parquet", filesystem=ours).equals(table)
    assert parquet.read_table("/data/t.parquet", filesystem=ours, columns=["x"]).num_rows == 50_000
    ours.pipe_file("/data/t.csv", b"x,y\n1,2\n3,4\n")
    with fsspec.open("foresee::memory://data/t.csv", "rt") as file:
        assert pandas.read_csv(file).y.sum() == 6
    assert pandas.read_csv("foresee::memory://data/t.csv").x.sum() == 4


def test_duckdb_reads_parquet(ours):
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    for at in range(5):
        packed = io.BytesIO()
        pandas.DataFrame({"x": range(at * 100, at * 100 + 100)}).to_parquet(packed)
        ours.pipe_file(f"/data/d/{at}.parquet", packed.getvalue())
    with duckdb.connect() as connection:
        connection.register_filesystem(ours)
        assert connection.sql("select sum(x), count(*) from 'foresee:///data/d/*.parquet'").fetchall() == [(124750, 500)]


def test_xarray_and_h5netcdf_read_through_it(ours):
    xarray, numpy = pytest.importorskip("xarray"), pytest.importorskip("numpy")
    pytest.importorskip("h5netcdf")
    data = xarray.Dataset({"t": (("x", "y"), numpy.arange(200.0).reshape(20, 10))})
    ours.pipe_file("/data/d.nc", bytes(data.to_netcdf(engine="h5netcdf")))
    with ours.open("/data/d.nc") as file, xarray.open_dataset(file, engine="h5netcdf") as again:
        assert float(again.t.sum()) == 19900 and numpy.array_equal(again.t[3], data.t[3])


def test_who_sends_files_as_a_whole_is_told_apart_from_what_changed(ours, memory, monkeypatch):
    fetch, sends = memory.cat_file, [lambda all, start, end: all]
    monkeypatch.setattr(memory, "cat_file", lambda path, start=None, end=None: sends[0](fetch(path), start, end))
    with pytest.raises(OSError, match="/data/a: 300000 bytes came in place of .* as a whole alone") as raised:
        ours.cat_file("/data/a", 100_000, 100_010)
    assert not isinstance(raised.value, foresee.Changed)
    sends[0] = lambda all, start, end: all[start:end - 1]
    with pytest.raises(foresee.Changed):
        ours.cat_file("/data/a", 100_000, 100_010)


def test_the_rest_of_what_comes_in_smaller_parts_is_asked_for(ours, memory, monkeypatch):
    fetch = memory.cat_file
    monkeypatch.setattr(memory, "cat_file", lambda path, start, end: fetch(path, start=start, end=min(end, start + 50_000)))
    assert ours.cat_file("/data/a") == A
    with ours.open("/data/b") as file:
        memory.pipe_file("/data/b", B[:20_000])
        with pytest.raises(foresee.Changed) as raised:
            file.read()
    assert raised.value.filename == "/data/b"


def test_what_is_replaced_between_two_parts_is_not_taken_for_the_rest(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(A)
    local = fsspec.filesystem("file")
    fetch, other = local.cat_file, content(len(A), 2)

    def shortened(path, start, end):
        monkeypatch.setattr(local, "cat_file", fetch)
        came = fetch(path, start=start, end=end - 9)
        with open(path, "r+b") as file:
            file.write(other)
        return came

    with fsspec.filesystem("foresee", fs=local, skip_instance_cache=True).open(str(tmp_path / "f")) as file:
        monkeypatch.setattr(local, "cat_file", shortened)
        with pytest.raises(foresee.Changed):
            file.read(100_000)


@pytest.mark.parametrize("tag", ["1", "2"])
def test_so_are_parts_of_files_that_share(monkeypatch, tag):
    other = Buffered(skip_instance_cache=True)
    monkeypatch.setattr(BufferedFile, "_fetch_range", lambda self, start, end: A[start:min(end, start + 20_000)])
    with other.open(f"/parts {tag}", cache_type="foresee") as file:
        info = other.info
        monkeypatch.setattr(other, "info", lambda path, **_: info(path) | {"ETag": tag})
        if tag == "1":
            assert file.read() == A
        else:
            with pytest.raises(foresee.Changed):
                file.read()
    unknown = fsspec.caching.caches["foresee"](1 << 16, lambda start, end: B[start:min(end, start + 20_000)], len(B))
    with pytest.raises(foresee.Changed):
        unknown._fetch(0, len(B))


def test_what_fails_between_two_parts_is_no_change(ours, memory, monkeypatch):
    fetch, fails = memory.cat_file, [True]

    def capped(path, start, end):
        if fails and start % (64 << 10):
            raise TimeoutError("503")
        return fetch(path, start=start, end=min(end, start + 20_000))

    monkeypatch.setattr(memory, "cat_file", capped)
    with ours.open("/data/a") as file:
        with pytest.raises(OSError, match="503") as raised:
            file.read()
        assert not isinstance(raised.value, foresee.Changed)
        fails.clear()
        assert file.read_at(0, len(A)) == A


def test_errors_name_files_as_they_were_named(ours):
    with pytest.raises(FileNotFoundError) as raised:
        ours.open("/data/c")
    assert raised.value.filename == "/data/c"
