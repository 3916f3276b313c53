"""For PyTorch: a dataset of records in files, and a batch sampler that discloses in which order they will be read.

    dataset = foresee.torch.Records([(url, start, stop), ...], decode=decode)
    sampler = foresee.torch.BatchSampler(dataset, 64, seed=1)
    loader = torch.utils.data.DataLoader(dataset, batch_sampler=sampler, num_workers=2, persistent_workers=True)

The order of an epoch follows from the seed and its number, so whoever reads knows it: the process itself, or each worker, which reads
one batch in so many. Each discloses what it will read, in this epoch and the next ones, to its own cache; or, of files on a `foresee
mount`, by the hint calls to the mount, whose one memory all workers share (`Records(..., shared=True)`). Without a mount, each worker has
its part of the cache's memory, so that a machine's workers take no more than was said.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch.utils.data

from .address import absolute, here
from .cache import Cache, default_cache
from .hints import cancel, hint_segments


class Order:
    """In which order records are read, epoch after epoch.

    Examples
    --------
    >>> from foresee.torch import Order
    >>> order = Order(5, 2, seed=1)
    >>> order.batches(0) == order.batches(0) != order.batches(1), sorted(sum(order.batches(3), []))
    (True, [0, 1, 2, 3, 4])
    """

    def __init__(self, records: int, batch_size: int, *, seed: int = 0, shuffle: bool = True, drop_last: bool = False,
                 epochs: int | None = None) -> None:
        if batch_size < 1:
            raise ValueError(f"batches of {batch_size}: at least 1")
        self.records, self.batch_size, self.seed, self.shuffle, self.epochs = records, batch_size, seed, shuffle, epochs
        self.count = records // batch_size if drop_last else -(-records // batch_size)

    def batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch."""
        records = list(range(self.records))
        if self.shuffle:
            random.Random(f"{self.seed}/{epoch}").shuffle(records)
        return [records[at * self.batch_size:(at + 1) * self.batch_size] for at in range(self.count)]

    def share(self, first_epoch: int, worker: int, workers: int) -> Iterator[int]:
        """What a worker reads from an epoch on."""
        for epoch in itertools.count(first_epoch) if self.epochs is None else range(first_epoch, self.epochs):
            for batch in self.batches(epoch)[worker::workers]:
                yield from batch


class _Files(dict):
    """Those that a process has open of a cache, by their URLs."""

    def __init__(self, cache, directory):
        self._cache, self._directory = cache, directory

    def __missing__(self, url):
        self[url] = file = self._cache.open(self._cache._address(url, self._directory))
        return file

    def __reduce__(self):
        return _Files, (self._cache, self._directory)


class _Cached:
    """Reads through a cache of this process."""

    def __init__(self, cache):
        self.cache, self._files, self._plan = cache, _Files(cache, here()), None

    def __getstate__(self):
        # A plan is a process's own.
        return {**self.__dict__, "_plan": None}

    def begin(self, workers):
        """Before all else in a process, which is one of so many."""
        self.cache._among(workers)

    def read(self, url, start, stop):
        return self._files[url].read_at(start, stop - start)

    def disclose(self, ranges, each_epoch):
        if self._plan is not None:
            self._plan.close()
        self._plan, files = self.cache.plan(), self._files
        # It refers to nothing that has the plan: without a cycle, what nobody has is gone at once.
        self._plan.generate((files[url], start, stop) for url, start, stop in ranges)


class _Shared:
    """Reads files by their paths, and says so by hints: who hears them is below the files, and one for all processes."""

    # A call says what is next in one file, and takes some 0.3 ms: where each record is a file of its own, these many take 0.1 s.
    STEP = 256

    def __init__(self, directory=None):
        self._directory = directory or here()
        self._begin(iter(()), 0)

    def __reduce__(self):
        return _Shared, (self._directory,)

    def begin(self, workers):
        """The memory is the mount's."""

    def read(self, path, start, stop):
        self._say_more()
        with open(absolute(path, self._directory), "rb", buffering=0) as file:
            parts = []
            while start < stop and (part := os.pread(file.fileno(), stop - start, start)):
                parts.append(part)
                start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def disclose(self, ranges, each_epoch):
        """So many records as this process reads in each epoch are disclosed ahead, for a cache to know what is read again."""
        cancel()
        self._begin(ranges, each_epoch)

    def _begin(self, ranges, each_epoch):
        self._ranges, self._most, self._ahead, self._due = ranges, each_epoch + self.STEP, 0, 0

    def _say_more(self):
        """Twice as many as were read since, until an epoch is ahead."""
        if self._due == 0:
            said = list(itertools.islice(self._ranges, min(2 * self.STEP, self._most - self._ahead)))
            for path, segments in itertools.groupby(said, lambda it: it[0]):
                # What is not there is an error for who reads it.
                with contextlib.suppress(OSError):
                    hint_segments(absolute(path, self._directory), [(start, stop - start) for _, start, stop in segments])
            self._ahead, self._due = self._ahead + len(said), self.STEP
        self._ahead, self._due = max(self._ahead - 1, 0), self._due - 1


