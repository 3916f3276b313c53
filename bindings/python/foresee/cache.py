"""The cache of a process, the files it has open and the plans of what is read of them."""

from __future__ import annotations

import errno
import functools
import io
import operator
import os
import uuid
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _foresee
from .process import Own
from .waiting import later, together

_Path = str | os.PathLike[str]
_Listed = list[tuple[str, int]]
_MIB = 1 << 20
# By the key of their pickles: what is unpickled twice in a process is one cache there.
_caches = weakref.WeakValueDictionary()


class Cache:
    """A cache with a memory of its own, over files, object stores and stores of this program's.

    It is opened when it is first used, by each process that uses it: a forked child, and whoever unpickles it, has one of the same
    settings, but without `disk` and `log`, which are one process's. What is unpickled twice in a process is one cache there.

    Parameters
    ----------
    memory : int
        All the memory it may take, in bytes. Each process that uses it takes so much.
    block_bytes : int
        The least that is read and kept: a power of two from 4 KiB to 1 MiB.
    policy : str
        What decides what is read ahead and what stays: a name that ``foresee sim --list`` has. By `informed` what plans say is kept as
        well as brought.
    disk : tuple of (path, int), optional
        A file on a local disk for what memory gives up, and the bytes that it may have.
    max_age : float
        An object is not asked about again that was opened so many seconds ago or less.
    log : path, optional
        Where all that is decided is written, for ``foresee explain``.
    stores : dict of str to object, optional
        By scheme: objects with ``open(name)``, which gives one with ``size``, ``version`` and ``read(offset, size)``.
        `foresee.fsspec.FilesystemStore` makes one of any filesystem of fsspec.
    settings : dict of str to dict, optional
        By scheme (s3, gs, az, http, https): options in place of the environment's, as in ``{"s3": {"endpoint": "http://..."}}``.

    Raises
    ------
    ValueError
        If there is no such policy, or too little memory.

    Examples
    --------
    >>> import foresee, tempfile
    >>> with tempfile.NamedTemporaryFile() as table:
    ...     _ = table.write(bytes(range(256)) * 1000); table.flush()
    ...     cache = foresee.Cache(memory=16 << 20)
    ...     file = cache.open(table.name)
    ...     with cache.plan() as plan:
    ...         _ = plan.range(file, 70_000, 70_010)
    ...         file.read_at(70_000, 4), bytes(file.view(3, 2)), cache.statistics()["misses"]
    (b'pqrs', b'\\x03\\x04', 1)
    """

    def __init__(self, memory: int = 256 * _MIB, *, block_bytes: int = 16 << 10, policy: str = "informed",
                 disk: tuple[_Path, int] | None = None, max_age: float = 0.0, log: _Path | None = None,
                 stores: Mapping[str, Any] | None = None, settings: Mapping[str, Mapping[str, str]] | None = None) -> None:
        options = {scheme: dict(it) for scheme, it in (settings or {}).items()}
        self._set_up(uuid.uuid4().hex, dict(
            memory=operator.index(memory), block_bytes=operator.index(block_bytes), policy=policy, max_age=max_age,
            stores=dict(stores or {}), settings=options), disk=disk and (os.fspath(disk[0]), operator.index(disk[1])),
            log=log and os.fspath(log))
        self._own.get()

    def _set_up(self, key, settings, **first):
        self._key, self._settings = key, settings
        # What comes first is the first process's alone, and not what later ones are given.
        mine = [first]
        self._own = Own(lambda: _foresee.Cache(**settings, **(mine.pop() if mine else {"disk": None, "log": None})))
        _caches[key] = self

    @property
    def _native(self):
        return self._own.get()

    def __reduce__(self):
        return _unpickled, (self._key, self._settings)

    def __repr__(self):
        return f"<foresee.Cache of {self._settings['memory'] / _MIB:g} MiB by {self._settings['policy']}>"

    def open(self, url: _Path) -> File:
        """Open what a URL or a path names, in the version that it has now.

        Raises
        ------
        FileNotFoundError
            If it is not there.
        PermissionError
            If there are no credentials for it, or others are needed.
        ValueError
            If there is no store for such URLs.
        """
        url = os.fspath(url)
        return File(self, url, self._native.open(url))

    async def open_async(self, url: _Path) -> File:
        """As `open`, for coroutines."""
        url = os.fspath(url)
        return File(self, url, await later(self._native.open, url))

    def open_all(self, urls: Iterable[_Path]) -> Sequence[File | Exception]:
        """Open what many URLs name, side by side. Of each, the file, or the exception that kept it from being opened."""
        urls = list(map(os.fspath, urls))
        came = together([functools.partial(self._native.open, url) for url in urls])
        return [it if isinstance(it, Exception) else File(self, url, it) for url, it in zip(urls, came)]

    def list(self, url: str) -> _Listed:
        """URLs that begin with this one, and their sizes."""
        return self._native.list(url)

    async def list_async(self, url: str) -> _Listed:
        """As `list`, for coroutines."""
        return await later(self._native.list, url)

    def reader(self) -> Cache:
        """The same cache for another reader: what it reads and plans is told apart. Threads that go their own ways should each be one."""
        return _Reader(self)

    def plan(self) -> Plan:
        """Begin a plan of what will be read, or go on with the one there is."""
        return Plan(self)

    def statistics(self) -> dict[str, Any]:
        """Counts since the process opened the cache; see docs/python.md."""
        return self._native.statistics()


