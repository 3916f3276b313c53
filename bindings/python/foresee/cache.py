"""The cache of a process, the files it has open and the plans of what is read of them."""

from __future__ import annotations

import asyncio
import errno
import functools
import io
import operator
import os
import sys
import uuid
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

from . import _foresee
from .address import absolute, plain
from .given import options, several
from .process import Own
from .waiting import _loop, later, together

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Listed = list[tuple[str, int]]
_MIB = 1 << 20
_PART = 16 * _MIB
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
        A file on a local disk for what memory gives up, and the bytes that it may have. Of several caches one writes it, and the others
        read what that one keeps.
    max_age : float
        An object is not asked about again that was opened so many seconds ago or less; ``float("inf")`` is for ever.
    log : path, optional
        Where all that is decided is written, for ``foresee explain``. A new file takes the place of one that
        is there; a cache that still writes that one goes on with it, without a name.
    stores : dict of str to object, optional
        By scheme: objects with ``open(name)``, which gives one with ``size``, ``version`` and ``read(offset, size)``.
        `foresee.fsspec.FilesystemStore` makes one of any filesystem of fsspec.
    settings : dict of str to dict, optional
        By scheme (s3, gs, az, http, https): options in place of the environment's, as in ``{"s3": {"endpoint": "http://..."}}``.
        With each, ``deadline`` is for how many seconds an answer is waited for and asked for again: 120 unless said, some 10 where
        nobody ever answered.

    Raises
    ------
    ValueError
        If there is no such policy, or too little memory.
    OSError
        If `disk` or `log` cannot be had.

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
        settings = {scheme: options(scheme, it) for scheme, it in (settings or {}).items()}
        if disk is not None and not (isinstance(disk, (tuple, list)) and len(disk) == 2):
            raise TypeError(f"disk is a path and the bytes it may have, as in ('/var/tmp/foresee', 1 << 34): not {disk!r}")
        self._set_up(uuid.uuid4().hex, dict(
            memory=operator.index(memory), block_bytes=operator.index(block_bytes), policy=policy, max_age=max_age,
            stores=dict(stores or {}), settings=settings), disk=disk and (os.fsdecode(disk[0]), operator.index(disk[1])),
            log=log and os.fsdecode(log))
        self._own.get()

    def _set_up(self, key, settings, **first):
        self._key, self._settings, self._memory = key, settings, settings["memory"]
        # What comes first is the first process's alone, and not what later ones are given.
        mine = [first]
        self._own = Own(lambda: _foresee.Cache(**settings, **(mine.pop() if mine else {"disk": None, "log": None})))
        _caches[key] = self

    def _among(self, processes):
        """Has this process, one of so many, take its part of the memory, unless it has opened the cache already."""
        if not self._own.has():
            self._settings["memory"] = self._memory // processes

    @property
    def _native(self):
        return self._own.get()

    def _address(self, url, directory=None):
        """What a URL or a path leads to from now on."""
        return absolute(url, directory) if self._has_paths() else os.fsdecode(url)

    def _prefix(self, url):
        """The same of what names begin with, which stays relative."""
        return plain(url) if self._has_paths() else os.fsdecode(url)

    def _has_paths(self):
        # Another store's names may be none.
        return "file" not in self._settings["stores"]

    def __reduce__(self):
        return _unpickled, (self._key, self._settings)

    def __repr__(self):
        return f"<foresee.Cache of {self._settings['memory'] / _MIB:g} MiB by {self._settings['policy']}>"

    def open(self, url: _Path) -> File:
        """Open what a URL or a path names, in the version that it has now.

        Parameters
        ----------
        url : str, bytes or path
            Of a scheme that the cache knows (s3, gs, az, http, https, and those of `stores`), or a path. A relative path is of the
            working directory that there is now, in other processes too.

        Returns
        -------
        File

        Raises
        ------
        FileNotFoundError
            If it is not there.
        PermissionError
            If there are no credentials for it, or others are needed.
        ValueError
            If there is no store for such URLs.
        """
        address = self._address(url)
        return File(self, os.fsdecode(url), address, self._native.open(address))

    async def open_async(self, url: _Path) -> File:
        """As `open`, for coroutines."""
        address = self._address(url)
        return File(self, os.fsdecode(url), address, await later(self._native.open, address))

    def open_all(self, urls: Iterable[_Path]) -> Sequence[File | BaseException]:
        """Open what many URLs name, side by side.

        Parameters
        ----------
        urls : iterable of str, bytes or path
            As of `open`.

        Returns
        -------
        list of File or Exception
            Of each URL in turn, the file, or the exception that kept it from being opened.

        Raises
        ------
        TypeError
            If a single URL is given, by itself.

        Examples
        --------
        >>> import foresee
        >>> foresee.default_cache().open_all(["/nowhere"])
        [FileNotFoundError(2, 'there is no such object')]
        """
        urls = several(urls)
        addresses = list(map(self._address, urls))
        came = together([functools.partial(self._native.open, address) for address in addresses])
        return [it if isinstance(it, BaseException) else File(self, *names, it) for *names, it in zip(urls, addresses, came)]

    async def open_all_async(self, urls: Iterable[_Path]) -> Sequence[File | BaseException]:
        """As `open_all`, for coroutines."""
        _loop()
        return await asyncio.gather(*map(self.open_async, several(urls)), return_exceptions=True)

    def list(self, url: _Path) -> _Listed:
        """What URLs begin with this one.

        Parameters
        ----------
        url : str, bytes or path
            The beginning of names, which may end within one; what lies below a folder is listed, too. A
            local directory's files are those that begin with its path and a slash; links to directories
            are not followed below that. ``.`` and ``..`` are directories.

        Returns
        -------
        list of (str, int)
            URLs, and their sizes in bytes; none where nothing begins so.

        Raises
        ------
        FileNotFoundError
            If a local path ends with a slash, or goes on below one, and no such directory is there.
        OSError
            If the store does not answer, or has no listings.
        """
        return self._native.list(self._prefix(url))

    async def list_async(self, url: _Path) -> _Listed:
        """As `list`, for coroutines."""
        return await later(self._native.list, self._prefix(url))

    def reader(self) -> Cache:
        """The same cache for another reader: what it reads and plans is told apart. Threads that go their own ways should each be one.

        Returns
        -------
        Cache
            One of the same memory.

        Examples
        --------
        >>> import foresee
        >>> foresee.Cache(16 << 20).reader()
        <a reader of <foresee.Cache of 16 MiB by informed>>
        """
        return _Reader(self)

    def plan(self) -> Plan:
        """Begin a plan of what will be read, or go on with the one there is.

        Returns
        -------
        Plan
            Empty at first; used as a context it is closed at its end.
        """
        return Plan(self)

    def statistics(self) -> dict[str, Any]:
        """What the cache did since the process opened it.

        Returns
        -------
        dict
            Counts of blocks that were read (`hits`, `late_hits`, `misses`), of requests (`demand_requests`, `ahead_requests`,
            `failed_requests`) and of bytes (`bytes_read`, `disk_bytes_read`, `disk_bytes_written`); the `blocks` of memory there are,
            `blocks_used` of them, `block_bytes` of each, and `views` that are held. `planned` and `guessed` are dicts of blocks that were
            read ahead: `fetched`, `timely`, `late`, `wasted`, `cancelled`.

        Examples
        --------
        >>> import foresee
        >>> foresee.Cache(16 << 20).statistics()["planned"]
        {'fetched': 0, 'timely': 0, 'late': 0, 'wasted': 0, 'cancelled': 0}
        """
        return self._native.statistics()


