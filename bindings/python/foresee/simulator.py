"""The simulator: what policies would make of a trace, as a DataFrame."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def command() -> str:
    """The command `foresee`: the one beside this Python, or else on the path; ``FORESEE_COMMAND`` says another."""
    said, beside = os.environ.get("FORESEE_COMMAND"), Path(sys.executable).with_name("foresee")
    found = said or (str(beside) if os.access(beside, os.X_OK) else shutil.which("foresee"))
    if found is None:
        raise FileNotFoundError("the command foresee is neither beside this Python nor on the path: set FORESEE_COMMAND to where it is")
    return found


def _listed(given):
    return [given] if isinstance(given, (str, int)) else list(given)


def simulate(trace: Any, policies: str | Iterable[str], sizes: int | str | Iterable[int | str], *,
             options: Sequence[str] = ()) -> pandas.DataFrame:
    """What each policy would hit and miss on a trace, at each size of cache.

    Parameters
    ----------
    trace : path, URL, or a table
        A trace in any format that ``foresee trace formats`` lists, in a file or where `foresee.open` reads (``s3://``, ``https://``, ...);
        or a DataFrame or an Arrow table of the columns that ``foresee record`` writes.
    policies : str or list of str
        As ``foresee sim --list`` has them.
    sizes : int, str, or a list of them
        In blocks, or as ``"64MiB"`` or ``"10%"``.
    options : sequence of str
        Further words for ``foresee sim``, as ``["--device", "disk10k"]``.

    Returns
    -------
    pandas.DataFrame
        A row for each policy at each size, and beside `opt` a cache without limit; docs/json.md has the columns. Arrow takes it by
        ``pyarrow.Table.from_pandas``.

    Raises
    ------
    ValueError
        As the command says why.

    Examples
    --------
    >>> import foresee, tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".blocks") as trace:
    ...     _ = trace.write("".join(f"{at % 10}\\n" for at in range(1000))); trace.flush()
    ...     foresee.simulate(trace.name, ["lru", "mru"], [8, 10], options=["--format", "blocks"])[["policy", "cache_blocks", "hits"]]
      policy  cache_blocks  hits
    0    lru             8     0
    1    mru             8   770
    2    lru            10   990
    3    mru            10   990
    """
    import pandas

    words = [command(), "sim", "--json", *options, "--policy", ",".join(_listed(policies)), "--cache", ",".join(map(str, _listed(sizes)))]
    if isinstance(trace, os.PathLike) or isinstance(trace, str) and "://" not in trace:
        done = subprocess.run([*words, os.fspath(trace)], capture_output=True)
    else:
        with _opened(trace) as source:
            done = _fed([*words, "-"], source)
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip())
    return pandas.DataFrame(json.loads(done.stdout))


def _opened(trace):
    """The trace at a URL, which is read as it comes, or a table's."""
    if isinstance(trace, str):
        from .cache import open

        return open(trace)
    return io.BytesIO(_packed(trace))


def _fed(words, source):
    """What a command makes of what is read from a file."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        # One that ends early says why.
        with contextlib.suppress(BrokenPipeError):
            shutil.copyfileobj(source, process.stdin, 1 << 20)
        said, complained = process.communicate()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return subprocess.CompletedProcess(words, process.returncode, said, complained)


def _packed(table):
    """A table as Parquet."""
    if hasattr(table, "to_parquet"):
        return table.to_parquet(index=False)
    import pyarrow.parquet

    packed = io.BytesIO()
    pyarrow.parquet.write_table(table, packed)
    return packed.getvalue()


def sweep(traces: Any, policies: str | Iterable[str], sizes: int | str | Iterable[int | str], *,
          options: Sequence[str] = (), **parallel: Any) -> pandas.DataFrame:
    """`simulate` of each trace, policy and size apart, by joblib: on its own workers, or on Dask or Ray by ``joblib.parallel_config``.

    Parameters
    ----------
    traces : path or URL, or a list of them
        Where the workers find them.
    policies, sizes, options
        As of `simulate`.
    **parallel
        For ``joblib.Parallel``, as ``n_jobs=2``.

    Returns
    -------
    pandas.DataFrame
        As of `simulate`, with a column ``trace``.
    """
    import joblib
    import pandas

    traces = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    settings = list(itertools.product(traces, _listed(policies), _listed(sizes)))
    done = joblib.Parallel(**parallel)(joblib.delayed(simulate)(*it, options=options) for it in settings)
    return pandas.concat([table.assign(trace=str(it[0])) for it, table in zip(settings, done)], ignore_index=True)
