"""For fsspec: the filesystem ``foresee::``, which chains over any other, and the cache of open files ``cache_type="foresee"``."""

from __future__ import annotations

import errno
import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import fsspec.caching
import fsspec.utils
from fsspec.implementations.chained import ChainedFileSystem

from . import s3
from .cache import Cache, File
from .listing import Listing
from ._foresee import Changed

# What addresses begin with that nobody gave: errors leave it out (`error.rs`).
_PATH, _FILE = "fsspec-path", "fsspec-file"

# What filesystems call what tells one state of a file from another.
_VERSIONS = {"etag", "generation", "versionid", "checksum", "md5", "contentmd5", "digest", "mtime", "lastmodified", "modified", "modify",
             "modificationtime", "updated", "created", "ino", "blobid"}


def _version(said):
    """What each filesystem calls it, as Last-Modified or last_modified."""
    of_version = sorted(key for key in said if isinstance(key, str) and key.lower().replace("-", "").replace("_", "") in _VERSIONS)
    return "/".join(f"{key}={said[key]}" for key in ("size", *of_version) if said.get(key) is not None)


class FilesystemStore:
    """A store, for ``Cache(stores=...)``, of a filesystem of fsspec.

    What a filesystem says of a file when it is opened is its version; no filesystem says it of what it reads. So a file that is replaced
    while it is open is noticed if it is shorter, or where less comes than is asked for: then it is asked what it is once more. What
    `foresee.s3` can read without s3fs is read so, and noticed.
    """

    # A filesystem's requests side by side.
    depth = 32

    def __init__(self, filesystem: Any) -> None:
        self.filesystem, self._reader = filesystem, s3.Reader.of(filesystem)
        self.info = (self._reader or filesystem).info

    def __reduce__(self):
        return FilesystemStore, (self.filesystem,)

    def open(self, name: str) -> Any:
        """As the cache asks it."""
        said = self.info(name)
        if said.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, "it is a directory", name)
        if said.get("size") is None:
            raise OSError(f"{name}: its filesystem does not say its size")
        if self._reader and (known := self._reader.object(name, said)):
            return known
        # By name: filesystems have arguments of their own between the path and these.
        fetch = lambda start, end: self.filesystem.cat_file(name, start=start, end=end)
        return _Fetched(name, fetch, said["size"], _version(said), lambda: _version(self.info(name)))

    def list(self, prefix: str) -> list[tuple[str, int]]:
        """As the cache asks it."""
        return [(name, said["size"]) for name, said in self.filesystem.find(prefix, detail=True).items()]


class _Fetched:
    """A file that is fetched by a call with where bytes begin and where they end. Another says its version by now."""

    def __init__(self, name, fetch, size, version, now):
        self._name, self._fetch, self.size, self.version, self._now = name, fetch, size, version, now

    def read(self, offset, size):
        parts = [self._part(offset, size)]
        if len(parts[0]) == size:
            return parts[0]
        # Servers may send less than they are asked for, or the file is shorter by now. Nothing is handed over unless the rest is there
        # as well, and of the version that is open, for it may be longer once more.
        try:
            while parts[-1] and (came := sum(map(len, parts))) < size:
                parts.append(self._part(offset + came, size - came))
        except EOFError:
            pass
        came = b"".join(parts)
        if len(came) < size or self._now() != self.version:
            raise Changed(errno.ESTALE, f"{len(parts[0])} bytes came in place of {size}, and it has changed since: open it again")
        return came

    def _part(self, offset, size):
        came = self._fetch(offset, offset + size)
        if len(came) > size:
            raise OSError(f"{self._name}: {len(came)} bytes came in place of {size}: who serves it sends files as a whole alone, and only "
                          "those who send parts of them (ranges) are read; copy it to a disk first")
        return came