class _Reader(Cache):
    """Another reader of a cache."""

    def __init__(self, cache):
        self._cache, self._settings, self._own = cache, cache._settings, Own(lambda: cache._native.reader())

    def _among(self, processes):
        self._cache._among(processes)

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

    Other processes open it anew in the same version; where that is no more, it is `foresee.Changed` there. Of a local file, another version
    is whatever its inode says otherwise: after a change of its mode, its links or its name, too.
    """

    mode = "rb"

    def __init__(self, cache, url, address, opened=None, version=None):
        super().__init__()
        self.cache, self.name, self._address, self._position = cache, url, address, 0
        self._version = opened.version if opened else version
        # What lines are read from: where they lie, and bytes of this version. Several threads may read.
        self._piece = 0, b""
        self._own = Own(functools.partial(_opened_again, cache, address, self._version), opened)

    def _must_be_open(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")

    @property
    def _native(self):
        self._must_be_open()
        return self._own.get()

    def __reduce__(self):
        self._must_be_open()
        return _unpickled_file, (self.cache, self.name, self._address, self.version, self._position)

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
        """Bytes from an offset on. In the main thread it can be interrupted while it waits.

        Parameters
        ----------
        offset, size : int
            In bytes.

        Returns
        -------
        bytes
            So many, fewer only at the end of the file.

        Raises
        ------
        foresee.Changed
            If the object has another version by now.
        OSError
            If the store does not answer.
        """
        return self._native.read(offset, size)

    async def read_at_async(self, offset: int, size: int) -> bytes:
        """As `read_at`, for coroutines."""
        return await later(self._native.read, offset, size)

    def view(self, offset: int, size: int) -> _foresee.View:
        """Bytes from an offset on as they are in the cache's memory, without a copy, up to the end of the block that they begin in.

        Parameters
        ----------
        offset, size : int
            In bytes.

        Returns
        -------
        View
            It has the buffer protocol: ``memoryview(view)``, ``numpy.frombuffer(view, ...)``. The block stays in memory for as long as it
            is used.

        Raises
        ------
        BufferError
            If views hold half of the memory.
        foresee.Changed, OSError
            As of `read_at`.
        """
        return self._native.view(offset, size)

    async def view_async(self, offset: int, size: int) -> _foresee.View:
        """As `view`, for coroutines."""
        return await later(self._native.view, offset, size)

    def views(self, offset: int, size: int) -> list[_foresee.View]:
        """Views of all these bytes, one for each block.

        Parameters
        ----------
        offset, size : int
            In bytes.

        Returns
        -------
        list of View
            In order; together so many bytes, fewer only at the end of the file.

        Raises
        ------
        BufferError
            If views hold half of the memory.
        foresee.Changed, OSError
            As of `read_at`.
        """
        views, end = [], offset + self._native.within(offset, size)
        while offset < end:
            views.append(self.view(offset, end - offset))
            offset += len(views[-1])
        return views

    async def views_async(self, offset: int, size: int) -> list[_foresee.View]:
        """As `views`, for coroutines."""
        views, end = [], offset + self._native.within(offset, size)
        while offset < end:
            views.append(await self.view_async(offset, end - offset))
            offset += len(views[-1])
        return views

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from the position on, which moves by as much.

        Parameters
        ----------
        buffer : writable buffer
            Contiguous memory, whatever it holds.

        Returns
        -------
        int
            How many bytes; fewer than it holds only at the end of the file.

        Raises
        ------
        ValueError
            If the buffer cannot be written to.
        foresee.Changed, OSError
            As of `read_at`.
        """
        count = self._native.read_into(buffer, self._position)
        self._position += count
        return count

    async def readinto_async(self, buffer: Any) -> int:
        """As `readinto`, for coroutines; of one at a time, for they share the position."""
        count, room = 0, self._native.room(buffer)
        # In parts, for what comes is copied. Who gives up has a buffer that nobody fills any more.
        while came := await self.read_at_async(self._position + count, min(room - count, _PART)):
            count += _foresee.fill(buffer, count, came)
        self._position += count
        return count

    def read(self, size: int | None = -1) -> bytes:
        """Bytes from the position on, which moves by as much.

        Parameters
        ----------
        size : int, optional
            In bytes; all that follow unless given.

        Returns
        -------
        bytes
            So many, fewer only at the end of the file.

        Raises
        ------
        foresee.Changed, OSError
            As of `read_at`.
        """
        size = max(self.size - self._position, 0) if size is None or size < 0 else size
        came = self.read_at(self._position, size)
        self._position += len(came)
        return came

    def readall(self) -> bytes:
        """As `read` of all that follow."""
        return self.read()

    def readline(self, size: int | None = -1, /) -> bytes:
        """A line from the position on, which moves by as much; ``for line in file`` has one after the other.

        Parameters
        ----------
        size : int, optional
            Its most bytes.

        Returns
        -------
        bytes
            With its line feed, unless the limit or the end of the file comes before; empty at the end of the file.

        Raises
        ------
        foresee.Changed, OSError
            As of `read_at`.
        """
        at, piece = self._piece
        begin = self._position - at
        if begin >= 0 and (size is None or size < 0) and (end := piece.find(b"\n", begin) + 1):
            self._position = at + end
            return piece[begin:end]
        return self._line_of_pieces(sys.maxsize if size is None or size < 0 else operator.index(size))

    def _line_of_pieces(self, limit):
        self._must_be_open()
        position, parts, (at, piece) = self._position, [], self._piece
        while limit > 0:
            begin = position - at
            if not 0 <= begin < len(piece):
                # To the end of a block: no more than the cache brings for its first byte.
                block = self.cache._settings["block_bytes"]
                piece, at, begin = self.read_at(position, block - position % block), position, 0
                self._piece = at, piece
            end = piece.find(b"\n", begin, begin + limit) + 1
            part = piece[begin:end or begin + limit]
            parts.append(part)
            position, limit = position + len(part), limit - len(part)
            if end or not part:
                break
        self._position = position
        return b"".join(parts)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position.

        Parameters
        ----------
        offset : int
            In bytes.
        whence : int
            What it counts from: 0 the beginning, 1 the position, 2 the end.

        Returns
        -------
        int
            The position.

        Raises
        ------
        ValueError
            If it would lie before the beginning.
        """
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            raise ValueError(f"invalid whence ({whence}): 0, 1 or 2")
        position = operator.index(offset) + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        if position < 0:
            raise ValueError(f"negative seek position {position}")
        self._position = position
        return position

    def tell(self) -> int:
        """The position, in bytes."""
        self._must_be_open()
        return self._position

    def write(self, buffer: Any) -> int:
        """Nothing is written through a cache.

        Parameters
        ----------
        buffer : bytes-like

        Raises
        ------
        io.UnsupportedOperation
            In any case.
        """
        raise io.UnsupportedOperation("not writable: what is read through a cache is not written")

    def readable(self) -> bool:
        """It is."""
        self._must_be_open()
        return True

    def seekable(self) -> bool:
        """It is."""
        self._must_be_open()
        return True

    def writable(self) -> bool:
        """It is not."""
        self._must_be_open()
        return False

    def close(self) -> None:
        """As of any file. Views of it stay."""
        super().close()
        self._own, self._piece = None, (0, b"")


def _opened_again(cache, address, version):
    opened = cache._native.open(address)
    if opened.version != version:
        raise _foresee.Changed(errno.ESTALE, "it changed since it was opened: open it again", address)
    return opened


def _unpickled_file(cache, url, address, version, position):
    file = File(cache, url, address, version=version)
    file._position = position
    return file


class Plan:
    """What will be read, in this order: it is read ahead as far as that is worth its memory, and kept until it is read.

    It never changes what a read returns. What is in it and was not read is withdrawn by `close`, or at the end of ``with``. It says what
    this process reads: others make plans of their own, and it has no pickle. To add to one that is closed is a ValueError. A reader is
    believed as far as its plans came true: before any did, 256 blocks are brought, and what is withdrawn unread counts against it. Who
    plans anew, as to seek is, has nothing brought before its first read of that, but with a `Cache.reader()` for each.
    """

    def __init__(self, cache: Cache) -> None:
        self._own, self._cache = Own(lambda: cache._native.plan()), cache
        self._native

    @property
    def _native(self):
        if self._own is None:
            raise ValueError("the plan is closed: make another one by Cache.plan()")
        return self._own.get()

    def __reduce__(self):
        raise TypeError("a plan is of one process's reads: make one where they are made")

    def __enter__(self) -> Plan:
        self._native
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def file(self, file: File) -> Plan:
        """Disclose all of a file, front to back.

        Parameters
        ----------
        file : File

        Returns
        -------
        Plan
            This one, as of each call.

        Raises
        ------
        TypeError
            If no cache of foresee's opened the file.
        ValueError
            If another cache did.
        """
        self._native.file(_native_of(file, self._cache))
        return self

    def range(self, file: File, start: int, stop: int) -> Plan:
        """Disclose bytes of a file.

        Parameters
        ----------
        file : File
        start, stop : int
            In bytes; what lies beyond the end of the file is left out.
        """
        self._native.range(_native_of(file, self._cache), start, stop)
        return self

    def ranges(self, file: File, ranges: Iterable[Iterable[SupportsIndex]]) -> Plan:
        """Disclose bytes of a file in many places.

        Parameters
        ----------
        file : File
        ranges : iterable of (int, int)
            Where they begin and where they end, in bytes, in the order in which they will be read: any pairs of integers, as the rows
            of an array.

        Raises
        ------
        TypeError, ValueError
            If one is no pair of integers from 0 on, or ends before it begins; it says which one.
        """
        self._native.ranges(_native_of(file, self._cache), ranges)
        return self

    def url(self, url: _Path) -> Plan:
        """Disclose what a URL names, whole; it is opened ahead as well.

        Parameters
        ----------
        url : str, bytes or path
            As of `Cache.open`. What is not there is an error for who opens it alone.

        Raises
        ------
        ValueError
            If there is no store for such URLs.
        """
        self._native.address(self._cache._address(url))
        return self

    def repeat(self, entries: int, passes: int) -> Plan:
        """Disclose that what was disclosed last will be read again.

        Parameters
        ----------
        entries : int
            So many of the last files, ranges and URLs.
        passes : int
            How often they will be read in all.
        """
        self._native.repeat(entries, passes)
        return self

    def generate(self, ranges: Iterable[tuple[File, SupportsIndex, SupportsIndex]]) -> Plan:
        """Disclose what an iterable gives, which comes after all else.

        Parameters
        ----------
        ranges : iterable of (File, int, int)
            Files, where their bytes begin and where they end. A thread of the cache's asks for them, some hundred at a time, as they are
            needed; what it raises is reported as of any thread's, and ends the plan.
        """
        self._native.generate(_generated(iter(ranges), self._cache))
        return self

    def close(self) -> None:
        """Withdraw what was not read. Once more, it does nothing."""
        self._own = None


def _generated(ranges, cache):
    for at, item in enumerate(ranges):
        try:
            file, *pair = item
        except (TypeError, ValueError):
            raise TypeError(f"ranges[{at}]: a file, where its bytes begin and where they end are needed, not {item!r}") from None
        yield _native_of(file, cache), tuple(pair)


def _native_of(file, cache):
    if not isinstance(file, File):
        raise TypeError(f"a file that a foresee.Cache opened is needed, not {type(file).__name__}")
    native = file._native
    if not cache._native.owns(native):
        raise ValueError(f"{file.name}: another cache opened it, and a plan is of one: open it by the cache whose plan it is")
    return native


_default = Own(Cache)


def default_cache() -> Cache:
    """The cache of this process for whoever names none.

    Returns
    -------
    Cache
        Of 256 MiB, and otherwise as `Cache` has it unless told.
    """
    return _default.get()


def open(url: _Path, *, cache: Cache | None = None) -> File:
    """Open what a URL or a path names, to be read through a cache.

    Parameters
    ----------
    url : str, bytes or path
        ``s3://bucket/key``, ``gs://``, ``az://``, ``http(s)://``, or a path. Credentials are the environment's.
    cache : Cache, optional
        `default_cache` unless given.

    Returns
    -------
    File

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        As of `Cache.open`.

    Examples
    --------
    >>> import foresee
    >>> foresee.open("/nowhere")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] there is no such object: '/nowhere'
    """
    return (cache or default_cache()).open(url)


async def open_async(url: _Path, *, cache: Cache | None = None) -> File:
    """As `open`, for coroutines."""
    return await (cache or default_cache()).open_async(url)
