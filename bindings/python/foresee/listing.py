"""Files that are opened in the order in which they were listed: the next ones are disclosed."""

# Fewer may be chance.
IN_ORDER = 3
AHEAD = 64
# What is read of a larger file may be a small part of it.
SMALL = 1 << 20


class Listing:
    """What was listed last, and how far its files were opened one after the other. `disclose` is called with those that come next."""

    def __init__(self, disclose):
        self._disclose = disclose
        self.listed(())

    def listed(self, paths):
        """A directory's files, or those of a pattern."""
        paths = sorted(paths)
        self._paths, self._places = paths, {path: at for at, path in enumerate(paths)}
        self._last, self._in_order, self._disclosed = -AHEAD, 0, 0

    def opened(self, path, size):
        """A file was opened. Threads that go through them together are taken for one that does."""
        place = self._places.get(path)
        if place is None or size > SMALL:
            return
        self._in_order = self._in_order + 1 if abs(place - self._last) < AHEAD else 1
        self._last = place
        first = max(self._disclosed, place + 1)
        # Half of them at a time.
        if self._in_order < IN_ORDER or first - place - 1 > AHEAD // 2:
            return
        due = self._paths[first:place + 1 + AHEAD]
        self._disclosed = first + len(due)
        for it in due:
            self._disclose(it)
