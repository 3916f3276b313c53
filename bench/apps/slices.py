"""Planes of a three-dimensional field of floats in an HDF5 file (000 section 3.3, with the layers of 001 section 3).

    slices.py make FILE SIDE        writes a cube of SIDE^3 floats in chunks of 32^3 (128 KiB)
    slices.py render FILE HOW       renders one plane across each axis, prints checksums of the pictures

What it reads: of each plane, all chunks that it cuts; HDF5 reads them whole, in the order of their coordinates.
What it discloses: the plane is asked for in coordinates, and only HDF5 knows where a chunk lies in the file. So the layer between
them, `Volume`, asks it for all chunks once, and discloses a plane's before it reads the first.
"""

import sys
import zlib

import h5py
import numpy

from disclose import disclose

CHUNK = 32


class Volume:
    def __init__(self, path, how):
        self.path, self.how = path, how
        self.data = h5py.File(path, "r")["field"]
        self.chunks = []
        if how != "none":
            self.data.id.chunk_iter(self.chunks.append)
            self.chunks.sort(key=lambda chunk: chunk.chunk_offset)

    def plane(self, axis, at):
        cut = [it for it in self.chunks if it.chunk_offset[axis] <= at < it.chunk_offset[axis] + CHUNK]
        disclose(self.how, self.path, [(it.byte_offset, it.size) for it in cut])
        return self.data[tuple(at if it == axis else slice(None) for it in range(3))]


def make(path, side):
    wave = numpy.sin(numpy.arange(side, dtype=numpy.float32) / 17)
    noise = numpy.random.default_rng(1).random((side, side), dtype=numpy.float32)
    with h5py.File(path, "w", libver="latest") as out:
        field = out.create_dataset("field", (side,) * 3, "f4", chunks=(CHUNK,) * 3)
        for x in range(0, side, CHUNK):
            thick = min(CHUNK, side - x)
            field[x : x + thick] = wave[x : x + thick, None, None] * wave[:, None] * wave + noise


def render(path, how):
    volume = Volume(path, how)
    for axis, share in enumerate((0.31, 0.62, 0.83)):
        plane = volume.plane(axis, int(share * volume.data.shape[axis]))
        colours = ((plane - plane.min()) / (plane.max() - plane.min()) * 255).astype(numpy.uint8)
        print(axis, zlib.crc32(colours))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        render(sys.argv[2], sys.argv[3])