class ForeseeFileSystem(ChainedFileSystem):
    """Reads of another filesystem through a cache in memory; all else is the other's.

    ``fsspec.open("foresee::s3://bucket/key", s3={...})``, ``pandas.read_parquet("foresee::s3://...")``, or
    ``fsspec.filesystem("foresee", fs=other)``.

    Parameters
    ----------
    target_protocol, target_options, fs
        The other filesystem, as for those of fsspec that chain.
    memory, block_bytes, policy, max_age
        As of `foresee.Cache`. All filesystems of equal ones in a process are one, as fsspec has it, with one cache.
    """

    protocol = "foresee"
    _strip_tokenize_options = ("fo",)
    local_file = False

    def __init__(self, target_protocol: str | None = None, target_options: dict[str, Any] | None = None, fs: Any = None, fo: Any = None,
                 memory: int = 256 << 20, block_bytes: int = 64 << 10, policy: str = "informed", max_age: float = 0.0,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if (fs is None) == (target_protocol is None):
            raise ValueError("either target_protocol or fs is needed: the filesystem that foresee:: reads")
        self.fs = fs if fs is not None else fsspec.filesystem(target_protocol, **(target_options or {}))
        # Of an instance: what a path is without its protocol, the other filesystem knows.
        self._strip_protocol = lambda path: self.fs._strip_protocol(type(self)._strip_protocol(path))
        self._store = FilesystemStore(self.fs)
        self.cache = Cache(memory, block_bytes=block_bytes, policy=policy, max_age=max_age, stores={_PATH: self._store})
        self._plan = self.cache.plan()
        self._listing = Listing(lambda path: self._plan.url(f"{_PATH}://{path}"))

    def __getattr__(self, name):
        # What filesystems have beside fsspec's own interface.
        if name == "fs":
            raise AttributeError(name)
        return getattr(self.fs, name)

    def _file(self, path):
        path = self._strip_protocol(path)
        file = self.cache.open(f"{_PATH}://{path}")
        self._listing.opened(path, file.size)
        return file

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> File | Any:
        return self._file(path) if mode == "rb" else self.fs.open(path, mode, **kwargs)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_kwargs: Any) -> bytes:
        """As of any filesystem."""
        with self._file(path) as file:
            start, end, _ = slice(start, end).indices(file.size)
            return file.read_at(start, max(end - start, 0))

    def cat_ranges(self, paths: Sequence[str], starts: Any, ends: Any, max_gap: int | None = None, on_error: str = "return",
                   **_kwargs: Any) -> list[bytes | BaseException]:
        """As of any filesystem; all ranges are fetched side by side."""
        starts, ends = (it if isinstance(it, list) else [it] * len(paths) for it in (starts, ends))
        return self.ranges(list(zip(paths, starts, ends)), on_error)

    def cat(self, path: str | list[str], recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        """As of any filesystem; all files are fetched side by side."""
        paths = self.expand_path(path, recursive=recursive)
        if not isinstance(path, list) and paths == [self._strip_protocol(path)] and not recursive:
            return self.cat_file(paths[0], **kwargs)
        start, end = kwargs.get("start"), kwargs.get("end")
        came = self.ranges([(path, start, end) for path in paths], "return" if on_error == "omit" else on_error)
        return {path: it for path, it in zip(paths, came) if on_error != "omit" or not isinstance(it, Exception)}

    def ranges(self, ranges: Sequence[tuple[str, int | None, int | None]], on_error: str = "raise") -> list[bytes | BaseException]:
        """Read ranges of files: the files are opened side by side, all is disclosed, and then read.

        Parameters
        ----------
        ranges : sequence of (str, int, int)
            Paths, where bytes begin and where they end, as of a slice.
        on_error : str
            ``"raise"``, or else what is wrong with a range is returned in its place.

        Returns
        -------
        list of bytes or Exception
        """
        paths = list(dict.fromkeys(path for path, _, _ in ranges))
        reader = self.cache.reader()
        with reader.plan() as plan:
            files = dict(zip(paths, reader.open_all([f"{_PATH}://{self._strip_protocol(path)}" for path in paths])))
            wanted = []
            for path, start, end in ranges:
                file = files[path]
                if not isinstance(file, BaseException):
                    start, end, _ = slice(start, end).indices(file.size)
                    plan.range(file, start, max(start, end))
                wanted.append((file, start, end))
            return [self._read(*it, on_error) for it in wanted]

    def _read(self, file, start, end, on_error):
        try:
            if isinstance(file, BaseException):
                raise file
            return file.read_at(start, max(end - start, 0))
        except Exception as error:
            if on_error == "raise":
                raise
            return error

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """The other filesystem's."""
        path = self._strip_protocol(path)
        return self.fs.info(path, **kwargs) if kwargs else self._store.info(path)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        """The other filesystem's."""
        return self._listed(self.fs.ls(self._strip_protocol(path), detail=detail, **kwargs))

    def find(self, path: str, **kwargs: Any) -> Any:
        """The other filesystem's."""
        return self._listed(self.fs.find(self._strip_protocol(path), **kwargs))

    def glob(self, path: str, **kwargs: Any) -> Any:
        """The other filesystem's."""
        return self._listed(self.fs.glob(self._strip_protocol(path), **kwargs))

    def _listed(self, found):
        self._listing.listed(it["name"] if isinstance(it, dict) else it for it in found)
        return found

    def invalidate_cache(self, path: str | None = None) -> None:
        """Names are asked for anew; bytes go by their versions."""
        self.fs.invalidate_cache(path and self._strip_protocol(path))


def _delegate(name, paths=1):
    """A method that is the other filesystem's, whose first so many arguments are paths."""
    def method(self, *arguments, **kwargs):
        ours = [self._strip_protocol(it) if isinstance(it, str) else it for it in arguments[:paths]]
        return getattr(self.fs, name)(*ours, *arguments[paths:], **kwargs)
    method.__name__, method.__doc__ = name, "The other filesystem's."
    return method


for _name in ("exists", "isfile", "isdir", "walk", "du", "checksum", "ukey", "created", "modified", "mkdir", "makedirs",
              "rmdir", "rm", "rm_file", "touch", "pipe_file", "expand_path", "sign"):
    setattr(ForeseeFileSystem, _name, _delegate(_name))
for _name in ("cp_file", "copy", "mv"):
    setattr(ForeseeFileSystem, _name, _delegate(_name, 2))
ForeseeFileSystem.put_file = lambda self, local, remote, **kwargs: self.fs.put_file(local, self._strip_protocol(remote), **kwargs)


class ForeseeCache(fsspec.caching.BaseCache):
    """What a file of fsspec's reads, through a cache that all such files share: ``fs.open(path, cache_type="foresee")``, once this
    module is imported.

    Those of one path and version share what was read. Which they are is known of the files of fsspec's own kind; any other has what it
    read for itself. What `foresee.s3` can read without s3fs is read so.

    Parameters
    ----------
    memory : int
        Of the cache that those share which give the same number: ``cache_options={"memory": 1 << 30}``.
    """

    name = "foresee"

    def __init__(self, blocksize: int, fetcher: Callable[[int, int], bytes], size: int, memory: int = 256 << 20) -> None:
        super().__init__(blocksize, fetcher, size)
        cache, sharing = _shared(memory)
        name = _name_of(fetcher, size)
        sharing.open_by(name, self)
        self._file = cache.open(f"{_FILE}://{name}")

    def _fetch(self, start, stop):
        start, stop = start or 0, self.size if stop is None else min(stop, self.size)
        return self._file.read_at(start, stop - start) if start < stop else b""


class _Sharing:
    """A store of what the open files of a name read. It keeps none of them: each keeps the cache that it is read through."""

    depth = 32

    def __init__(self):
        self._files = {}

    def open_by(self, name, file):
        self._files.setdefault(name, weakref.WeakSet()).add(file)

    def open(self, name):
        one = self._one(name)
        known, size = s3.object_of(getattr(one.fetcher, "__self__", None)), one.size
        fetch = lambda start, stop: self._one(name).fetcher(start, stop)
        return known or _Fetched(name, fetch, size, name, lambda: _name_of(self._one(name).fetcher, size, is_asked=True))

    def _one(self, name):
        for file in list(self._files[name]):
            return file
        raise Changed(errno.ESTALE, "nobody has it open any more", name)


@functools.cache
def _shared(memory):
    sharing = _Sharing()
    return Cache(memory, block_bytes=64 << 10, stores={_FILE: sharing}), sharing


_unknown = itertools.count()


def _name_of(fetcher, size, is_asked=False):
    """Equal names are of equal bytes: those that were opened, or those that are there by now, which is asked."""
    file = getattr(fetcher, "__self__", None)
    filesystem, path, said = (getattr(file, name, None) for name in ("fs", "path", "details"))
    if filesystem is None or path is None or not isinstance(said, dict):
        return f"{next(_unknown)}/an open file"
    said = filesystem.info(path) if is_asked else said
    return f"{fsspec.utils.tokenize(filesystem._fs_token, size, _version(said))}/{path}"


fsspec.caching.register_cache(ForeseeCache, clobber=True)
