"""Which chunks of an array a selection touches."""

import itertools
import operator


def touched(selection, shape, chunks):
    """Coordinates of the chunks, in order, of a selection by integers, slices and ``...``.

    Examples
    --------
    >>> from foresee.chunks import touched
    >>> list(touched((slice(3, 5), ..., -1), (8, 10), (4, 4)))
    [(0, 2), (1, 2)]
    """
    selection = selection if isinstance(selection, tuple) else (selection,)
    selection = tuple(it if it is Ellipsis or isinstance(it, slice) else _number(it) for it in selection)
    left = len(shape) - sum(it is not Ellipsis for it in selection)
    if left < 0:
        raise IndexError(f"{len(selection)} indices for {len(shape)} dimensions")
    if Ellipsis in selection:
        at = selection.index(Ellipsis)
        selection = (*selection[:at], *[slice(None)] * left, *selection[at + 1:])
    else:
        selection = (*selection, *[slice(None)] * left)
    return itertools.product(*map(_along, selection, shape, chunks))


def _number(index):
    try:
        return operator.index(index)
    except TypeError:
        raise TypeError(f"a selection by {index!r}: its chunks are not known ahead; give integers, slices and ...") from None


def _along(index, length, chunk):
    """Numbers of the chunks along one dimension."""
    if isinstance(index, slice):
        touched = range(*index.indices(length))
        return sorted({at // chunk for at in touched}) if abs(touched.step) > 1 else _of_range(touched, chunk)
    if not -length <= index < length:
        raise IndexError(f"index {index} of a dimension of {length}")
    return [index % length // chunk]


def _of_range(touched, chunk):
    return range(min(touched) // chunk, max(touched) // chunk + 1) if touched else []
