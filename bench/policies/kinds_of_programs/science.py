"""What numerical programs read: matrices, transforms, grids, graphs."""

import random
from itertools import accumulate, islice, product

from .reads import BLOCK_BYTES, Read, each, kind, run


@kind
def matrices_by_tiles(by):
    """A product of matrices, tile by tile: four blocks of each at a time."""
    tiles, tall = 16, 4
    for row, column, step in product(range(tiles), repeat=3):
        yield from each("left", ((row * tall + line) * tiles + step for line in range(tall)))
        yield from each("right", ((step * tall + line) * tiles + column for line in range(tall)))


@kind
def matrices_by_rows(by):
    """A product of matrices, a row with each column."""
    for row, column in product(range(40), repeat=2):
        yield from run("left", row * 20, row * 20 + 20, 20)
        yield from each("right", (step * 40 + column for step in range(20)))


@kind
def fourier_transform(by):
    """A fast Fourier transform in place: pairs, twice as far apart in each pass."""
    for apart in (1 << level for level in range(12)):
        for first in range(0, 4096, 2 * apart):
            for block in range(first, first + apart):
                yield from each("signal", (block, block + apart))


@kind
def matrix_by_columns(by):
    """A matrix that lies row by row is transposed: each of its blocks is needed for eight columns."""
    for column in range(16 * 8):
        yield from each("matrix", (row * 16 + column // 8 for row in range(500)))


@kind
def grid_with_neighbours(by):
    """A stencil over a grid of three dimensions: each line with those of the layers above and below."""
    wide, layers = 60, 80
    for step, layer, line in product(range(4), range(1, layers - 1), range(wide)):
        yield from each(f"grid{step % 2}", ((layer + off) * wide + line for off in (-1, 0, 1)))


def searched(by, starts):
    """Reads of a search from a vertex to its neighbours, to theirs: few vertices have most edges."""
    vertices = len(starts) - 1
    front = [by.randrange(vertices)]
    seen = set(front)
    while front:
        found = set()
        for vertex in front:
            yield Read("vertices", vertex * 8 // BLOCK_BYTES)
            first, end = starts[vertex] * 64, (starts[vertex + 1] - 1) * 64
            yield from run("edges", first // BLOCK_BYTES, end // BLOCK_BYTES + 1)
            # A vertex has the same neighbours in each search.
            own = random.Random(vertex)
            edges = min(starts[vertex + 1] - starts[vertex], 12)
            found.update(int(own.random() ** 2 * vertices) for _ in range(edges))
        front = sorted(found - seen)
        seen |= found


@kind
def graph_breadth_first(by):
    """Two breadth-first searches of one graph."""
    starts = [0, *accumulate(min(int(by.paretovariate(0.9)), 400) + 3 for _ in range(60_000))]
    for _ in range(2):
        yield from islice(searched(by, starts), 60_000)


@kind
def graph_walks(by):
    """Walks of twenty steps by chance through a graph, as for embeddings."""
    vertices = 40_000
    for _ in range(1500):
        vertex = by.randrange(vertices)
        for _ in range(20):
            yield Read("vertices", vertex * 8 // BLOCK_BYTES)
            yield Read("edges", vertex * 640 // BLOCK_BYTES)
            vertex = int(by.random() ** 2.5 * vertices)


@kind
def page_ranks(by):
    """PageRank: edges in their order, with the ranks they lead to, the same in each of six passes."""
    leads_to = [[int(by.random() ** 4 * 800) for _ in range(5)] for _ in range(1500)]
    for _ in range(6):
        for edges, ranks in enumerate(leads_to):
            yield Read("edges", edges)
            yield from each("ranks", ranks)
