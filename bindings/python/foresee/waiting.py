"""Who waits for what the cache's threads do."""

import asyncio
import functools
import threading

from ._foresee import Begun


def _loop():
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("coroutines of foresee are asyncio's, and no loop of asyncio runs here: by others (trio, curio) call what waits "
                           "itself (open, read_at, ...) in a thread, as by trio.to_thread.run_sync") from None


async def later(begin, *arguments):
    """What a native method comes to that is given `done`: what is in memory comes at once."""
    loop = _loop()

    def settle(value, error):
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def done(value, error):
        # Where the loop was closed, nobody waits any more.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    begun = begin(*arguments, done)
    if not isinstance(begun, Begun):
        return begun
    # The loop settles it, which does not go on before this coroutine waits.
    future = loop.create_future()
    try:
        return await future
    except BaseException:
        # Cancelled: it goes on in a thread, and no longer counts among those that wait. What failed has ended.
        if not future.done() or future.cancelled():
            begun.give_up()
        raise


def together(begins):
    """What native methods come to that are all begun before any is waited for: values, and exceptions."""
    came, left, ended = [None] * len(begins), [len(begins)], threading.Event()
    lock = threading.Lock()

    def done(at, value, error):
        came[at] = value if error is None else error
        with lock:
            left[0] -= 1
            if left[0] == 0:
                ended.set()

    begun = []
    try:
        for at, begin in enumerate(begins):
            begun.append(begin(functools.partial(done, at)))
        if begins:
            ended.wait()
    except BaseException:
        for it in begun:
            it.give_up()
        raise
    return came
