"""foresee's hint library: a program says what it will read, and foresee reads it ahead; or which of its pages can be spared.

    import foresee
    foresee.hint_segments("data.bin", [(offset, length) for offset, length in shuffled])
    foresee.set_policy(0, "mru")

Under `foresee run -- python3 PROGRAM`, and of files on a `foresee mount`, the hints reach foresee. Anywhere else, and where
libforesee.so is not installed, all calls do nothing. No hint changes what a read returns. Exact semantics: docs/hints.md.
"""

import array
import ctypes
import operator
import os
import sys
from collections.abc import Iterable
from typing import Any

__all__ = [
    "hint_file", "hint_segments", "hint_repeat", "cancel", "is_active", "manage_caching", "give_up_control", "set_priority",
    "get_priority", "set_policy", "get_policy", "set_temporary_priority",
]

POLICIES = ("lru", "mru")
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def _places():
    """Where libforesee.so may be: with the foresee that runs us, whose preload library says where, or where libraries are."""
    for preloaded in os.environ.get("LD_PRELOAD", "").split(":"):
        folder, name = os.path.split(preloaded)
        if name == "libforesee_preload.so":
            yield os.path.join(folder, "libforesee.so")
            yield os.path.join(os.path.dirname(folder), "libforesee.so")
    yield "libforesee.so"


def _load():
    for place in _places():
        try:
            library = ctypes.CDLL(place, use_errno=True)
        except OSError:
            continue
        library.foresee_hint_file.argtypes = [ctypes.c_char_p]
        library.foresee_hint_segments.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
        library.foresee_hint_repeat.argtypes = [ctypes.c_size_t, ctypes.c_uint64]
        library.foresee_set_temporary_priority.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]
        return library
    return None


_library = _load()


def _call(name, *arguments, path=None):
    if getattr(_library, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), path)


def _bytes(path):
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


def _numbers(segments):
    for at, segment in enumerate(segments):
        try:
            offset, length = map(operator.index, segment)
        except (TypeError, ValueError):
            raise ValueError(f"segments[{at}]: an offset and a length are needed, two integers, not {segment!r}") from None
        if offset < 0 or length < 0:
            raise OverflowError(f"segments[{at}]: an offset and a length are needed, from 0 on, not {segment!r}")
        yield from (offset, length)


