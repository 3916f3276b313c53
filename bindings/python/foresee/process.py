"""What a process has for itself: a forked child opens it anew, and finds no lock held by a thread that it lacks."""

import os
import threading

_number = 0
_lock = threading.Lock()


def _forked():
    global _number, _lock
    _number += 1
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)


class Own:
    """Something that each process opens when it first uses it, unless it is the one that has it `opened` already."""

    def __init__(self, open, opened=None):
        self._open, self._opened = open, opened and (_number, opened)

    def get(self):
        """The present process's."""
        if not self.has():
            # It may wait, and for other threads of Python's: nobody is kept from opening something else.
            opened = self._open()
            with _lock:
                if not self.has():
                    self._opened = (_number, opened)
        return self._opened[1]

    def has(self):
        """Whether the present process has opened it."""
        return self._opened is not None and self._opened[0] == _number