class Records(torch.utils.data.Dataset):
    """Records that are ranges of files.

    Parameters
    ----------
    ranges : sequence of (str, int, int)
        Of each record: the URL of its file, where it begins and where it ends. A relative path is of the working directory that there
        is now.
    decode : callable, optional
        What a record's bytes become.
    cache : Cache, optional
        `default_cache` unless given. Each worker has one of these settings, and its part of the memory: so many workers take no more
        than one process would.
    shared : bool
        Read files by their paths, on a `foresee mount` or under `foresee run`, without a cache in this process: what is disclosed goes to
        the mount by the hint calls, and all workers share its memory. A new order withdraws all hints of the process. Where nobody
        hears hints, files are read and nothing is read ahead.
    """

    def __init__(self, ranges: Sequence[tuple[str, int, int]], *, decode: Callable[[bytes], Any] | None = None,
                 cache: Cache | None = None, shared: bool = False) -> None:
        if shared and cache is not None:
            raise ValueError("shared: files are read by their paths, through no cache of this process; give one or the other")
        self.ranges, self.decode = ranges, decode
        urls = (_range(ranges, index)[0] for index in range(len(ranges)))
        if shared and (url := next((url for url in urls if "://" in url), None)):
            raise ValueError(f"shared: {url} is no path; mount it with 'foresee mount', and say where it is below the mount")
        self._reader = _Shared() if shared else _Cached((cache or default_cache()).reader())
        self._disclosed, self._order = None, None

    def __getstate__(self):
        return {**self.__dict__, "_disclosed": None}

    @property
    def cache(self) -> Cache | None:
        """The cache it reads through; none if shared."""
        return getattr(self._reader, "cache", None)

    def __len__(self) -> int:
        return len(self.ranges)

    def __getitem__(self, index: int) -> Any:
        self._disclose()
        record = self._reader.read(*_range(self.ranges, index))
        return record if self.decode is None else self.decode(record)

    def follow(self, order: Order, epoch: int) -> None:
        """From now on records are read in an order, which begins with an epoch."""
        self._order = order, epoch

    def _disclose(self):
        worker = torch.utils.data.get_worker_info()
        place = (0, 1) if worker is None else (worker.id, worker.num_workers)
        self._reader.begin(place[1])
        # A forked worker has disclosed nothing yet.
        due = self._order and (*self._order, *place, os.getpid())
        if due != self._disclosed:
            self._disclosed = due
            order, epoch, worker, workers, _ = due
            ranges = map(functools.partial(_range, self.ranges), order.share(epoch, worker, workers))
            self._reader.disclose(ranges, -(-len(self.ranges) // workers))


def _range(ranges, index):
    item = ranges[index]
    try:
        url, start, stop = item
        is_range = 0 <= operator.index(start) <= operator.index(stop)
    except (TypeError, ValueError):
        is_range = False
    if not is_range:
        raise ValueError(f"ranges[{index}]: a URL, where its bytes begin and where they end are needed, not {item!r}")
    return url, start, stop


class BatchSampler(torch.utils.data.Sampler):
    """Batches of `Records` in an order that is disclosed.

    Parameters
    ----------
    dataset : Records
    batch_size : int
    seed : int
        Equal seeds are equal orders.
    shuffle, drop_last : bool
        As of a DataLoader.
    epochs : int, optional
        How many there will be, so that nothing is brought for a next one after the last.
    """

    def __init__(self, dataset: Records, batch_size: int, *, seed: int = 0, shuffle: bool = True, drop_last: bool = False,
                 epochs: int | None = None) -> None:
        self.dataset, self.epoch = dataset, 0
        self.order = Order(len(dataset), batch_size, seed=seed, shuffle=shuffle, drop_last=drop_last, epochs=epochs)
        self._left = True

    def __len__(self) -> int:
        return self.order.count

    def __iter__(self) -> Iterator[list[int]]:
        """An epoch. One that follows on a whole one was disclosed with it."""
        # Loaders with workers ask for an iterator twice before they use one: nothing has begun yet.
        if self._left:
            self.dataset.follow(self.order, self.epoch)
        return self._next_epoch()

    def _next_epoch(self):
        epoch, self._left = self.epoch, True
        self.epoch += 1
        yield from self.order.batches(epoch)
        self._left = False