class _Reader(Cache):
    """Another reader of a cache."""

    def __init__(self, cache):
        self._cache, self._own = cache, Own(lambda: cache._native.reader())

    def __reduce__(self):
        return _Reader, (self._cache,)

    def __repr__(self):
        return f"<a reader of {self._cache!r}>"


def _unpickled(key, settings):
    cache = _caches.get(key)
    if cache is None:
        cache = Cache.__new__(Cache)
        cache._set_up(key, settings, disk=None, log=None)
    return cache


class File(io.RawIOBase):
    """One version of an object, open to be read: a file with a position, and reads and views that need none.

    Other processes open it anew in the same version; where that is no more, it is `foresee.Changed` there.
    """

    mode = "rb"

    def __init__(self, cache, url, opened=None, version=None):
        super().__init__()
        self.cache, self.name, self._position = cache, url, 0
        self._version = opened.version if opened else version
        self._own = Own(functools.partial(_opened_again, cache, url, self._version), opened)

    @property
    def _native(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._own.get()

    def __reduce__(self):
        return _unpickled_file, (self.cache, self.name, self.version, self._position)

    def __repr__(self):
        return f"<foresee.File {self.name!r}>"

    @property
    def url(self) -> str:
        """What it was opened as."""
        return self.name

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return self._native.size

    @property
    def version(self) -> str:
        """Which bytes it has: those of another version may be others."""
        return self._version

    def read_at(self, offset: int, size: int) -> bytes:
        """Bytes from an offset on, fewer only at the end. In the main thread it can be interrupted while it waits."""
        return self._native.read(offset, size)

    async def read_at_async(self, offset: int, size: int) -> bytes:
        """As `read_at`, for coroutines."""
        native = self._native
        size = max(min(size, native.size - offset), 0)
        here = native.read_now(offset, size)
        lacking = size - len(here)
        return here + await later(native.read, offset + len(here), lacking) if lacking else here

    def view(self, offset: int, size: int) -> _foresee.View:
        """Bytes from an offset on as they are in the cache's memory, without a copy, up to the end of the block that they begin in.

        What is returned has the buffer protocol: ``memoryview(view)``, ``numpy.frombuffer(view, ...)``. The block stays in memory for as
        long as it is used.

        Raises
        ------
        BufferError
            If views hold half of the memory.
        """
        native = self._native
        here = native.view_now(offset, size)
        return here if here is not None else native.view(offset, size)

    async def view_async(self, offset: int, size: int) -> _foresee.View:
        """As `view`, for coroutines."""
        native = self._native
        here = native.view_now(offset, size)
        return here if here is not None else await later(native.view, offset, size)

    def views(self, offset: int, size: int) -> list[_foresee.View]:
        """Views of all these bytes, one for each block."""
        views, end = [], min(offset + size, self.size)
        while offset < end:
            views.append(self.view(offset, end - offset))
            offset += len(views[-1])
        return views

    def readinto(self, buffer: Any) -> int:
        """As of any raw file."""
        count = self._native.read_into(buffer, self._position)
        self._position += count
        return count

    def read(self, size: int | None = -1) -> bytes:
        """As of any raw file."""
        size = max(self.size - self._position, 0) if size is None or size < 0 else size
        came = self.read_at(self._position, size)
        self._position += len(came)
        return came

    def readall(self) -> bytes:
        """As of any raw file."""
        return self.read()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As of any file."""
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            raise ValueError(f"invalid whence ({whence}): 0, 1 or 2")
        position = operator.index(offset) + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        if position < 0:
            raise ValueError(f"negative seek position {position}")
        self._position = position
        return position

    def tell(self) -> int:
        """As of any file."""
        return self._position

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """As of any file. Views of it stay."""
        super().close()
        self._own = None


def _opened_again(cache, url, version):
    opened = cache._native.open(url)
    if opened.version != version:
        raise _foresee.Changed(errno.ESTALE, "it changed since it was opened: open it again", url)
    return opened


def _unpickled_file(cache, url, version, position):
    file = File(cache, url, version=version)
    file._position = position
    return file


class Plan:
    """What will be read, in this order: it is read ahead as far as that is worth its memory, and kept until it is read.

    It never changes what a read returns. What is in it and was not read is withdrawn by `close`, or at the end of ``with``. It says
    what this process reads: other processes make plans of their own, and it has no pickle.
    """

    def __init__(self, cache: Cache) -> None:
        self._own = Own(lambda: cache._native.plan())
        self._own.get()

    def __reduce__(self):
        raise TypeError("a plan is of one process's reads: make one where they are made")

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def file(self, file: File) -> Plan:
        """All of a file, front to back."""
        self._own.get().file(_native_of(file))
        return self

    def range(self, file: File, start: int, stop: int) -> Plan:
        """Bytes of a file."""
        return self.ranges(file, [(start, stop)])

    def ranges(self, file: File, ranges: Iterable[tuple[int, int]]) -> Plan:
        """Bytes of a file, as pairs of where they begin and where they end."""
        self._own.get().ranges(_native_of(file), list(ranges))
        return self

    def url(self, url: _Path) -> Plan:
        """What a URL names, whole; it is opened ahead as well, and need not be there."""
        self._own.get().address(os.fspath(url))
        return self

    def repeat(self, entries: int, passes: int) -> Plan:
        """The last so many entries will be read so many times in all."""
        self._own.get().repeat(entries, passes)
        return self

    def generate(self, ranges: Iterable[tuple[File, int, int]]) -> Plan:
        """What this iterable gives, as tuples of a file, where its bytes begin and where they end, comes after all else.

        A thread of the cache's asks for it, some hundred at a time, as it is needed.
        """
        self._own.get().generate((_native_of(file), start, stop) for file, start, stop in ranges)
        return self

    def close(self) -> None:
        """Withdraw what was not read."""
        if self._own.has():
            self._own.get().close()


def _native_of(file):
    if not isinstance(file, File):
        raise TypeError(f"a file that a foresee.Cache opened is needed, not {type(file).__name__}")
    return file._native


_default = Own(Cache)


def default_cache() -> Cache:
    """The cache of this process for whoever names none: 256 MiB."""
    return _default.get()


def open(url: _Path, *, cache: Cache | None = None) -> File:
    """Open what a URL or a path names, to be read through a cache.

    Parameters
    ----------
    url : str or path
        ``s3://bucket/key``, ``gs://``, ``az://``, ``http(s)://``, or a path. Credentials are the environment's.
    cache : Cache, optional
        `default_cache` unless given.

    Returns
    -------
    File

    Examples
    --------
    >>> import foresee
    >>> foresee.open("/nowhere")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] there is no such object: '/nowhere'
    """
    return (cache or default_cache()).open(url)
