"""What s3fs knows of objects, and their bytes, without its Python code: a request of its takes milliseconds of the interpreter's time."""

import functools
import os
import sys

from . import _foresee
from .process import Own

# What is said to s3fs that the client has by another name, or by the same.
_SETTINGS = {"key": "access_key_id", "secret": "secret_access_key", "token": "session_token", "endpoint_url": "endpoint",
             "region_name": "region"}
# What does not change which bytes are read.
_INDIFFERENT = {"anon", "default_block_size", "default_fill_cache", "default_cache_type", "max_concurrency",
                "use_listings_cache", "listings_expiry_time", "max_paths"}


def _settings(filesystem):
    """The client's settings of a filesystem that is s3fs's and was told who asks, and whom; None of any other.

    Any option more, and s3fs itself fetches: it may ask for something that the client does not.
    """
    module = sys.modules.get("s3fs")
    if module is None or type(filesystem) is not module.S3FileSystem or filesystem.storage_args:
        return None
    said = {name: it for name, it in filesystem.storage_options.items() if it is not None and name not in _INDIFFERENT}
    said |= said.pop("client_kwargs", {})
    if not said.keys() <= _SETTINGS.keys() or not (filesystem.anon or {"key", "secret"} <= said.keys()):
        return None
    # Where is not guessed; and the client would join a key that was said with the environment's token.
    where = said.keys() | os.environ.keys()
    if where.isdisjoint({"endpoint_url", "region_name", "AWS_REGION", "AWS_DEFAULT_REGION"}) or "AWS_SESSION_TOKEN" in os.environ:
        return None
    # Nor is a variable heard that s3fs does not know.
    return {_SETTINGS[name]: it for name, it in said.items()} | {"skip_signature": "true" if filesystem.anon else "false"}


@functools.lru_cache
def _client(settings):
    """Whoever reads by equal settings shares its connections."""
    return Own(lambda: _foresee.Client("s3", dict(settings)))


class Reader:
    """Opens what an s3fs names. It is one process's: pickled with its filesystem, it is made anew."""

    @classmethod
    def of(cls, filesystem):
        """None for filesystems that only their own code can read."""
        settings = _settings(filesystem)
        return None if settings is None else cls(filesystem, settings)

    def __init__(self, filesystem, settings):
        self._filesystem, self._client = filesystem, _client(tuple(sorted(settings.items())))
        self._listed = (None, {})

    def info(self, path):
        """As the filesystem's. Of a directory that it has listed it looks through all names, and in another thread."""
        try:
            listed = self._filesystem.dircache[self._filesystem._parent(path)]
        except KeyError:
            return self._filesystem.info(path)
        if listed is not self._listed[0]:
            self._listed = (listed, {it["name"]: it for it in listed})
        said = self._listed[1].get(path)
        return said if said and said["type"] == "file" else self._filesystem.info(path)

    def object(self, path, said):
        """What the filesystem has said this of, for the cache to read; None if the client cannot name it."""
        # Access points are asked at hosts of their own.
        if path.startswith("arn:") or not said.get("ETag"):
            return None
        try:
            return self._client.get().object(path, said["size"], said["ETag"])
        except OSError:
            return None


def object_of(file):
    """What an open file of s3fs's reads, for the cache to read; None of any other, and if its requests say what the client does not."""
    reader = Reader.of(getattr(file, "fs", None))
    if reader is None or file.version_id is not None or file.req_kw.get("RequestPayer"):
        return None
    return reader.object(f"{file.bucket}/{file.key}", file.details)
