"""h5py, zarr and obspec: reads, and plans of the chunks that a selection touches."""

import asyncio

import pytest

import foresee
import foresee.obspec
from conftest import content
from foresee.chunks import touched

numpy = pytest.importorskip("numpy")


@pytest.fixture
def cache():
    return foresee.Cache(16 << 20, block_bytes=4096, max_age=60)


@pytest.mark.parametrize("selection", [
    3, -1, (slice(2, 9), 4), ..., (..., 2), (1, ..., slice(None, None, 5)), (slice(7, 2, -1),), (slice(5, 5),),
    (slice(None), slice(3, None), 6)])
def test_the_chunks_of_a_selection_are_those_that_it_touches(selection):
    shape, chunks = (11, 9, 14), (4, 2, 5)
    places = numpy.zeros(shape, bool)
    places[selection] = True
    expected = {tuple(at // size for at, size in zip(place, chunks)) for place in zip(*map(list, numpy.nonzero(places)))}
    found = list(touched(selection, shape, chunks))
    assert sorted(found) == sorted(set(found)) == sorted(expected)


def test_the_chunks_of_nothing_that_is_there():
    with pytest.raises(IndexError):
        list(touched(11, (11,), (4,)))
    with pytest.raises(IndexError):
        list(touched((1, 2), (11,), (4,)))


def test_a_plane_of_a_volume_is_one_batch(cache, tmp_path):
    h5py, planner = pytest.importorskip("h5py"), pytest.importorskip("foresee.h5py")
    volume = numpy.arange(40 * 40 * 40, dtype="f8").reshape(40, 40, 40)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_dataset("chunked", data=volume, chunks=(10, 10, 10))
        file.create_dataset("contiguous", data=volume)
        file.create_dataset("sparse", shape=(40,), chunks=(10,), dtype="f8")
    with cache.open(tmp_path / "v.h5") as file, h5py.File(file) as opened:
        with planner.plan(file, opened["chunked"], numpy.s_[:, :, 17]) as plan:
            planner.plan(file, opened["contiguous"], into=plan)
            planner.plan(file, opened["sparse"], into=plan)
            assert numpy.array_equal(opened["chunked"][:, :, 17], volume[:, :, 17])
            assert numpy.array_equal(opened["contiguous"], volume) and opened["sparse"][3] == 0
    assert cache.statistics()["planned"]["fetched"] >= 16 * 2


def test_zarr_reads_through_a_store(cache, tmp_path):
    zarr, ours = pytest.importorskip("zarr"), pytest.importorskip("foresee.zarr")
    volume = numpy.arange(60 * 60, dtype="i4").reshape(60, 60)
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("plain", data=volume, chunks=(20, 20))
    group.create_array("sharded", data=volume, chunks=(10, 10), shards=(30, 30))
    store = ours.Store(str(tmp_path / "g.zarr"), cache=cache)
    group = zarr.open_group(store, mode="r")
    for name, chunks in [("plain", 3), ("sharded", 2)]:
        array = group[name]
        with ours.plan(array, numpy.s_[:, 25]):
            while cache.statistics()["planned"]["fetched"] < chunks:
                pass
            assert numpy.array_equal(array[:, 25], volume[:, 25])
        assert numpy.array_equal(array[...], volume)
    assert sorted(group) == ["plain", "sharded"] and "plain/zarr.json" in set(zarr.core.sync.sync(collected(store.list())))
    with pytest.raises(ValueError):
        group.create_array("more", data=volume)
    assert store == ours.Store(str(tmp_path / "g.zarr"), cache=cache) != ours.Store(str(tmp_path), cache=cache)


def test_a_zarr_store_names_its_place_and_plans_are_of_one(cache, tmp_path):
    zarr, ours = pytest.importorskip("zarr"), pytest.importorskip("foresee.zarr")
    zarr.create_array(tmp_path / "a.zarr", data=numpy.arange(60), chunks=(20,))
    store = ours.Store(str(tmp_path / "a.zarr"), cache=cache)
    assert str(store) == f"foresee:{tmp_path}/a.zarr" and repr(store) == f"<foresee.zarr.Store '{tmp_path}/a.zarr'>"
    with pytest.raises(TypeError, match="an array of a foresee.zarr.Store is needed.*not one of.*a.zarr"):
        ours.plan(zarr.open_array(tmp_path / "a.zarr"), 3)
    wrong = [([1, 2], r"\[1, 2\]"), (numpy.zeros(60, bool), "array"), (None, "None"), ((slice(3), "x"), "'x'"), (1.5, "1.5")]
    for selection, shown in wrong:
        with pytest.raises(TypeError, match=f"(?s)selection by {shown}.*; give integers, slices and ..."):
            ours.plan(zarr.open_array(store, mode="r"), selection)


async def collected(items):
    return [it async for it in items]


def test_ranges_by_obspec(cache, tmp_path):
    (tmp_path / "a").write_bytes(content(100_000))
    store = foresee.obspec.Store(str(tmp_path), cache=cache)
    assert store.get_range("a", start=7, end=9) == store.get_range("a", start=7, length=2) == content(9)[7:]
    ranges = dict(starts=[0, 50_000, 99_990], lengths=[5, 6, 100])
    expected = [content(100_000)[start:start + length] for start, length in zip(*ranges.values())]
    assert store.get_ranges("a", **ranges) == expected == asyncio.run(store.get_ranges_async("a", **ranges))
    assert store.head("a")["size"] == asyncio.run(store.head_async("a"))["size"] == 100_000
    for wrong in [dict(starts=[0]), dict(starts=[0], ends=[1], lengths=[1]), dict(starts=[0], ends=[1, 2])]:
        with pytest.raises(ValueError):
            store.get_ranges("a", **wrong)