def _pairs(segments):
    """The segments as 64-bit offsets and lengths in turn: what holds them, their address, and their count."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(segments, numpy.ndarray):
        if segments.ndim != 2 or segments.shape[1] != 2:
            raise ValueError(f"segments of shape {segments.shape}: rows of an offset and a length are needed")
        whole = numpy.ascontiguousarray(segments, dtype=numpy.uint64)
        return whole, whole.ctypes.data, len(whole)
    whole = array.array("Q", _numbers(segments))
    address, numbers = whole.buffer_info()
    return whole, address, numbers // 2


def hint_file(path: _Path) -> None:
    """Disclose that the whole file will be read, in sequence.

    Parameters
    ----------
    path : str, bytes or path

    Raises
    ------
    OSError
        ENAMETOOLONG for a path of more than 4,095 bytes, EAGAIN where foresee took nothing for a second. A file that is not there is
        no error.

    Examples
    --------
    >>> import foresee
    >>> foresee.hint_file("table.bin")  # nobody listens: nothing is done
    """
    if _library is not None:
        _call("foresee_hint_file", _bytes(path), path=path)


def hint_segments(path: _Path, segments: Iterable[Any]) -> None:
    """Disclose ranges of the file that will be read, in this order.

    Parameters
    ----------
    path : str, bytes or path
    segments : iterable of (int, int), or array
        Offsets and lengths in bytes; a numpy array of two columns is not copied if it is one of uint64 in C order.

    Raises
    ------
    ValueError
        If segments are not pairs of integers; it says which one is not.
    OverflowError
        If a number is negative.
    OSError
        As of `hint_file`.

    Examples
    --------
    >>> import foresee
    >>> foresee.hint_segments("table.bin", [(at * 4096, 4096) for at in (7, 2, 9)])
    """
    if _library is not None:
        whole, address, count = _pairs(segments)
        _call("foresee_hint_segments", _bytes(path), address, count, path=path)


def hint_repeat(hints: int, passes: int) -> None:
    """Disclose that what was disclosed last will be read again.

    Parameters
    ----------
    hints : int
        So many of the last calls of `hint_file` and `hint_segments`.
    passes : int
        How often it will be read in all, each time from the first to the last; 0 is without end, until `cancel`.

    Raises
    ------
    OSError
        As of `hint_file`.
    """
    if _library is not None:
        _call("foresee_hint_repeat", hints, passes)


def cancel() -> None:
    """What this process disclosed and has not read is withdrawn."""
    if _library is not None:
        _call("foresee_cancel")


def is_active() -> bool:
    """Whether foresee listens: for programs to which making hints is work.

    Returns
    -------
    bool
        True under ``foresee run``, and where there is a `foresee mount`.
    """
    return _library is not None and bool(_library.foresee_is_active())


def manage_caching() -> None:
    """This program will advise which of its own pages go first (policy lru-sp); by LRU until it says more.

    Raises
    ------
    OSError
        Why it was refused, as of all advice: docs/hints.md. What is refused changes nothing.
    """
    if _library is not None:
        _call("foresee_manage_caching")


def give_up_control() -> None:
    """This program advises no more; what it advised is forgotten."""
    if _library is not None:
        _call("foresee_give_up_control")


def _priority(number):
    if not -(2**31) <= number < 2**31:
        raise OverflowError(f"priority {number} has more than 32 bits")
    return ctypes.c_int(number)


def set_priority(path: _Path, priority: int) -> None:
    """Have this program's pages of files of lower priority go first.

    Parameters
    ----------
    path : str, bytes or path
    priority : int
        Of 32 bits; 0 is every file's at first.

    Raises
    ------
    OverflowError
        If the priority has more bits.
    OSError
        As of `manage_caching`.
    """
    if _library is not None:
        _call("foresee_set_priority", _bytes(path), _priority(priority), path=path)


def get_priority(path: _Path) -> int:
    """The priority of a file.

    Parameters
    ----------
    path : str, bytes or path

    Returns
    -------
    int
        0 where nobody listens.
    """
    answer = ctypes.c_int(0)
    if _library is not None:
        _call("foresee_get_priority", _bytes(path), ctypes.byref(answer), path=path)
    return answer.value


def set_policy(priority: int, policy: str) -> None:
    """Say which of the pages of a priority goes first.

    Parameters
    ----------
    priority : int
    policy : str
        ``"lru"``: the one used longest ago, as at first; ``"mru"``: the one used last.

    Raises
    ------
    ValueError
        If it is no such policy.
    OverflowError, OSError
        As of `set_priority`.

    Examples
    --------
    >>> import foresee
    >>> foresee.set_policy(0, "mru")
    """
    if policy not in POLICIES:
        raise ValueError(f"policy {policy!r} is neither 'lru' nor 'mru'")
    if _library is not None:
        _call("foresee_set_policy", _priority(priority), POLICIES.index(policy))


def get_policy(priority: int) -> str:
    """The policy of a priority.

    Parameters
    ----------
    priority : int

    Returns
    -------
    str
        ``"lru"`` or ``"mru"``; the first where nobody listens.
    """
    answer = ctypes.c_int(0)
    if _library is not None:
        _call("foresee_get_policy", _priority(priority), ctypes.byref(answer))
    return POLICIES[answer.value]


def set_temporary_priority(path: _Path, offset: int, length: int, priority: int) -> None:
    """Give the pages of some bytes a priority until each is used next.

    Parameters
    ----------
    path : str, bytes or path
    offset, length : int
        In bytes.
    priority : int
        -1 for what is done with.

    Raises
    ------
    OverflowError, OSError
        As of `set_priority`.
    """
    if _library is not None:
        _call("foresee_set_temporary_priority", _bytes(path), offset, length, _priority(priority), path=path)
