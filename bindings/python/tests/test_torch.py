"""Loaders in the order that their sampler disclosed."""

import pytest

import foresee
from conftest import content

torch = pytest.importorskip("torch")
from foresee.torch import BatchSampler, Order, Records  # noqa: E402

A = content(400_000)


@pytest.fixture
def records(tmp_path):
    (tmp_path / "f").write_bytes(A)
    cache = foresee.Cache(600_000, block_bytes=4096)
    return Records([(str(tmp_path / "f"), at * 4000, at * 4000 + 4000) for at in range(100)], decode=lambda it: it[:2], cache=cache)


def first(it):
    return it


@pytest.mark.parametrize("method, workers", [(None, 0), ("fork", 2), ("spawn", 2), ("forkserver", 2)])
def test_each_epoch_reads_each_record_once(records, method, workers):
    records.decode = head
    sampler = BatchSampler(records, 7, seed=3, epochs=3)
    loader = torch.utils.data.DataLoader(records, batch_sampler=sampler, num_workers=workers, multiprocessing_context=method,
                                         persistent_workers=workers > 0, collate_fn=first)
    orders = [[it for batch in loader for it in batch] for _ in range(3)]
    assert [sorted(it) for it in orders] == [sorted(A[at * 4000:at * 4000 + 2] for at in range(100))] * 3
    assert orders[0] != orders[1] and len(loader) == 15
    assert orders[2] == [A[at * 4000:at * 4000 + 2] for batch in sampler.order.batches(2) for at in batch]


def head(record):
    return record[:2]


def test_the_next_epoch_is_brought_in_this_one(records):
    sampler = BatchSampler(records, 10, epochs=2)
    loader = torch.utils.data.DataLoader(records, batch_sampler=sampler)
    for _ in range(2):
        assert sum(1 for _ in loader) == 10
    counted = records.cache.statistics()
    assert counted["planned"]["timely"] + counted["planned"]["late"] > 50


def test_an_epoch_that_was_left_is_not_gone_on_with(records):
    sampler = BatchSampler(records, 10)
    loader = torch.utils.data.DataLoader(records, batch_sampler=sampler)
    for _ in loader:
        break
    assert sum(len(batch[0]) if isinstance(batch, list) else 1 for batch in loader) and sampler.epoch == 2


def test_workers_share_an_order():
    order = Order(103, 10, seed=1, epochs=2)
    shares = [list(order.share(0, worker, 3)) for worker in range(3)]
    assert sorted(sum(shares, [])) == sorted(list(range(103)) * 2)
    assert Order(103, 10, drop_last=True).count == 10 and Order(3, 2, shuffle=False).batches(5) == [[0, 1], [2]]
    with pytest.raises(ValueError):
        Order(3, 0)
