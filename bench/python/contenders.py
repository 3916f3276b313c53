"""One contender at one job, in a process of its own: `contenders.py JOB CONTENDER`; run.py starts it and counts what passes the link.

It prints a line of JSON when it begins, after each pass and at its end, and waits for one on its standard input.
"""

import itertools
import json
import os
import random
import sys
import time

MIB = 1 << 20
BUCKET = "data"
# What the loader's record takes to be looked at.
THINK_S = 0.002
RECORD, RECORDS, EPOCHS, BATCH = 64 << 10, 500, 3, 10
PASSES = 3


def mark(**said):
    print(json.dumps(said), flush=True)
    sys.stdin.readline()


def s3fs():
    import s3fs as module
    return module.S3FileSystem(key=os.environ["AWS_ACCESS_KEY_ID"], secret=os.environ["AWS_SECRET_ACCESS_KEY"],
                               client_kwargs={"endpoint_url": os.environ["AWS_ENDPOINT_URL"], "region_name": os.environ["AWS_REGION"]})


def chained(memory, **settings):
    import fsspec
    return fsspec.filesystem("foresee", fs=s3fs(), memory=memory, **settings)


def engine(memory, **settings):
    import foresee
    return foresee.Cache(memory, **settings)


def policy_of(by):
    """ARC of what is not read ahead, in place of the default, where the contender says so."""
    return {"policy": "readahead:keep=arc"} if by.endswith("arc") else {}


