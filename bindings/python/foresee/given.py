"""What callers give, looked at before it is used: what is wrong with it is said in their words."""

import os
from collections.abc import Mapping


def options(scheme, settings):
    """The options of a store, as text.

    Examples
    --------
    >>> from foresee.given import options
    >>> options("s3", {"allow_http": True})
    {'allow_http': 'True'}
    """
    if not isinstance(settings, Mapping):
        raise TypeError(f"settings[{scheme!r}]: a dict of options is needed, as in {{'endpoint': 'http://...'}}, not {settings!r}")
    return {key: str(value) for key, value in settings.items()}


def several(urls):
    """Several URLs and paths, as text: one by itself would be taken for as many as it has letters.

    Examples
    --------
    >>> from foresee.given import several
    >>> several([b"a", "b"])
    ['a', 'b']
    >>> several("s3://b/a")
    Traceback (most recent call last):
    TypeError: several URLs are needed, as in ['s3://b/a']: open opens one
    """
    if isinstance(urls, (str, bytes)):
        raise TypeError(f"several URLs are needed, as in [{urls!r}]: open opens one")
    return list(map(os.fsdecode, urls))
