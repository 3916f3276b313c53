"""Ranges of objects by obspec's protocols: ``head``, ``get_range``, ``get_ranges`` and their asynchronous twins."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from typing import Any

from .cache import Cache, default_cache


class Store:
    """Objects below a URL, for whatever takes obspec's ``GetRange`` and ``GetRanges``.

    Each object is opened once, and is of one version for as long as the store is there.

    Parameters
    ----------
    url : str
        What paths are below.
    cache : Cache, optional
        `default_cache` unless given.

    Examples
    --------
    >>> store = foresee.obspec.Store("s3://bucket")  # doctest: +SKIP
    >>> store.get_ranges("volume.h5", starts=[0, 5000], lengths=[100, 100])  # doctest: +SKIP
    """

    def __init__(self, url: str, *, cache: Cache | None = None) -> None:
        self.cache, self._files = (cache or default_cache()).reader(), {}
        self.url = self.cache._address(url).rstrip("/")

    def _file(self, path):
        return self._files.get(path) or self._files.setdefault(path, self.cache.open(f"{self.url}/{path}"))

    async def _file_async(self, path):
        return self._files.get(path) or self._files.setdefault(path, await self.cache.open_async(f"{self.url}/{path}"))

    def head(self, path: str) -> dict[str, Any]:
        """What is known of an object."""
        return _said(path, self._file(path))

    async def head_async(self, path: str) -> dict[str, Any]:
        """As `head`, for coroutines."""
        return _said(path, await self._file_async(path))

    def get_range(self, path: str, *, start: int, end: int | None = None, length: int | None = None) -> bytes:
        """Bytes of an object."""
        return self._file(path).read_at(start, _length(start, end, length))

    async def get_range_async(self, path: str, *, start: int, end: int | None = None, length: int | None = None) -> bytes:
        """As `get_range`, for coroutines."""
        return await (await self._file_async(path)).read_at_async(start, _length(start, end, length))

    def get_ranges(self, path: str, *, starts: Sequence[int], ends: Sequence[int] | None = None,
                   lengths: Sequence[int] | None = None) -> list[bytes]:
        """Bytes of an object in many places, fetched as one batch."""
        file, ranges = self._file(path), _ranges(starts, ends, lengths)
        with self.cache.plan() as plan:
            plan.ranges(file, [(start, start + length) for start, length in ranges])
            return [file.read_at(*it) for it in ranges]

    async def get_ranges_async(self, path: str, *, starts: Sequence[int], ends: Sequence[int] | None = None,
                               lengths: Sequence[int] | None = None) -> list[bytes]:
        """As `get_ranges`, for coroutines."""
        file, ranges = await self._file_async(path), _ranges(starts, ends, lengths)
        with self.cache.plan() as plan:
            plan.ranges(file, [(start, start + length) for start, length in ranges])
            return await asyncio.gather(*(file.read_at_async(*it) for it in ranges))


def _said(path, file):
    # The engine knows no times.
    unknown = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    return {"path": path, "size": file.size, "e_tag": file.version, "version": None, "last_modified": unknown}


def _length(start, end, length):
    if (end is None) == (length is None):
        raise ValueError("either end or length is needed")
    return end - start if length is None else length


def _ranges(starts, ends, lengths):
    given = ends if lengths is None else lengths
    if (ends is None) == (lengths is None) or len(given) != len(starts):
        raise ValueError("either ends or lengths is needed, one for each start")
    return [(start, _length(start, None if ends is None else it, None if lengths is None else it)) for start, it in zip(starts, given)]
