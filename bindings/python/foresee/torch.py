"""For PyTorch: a dataset of records in files, and a batch sampler that discloses in which order they will be read.

    dataset = foresee.torch.Records([(url, start, stop), ...], decode=decode)
    sampler = foresee.torch.BatchSampler(dataset, 64, seed=1)
    loader = torch.utils.data.DataLoader(dataset, batch_sampler=sampler, num_workers=2, persistent_workers=True)

The order of an epoch follows from the seed and its number, so whoever reads knows it: the process itself, or each worker, which reads
one batch in so many. Each discloses what it will read, in this epoch and the next ones, to its own cache.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch.utils.data

from .cache import Cache, default_cache


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


class Records(torch.utils.data.Dataset):
    """Records that are ranges of files.

    Parameters
    ----------
    ranges : sequence of (str, int, int)
        Of each record: the URL of its file, where it begins and where it ends.
    decode : callable, optional
        What a record's bytes become.
    cache : Cache, optional
        `default_cache` unless given. Each worker has one of these settings: memory times workers.
    """

    def __init__(self, ranges: Sequence[tuple[str, int, int]], *, decode: Callable[[bytes], Any] | None = None,
                 cache: Cache | None = None) -> None:
        self.ranges, self.decode = ranges, decode
        self.cache = (cache or default_cache()).reader()
        self._files, self._plan, self._disclosed, self._order = {}, None, None, None

    def __getstate__(self):
        # Files and plans are a process's own.
        return {**self.__dict__, "_files": {}, "_plan": None, "_disclosed": None}

    def __len__(self) -> int:
        return len(self.ranges)

    def __getitem__(self, index: int) -> Any:
        self._disclose()
        url, start, stop = self.ranges[index]
        record = self._file(url).read_at(start, stop - start)
        return record if self.decode is None else self.decode(record)

    def _file(self, url):
        if url not in self._files:
            self._files[url] = self.cache.open(url)
        return self._files[url]

    def follow(self, order: Order, epoch: int) -> None:
        """From now on records are read in an order, which begins with an epoch."""
        self._order = order, epoch

    def _disclose(self):
        worker = torch.utils.data.get_worker_info()
        place = (0, 1) if worker is None else (worker.id, worker.num_workers)
        due = self._order and (*self._order, *place)
        if due == self._disclosed:
            return
        if self._plan is not None:
            self._plan.close()
        self._disclosed, self._plan = due, self.cache.plan()
        order, epoch, *place = due
        self._plan.generate((self._file(url), start, stop) for url, start, stop in map(self.ranges.__getitem__, order.share(epoch, *place)))


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
