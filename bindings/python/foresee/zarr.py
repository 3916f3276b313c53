"""For zarr 3: a store that reads through a cache, and plans of the chunks that a selection touches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import zarr.abc.store

from .cache import Cache, Plan, default_cache
from .chunks import touched


class Store(zarr.abc.store.Store):
    """An array or a group below a URL, to be read: ``zarr.open_group(foresee.zarr.Store("s3://bucket/group.zarr"), mode="r")``.

    Each key that is read is opened, which asks the object store whether it is still the same, unless the cache has a ``max_age``.

    Parameters
    ----------
    url : str
        Where it is: of a scheme that the cache knows, or a path.
    cache : Cache, optional
        `default_cache` unless given.
    """

    supports_writes = supports_deletes = supports_partial_writes = False
    supports_listing = True

    def __init__(self, url: str, *, cache: Cache | None = None) -> None:
        super().__init__(read_only=True)
        self.cache = cache or default_cache()
        # A directory by its path, whose folders are walked.
        self.url = self.cache._address(url).removeprefix("file://").rstrip("/")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and (self.url, self.cache) == (other.url, other.cache)

    def __str__(self) -> str:
        return f"foresee:{self.url}"

    def __repr__(self) -> str:
        return f"<foresee.zarr.Store {self.url!r}>"

    def with_read_only(self, read_only: bool = False) -> Store:
        """It is, and stays so."""
        if not read_only:
            raise ValueError("a foresee.zarr.Store is to be read")
        return self

    async def _file(self, key):
        try:
            return await self.cache.open_async(f"{self.url}/{key}")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """As of any store."""
        file = await self._file(key)
        if file is None:
            return None
        start, end = _bounds(byte_range, file.size)
        return prototype.buffer.from_bytes(await file.read_at_async(start, end - start))

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
        """As of any store."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """As of any store."""
        return await self._file(key) is not None

    async def set(self, key: str, value: Any) -> None:
        """It is not done."""
        raise ValueError("a foresee.zarr.Store is to be read")

    async def delete(self, key: str) -> None:
        """It is not done."""
        raise ValueError("a foresee.zarr.Store is to be read")

    async def list(self) -> AsyncIterator[str]:
        """As of any store."""
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """As of any store."""
        for url in await self._below(f"{self.url}/{prefix}"):
            yield url[len(self.url) + 1:]

    async def _below(self, prefix):
        try:
            return [url for url, _ in await self.cache.list_async(prefix)]
        except FileNotFoundError:
            # No directory is no error where there could be none.
            return []

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """As of any store."""
        prefix = prefix.rstrip("/") + "/" if prefix else ""
        seen = set()
        async for key in self.list_prefix(prefix):
            name = key[len(prefix):].partition("/")[0]
            if name not in seen:
                seen.add(name)
                yield name


def _bounds(byte_range, size):
    """Where a request for bytes begins and ends."""
    start = getattr(byte_range, "start", getattr(byte_range, "offset", 0))
    if hasattr(byte_range, "suffix"):
        start = max(size - byte_range.suffix, 0)
    end = min(getattr(byte_range, "end", size), size)
    return min(start, end), end


def plan(array: Any, selection: Any = ..., into: Plan | None = None) -> Plan:
    """Disclose the chunks (of a sharded array, the shards) of a selection of an array in a `Store`.

    Parameters
    ----------
    array : zarr.Array
    selection : tuple of int, slice and ...
        As the array will be read by.
    into : Plan, optional
        The plan to add to; a new one unless given.

    Returns
    -------
    Plan

    Raises
    ------
    TypeError
        If the array is in another store, or the selection another one.

    Examples
    --------
    >>> with foresee.zarr.plan(array, np.s_[:, 7]):  # doctest: +SKIP
    ...     plane = array[:, 7]
    """
    store = array.store
    if not isinstance(store, Store):
        raise TypeError(f"an array of a foresee.zarr.Store is needed, as of zarr.open_array(foresee.zarr.Store(url)), not one of {store!r}")
    made = into or Plan(store.cache)
    pieces = array.shards or array.chunks
    for chunk in touched(selection, array.shape, pieces):
        made.url("/".join(it for it in (store.url, array.path, array.metadata.encode_chunk_key(chunk)) if it))
    return made
