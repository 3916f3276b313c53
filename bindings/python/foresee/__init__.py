"""foresee: what will be read next is brought before it is read.

    import foresee
    file = foresee.open("s3://bucket/table")
    file.read_at(4096, 100)

`open`, `Cache`, `File`, `Plan` and `View` are a cache in this process, over files, object stores and filesystems of fsspec
(docs/python.md).
`simulate` and `sweep` ask the simulator what policies would make of a trace. The hint calls (`hint_file`, `hint_segments`, ...) speak with
the `foresee run` that runs this program; they need nothing but the standard library, and do nothing anywhere else (docs/hints.md).
"""

import importlib
import typing

from . import hints
from .hints import *  # noqa: F403

if typing.TYPE_CHECKING:
    # To type checkers, what is imported by the name that it has is exported.
    from .cache import Cache as Cache, File as File, Plan as Plan, default_cache as default_cache, open as open, open_async as open_async
    from .simulator import simulate as simulate, sweep as sweep
    from ._foresee import Changed as Changed, View as View
    from . import fsspec as fsspec, h5py as h5py, obspec as obspec, torch as torch, zarr as zarr

# Imported when they are asked for: programs that only give hints start as quickly as they did, and need no native module.
_PLACES = {
    "Cache": "cache", "File": "cache", "Plan": "cache", "default_cache": "cache", "open": "cache", "open_async": "cache",
    "simulate": "simulator", "sweep": "simulator", "Changed": "_foresee", "View": "_foresee",
}

# The same of modules for others' libraries, which need those.
_MODULES = {"fsspec", "h5py", "obspec", "torch", "zarr"}

__all__ = [*hints.__all__, *_PLACES]


def __getattr__(name):
    if name in _MODULES:
        try:
            return importlib.import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            raise AttributeError(f"foresee.{name} needs what is not here: {error}", name=name) from error
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}._foresee":
            raise
        raise ImportError(f"foresee.{name} needs the native module, which is not here: install the wheel (docs/python.md)") from error


def __dir__():
    return sorted({*globals(), *__all__})
