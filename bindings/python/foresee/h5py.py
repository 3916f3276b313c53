"""For h5py: a `foresee.File` is what ``h5py.File`` takes, and a plan is made of the chunks that a selection touches."""

from typing import Any

from .cache import File, Plan
from .chunks import touched


def plan(file: File, dataset: Any, selection: Any = ..., into: Plan | None = None) -> Plan:
    """Disclose the chunks of a selection: they are brought in one batch, before the dataset is read.

    Parameters
    ----------
    file : File
        The file that the dataset's ``h5py.File`` was made of.
    dataset : h5py.Dataset
        Chunked or contiguous.
    selection : tuple of int, slice and ...
        As the dataset will be read by.
    into : Plan, optional
        The plan to add to; a new one unless given.

    Returns
    -------
    Plan

    Examples
    --------
    >>> with foresee.open("s3://bucket/volume.h5") as file, h5py.File(file) as volume:  # doctest: +SKIP
    ...     with foresee.h5py.plan(file, volume["data"], np.s_[:, 7]):
    ...         plane = volume["data"][:, 7]
    """
    made = into or Plan(file.cache)
    if dataset.chunks is None:
        offset = dataset.id.get_offset()
        return made if offset is None else made.range(file, offset, offset + dataset.id.get_storage_size())
    for chunk in touched(selection, dataset.shape, dataset.chunks):
        place = dataset.id.get_chunk_info_by_coord(tuple(at * size for at, size in zip(chunk, dataset.chunks)))
        # What was never written is nowhere.
        if place.byte_offset is not None:
            made.range(file, place.byte_offset, place.byte_offset + place.size)
    return made
