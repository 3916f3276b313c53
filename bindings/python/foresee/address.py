"""What paths lead to, whatever directory the process goes to meanwhile."""

import os


def plain(url):
    """The same URL or path as text; of a local file as the cache has it, without the host that RFC 8089 allows.

    Examples
    --------
    >>> from foresee.address import plain
    >>> plain("FILE:///a"), plain("file://localhost/a"), plain("file://a"), plain(b"localhost/a"), plain("s3://localhost/a")
    ('file:///a', 'file:///a', 'file://a', 'localhost/a', 's3://localhost/a')
    """
    url = os.fsdecode(url)
    scheme, mark, path = url.partition("://")
    if not mark or scheme.lower() != "file":
        return url
    host = "localhost"
    return "file://" + (path[len(host):] if path.lower().startswith(host + "/") else path)


def absolute(url, directory=None):
    """The same path from the root on, without ``.``; of a URL, the same URL.

    Links and ``..`` stay: where they lead is for the system to say.

    Parameters
    ----------
    directory : str, optional
        What relative paths are below; the working directory unless given.

    Examples
    --------
    >>> from foresee.address import absolute
    >>> absolute("../b/./c", "/a"), absolute("file://c", "/a"), absolute(".", "/"), absolute("s3://b/c"), absolute("/c")
    ('/a/../b/c', 'file:///a/c', '/', 's3://b/c', '/c')
    """
    url = plain(url)
    scheme, mark, path = url.partition("://")
    if not mark or "/" in scheme:
        scheme, mark, path = "", "", url
    if (scheme and scheme != "file") or not path or os.path.isabs(path):
        return url
    parts = os.path.join(os.getcwd() if directory is None else directory, path).split("/")
    return scheme + mark + ("/".join(part for part in parts if part != ".") or "/")


def here():
    """The working directory; None where that is gone, which only relative paths need."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