def passes(by):
    """Three passes over 64 MiB, 1 MiB at a time, with 32 MiB of cache."""
    memory = 32 * MIB
    if by in ("blockcache", "background", "adaptive", "readahead", "foresee cache_type"):
        import foresee.fsspec  # noqa: F401
        kind = by.split()[0]
        options = {"maxblocks": memory // MIB} if kind in ("blockcache", "background") else {"memory": memory} if kind == "foresee" else {}
        file = s3fs().open(f"{BUCKET}/cycle", block_size=MIB, cache_type=kind, cache_options=options)
        read = lambda at: (file.seek(at * MIB), file.read(MIB))  # noqa: E731
    elif by == "obspec-utils":
        import obstore.store
        from obspec_utils.wrappers import CachingReadableStore
        store = obstore.store.S3Store(BUCKET, client_options={"allow_http": True}, virtual_hosted_style_request=False)
        cached = CachingReadableStore(store, max_size=memory)
        read = lambda at: cached.get_range(f"parts.zarr/c/{at}", start=0, end=MIB)  # noqa: E731
    elif by.startswith("zarr"):
        import zarr
        from zarr.experimental.cache_store import CacheStore
        below = zarr.storage.FsspecStore.from_url(f"s3://{BUCKET}/parts.zarr", storage_options=dict(
            key=os.environ["AWS_ACCESS_KEY_ID"], secret=os.environ["AWS_SECRET_ACCESS_KEY"], endpoint_url=os.environ["AWS_ENDPOINT_URL"],
            client_kwargs={"region_name": os.environ["AWS_REGION"]}), read_only=True)
        array = zarr.open_array(CacheStore(below, cache_store=zarr.storage.MemoryStore(), max_size=memory), mode="r")
        read = lambda at: array[at * MIB:(at + 1) * MIB]  # noqa: E731
    elif by == "foresee::":
        file = chained(memory).open(f"{BUCKET}/cycle")
        read = lambda at: (file.seek(at * MIB), file.read(MIB))  # noqa: E731
    elif by == "foresee.zarr":
        import foresee.zarr
        import zarr
        array = zarr.open_array(foresee.zarr.Store(f"s3://{BUCKET}/parts.zarr", cache=engine(memory, max_age=3600)), mode="r")
        read = lambda at: array[at * MIB:(at + 1) * MIB]  # noqa: E731
    else:
        cache = engine(memory, **policy_of(by))
        file = cache.open(f"s3://{BUCKET}/cycle")
        plan = cache.plan()
        if "told" in by:
            plan.file(file).repeat(1, PASSES)
        read = lambda at: file.read_at(at * MIB, MIB)  # noqa: E731
    mark()
    for _ in range(PASSES):
        begun = time.monotonic()
        for at in range(64):
            read(at)
        mark(seconds=time.monotonic() - begun)


def plane(by):
    """One plane of a chunked volume, 66 chunks."""
    import h5py
    import numpy

    if by.startswith("s3fs"):
        file = s3fs().open(f"{BUCKET}/volume.h5", block_size=64 << 10, cache_type=by.split()[1])
    elif by.startswith("foresee::"):
        file = chained(256 * MIB).open(f"{BUCKET}/volume.h5")
    else:
        file = engine(256 * MIB).open(f"s3://{BUCKET}/volume.h5")
    with h5py.File(file) as volume:
        data = volume["data"]
        mark()
        begun, plan = time.monotonic(), None
        if "planned" in by:
            import foresee.h5py
            plan = foresee.h5py.plan(file, data, numpy.s_[20])
        assert data[20].sum() > 0
        mark(seconds=time.monotonic() - begun)
        del plan


def orders():
    for epoch in range(EPOCHS):
        order = list(range(RECORDS))
        random.Random(epoch).shuffle(order)
        yield order


class Plain:
    """Records of a dataset as they are read by s3fs, which each worker opens when it begins."""

    def __init__(self, blocks):
        self.blocks, self.file = blocks, None

    def __len__(self):
        return RECORDS

    def __getitem__(self, at):
        if self.file is None:
            options = {"maxblocks": self.blocks}
            self.file = s3fs().open(f"{BUCKET}/records", block_size=RECORD, cache_type="blockcache", cache_options=options)
        self.file.seek(at * RECORD)
        return self.file.read(RECORD)


def batches(by, memory):
    """Each epoch of a DataLoader's, so many workers of which have so much memory in all."""
    import torch.utils.data
    workers = int(by.split()[-1])
    settings = dict(num_workers=workers, persistent_workers=workers > 0, collate_fn=list)
    # Threads of s3fs's do not outlive a fork.
    settings["multiprocessing_context"] = "spawn" if workers else None
    if by.startswith("foresee"):
        from foresee.torch import BatchSampler, Records
        ranges = [(f"s3://{BUCKET}/records", at * RECORD, (at + 1) * RECORD) for at in range(RECORDS)]
        records = Records(ranges, cache=engine(memory, block_bytes=RECORD))
        return torch.utils.data.DataLoader(records, batch_sampler=BatchSampler(records, BATCH, epochs=EPOCHS), **settings)
    records = Plain(memory // RECORD // max(workers, 1))
    return torch.utils.data.DataLoader(records, BATCH, shuffle=True, **settings)


def loader(by):
    """Shuffled epochs of 31 MiB in half as much memory, 2 ms a record."""
    memory = RECORD * RECORDS // 2
    if "torch" in by:
        loads = batches(by, memory)
        mark()
        for _ in range(EPOCHS):
            begun, stalled, epoch = time.monotonic(), 0.0, iter(loads)
            while True:
                asked = time.monotonic()
                batch = next(epoch, ())
                stalled += time.monotonic() - asked
                if not batch:
                    break
                time.sleep(THINK_S * len(batch))
            mark(seconds=time.monotonic() - begun, stalled=stalled)
        return
    if by == "blockcache":
        file = s3fs().open(f"{BUCKET}/records", block_size=RECORD, cache_type="blockcache", cache_options={"maxblocks": memory // RECORD})
        read = lambda at: (file.seek(at * RECORD), file.read(RECORD))  # noqa: E731
    else:
        file = None
        if by.startswith("foresee::"):
            filesystem = chained(memory, block_bytes=RECORD)
            file, cache = filesystem.open(f"{BUCKET}/records"), filesystem.cache
        else:
            cache = engine(memory, block_bytes=RECORD, **policy_of(by))
            file = cache.open(f"s3://{BUCKET}/records")
        plan = cache.plan()
        if "told" in by:
            every = itertools.chain.from_iterable(orders())
            plan.generate((file, at * RECORD, (at + 1) * RECORD) for at in every)
        read = lambda at: file.read_at(at * RECORD, RECORD)  # noqa: E731
    mark()
    for order in orders():
        begun, stalled = time.monotonic(), 0.0
        for at in order:
            asked = time.monotonic()
            read(at)
            stalled += time.monotonic() - asked
            time.sleep(THINK_S)
        mark(seconds=time.monotonic() - begun, stalled=stalled)


def scan(by):
    """An object of 10 GiB in order, 1 MiB at a time."""
    if by == "foresee":
        file = engine(256 * MIB).open(f"s3://{BUCKET}/scan")
    elif by == "foresee::":
        file = chained(256 * MIB).open(f"{BUCKET}/scan")
    else:
        file = s3fs().open(f"{BUCKET}/scan", cache_type=by)
    mark()
    begun = time.monotonic()
    while file.read(MIB):
        pass
    mark(seconds=time.monotonic() - begun)


def tables(by):
    """2,000 Parquet files, by duckdb or by pandas."""
    library, _, over = by.partition(" over ")
    filesystem = s3fs() if over == "s3fs" else chained(256 * MIB)
    mark()
    begun = time.monotonic()
    if library == "duckdb":
        import duckdb
        scheme = "s3" if over == "s3fs" else "foresee"
        with duckdb.connect() as connection:
            connection.register_filesystem(filesystem)
            found = connection.sql(f"select sum(x) from '{scheme}://{BUCKET}/tables/*.parquet'").fetchall()[0][0]
    else:
        import pandas
        paths = filesystem.glob(f"{BUCKET}/tables/*.parquet")
        found = sum(int(pandas.read_parquet(path, filesystem=filesystem, columns=["x"]).x.sum()) for path in paths)
    mark(seconds=time.monotonic() - begun, found=int(found))


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
    # What is left open is not what is measured.
    os._exit(0)
