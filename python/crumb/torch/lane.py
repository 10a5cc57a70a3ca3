"""Threads that run tasks from a queue. SPDX-License-Identifier: MIT"""
import os
import threading
import weakref
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Callable, Optional

_PATIENCE = 5.0  # seconds to wait at exit for a thread, which a silent peer may block for ever


def thread_count(wanted: Optional[int]) -> int:
    """Returns how many threads pack: those wanted, by default one a CPU, at most four. Raises ValueError for none."""
    if wanted is not None and wanted < 1:
        raise ValueError(f"crumb: {wanted} threads cannot pack")
    return wanted or min(4, os.cpu_count() or 1)


def _work(queue):
    while (task := queue.get()) is not None:
        done, function, arguments = task
        try:
            done.set_result(function(*arguments))
        except BaseException as error:
            done.set_exception(error)
        del task, done, function, arguments


def _close(queue, threads):
    """Ends the threads: a daemon thread inside PyTorch during the interpreter's shutdown may crash it."""
    for _ in threads:
        queue.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(_PATIENCE)


class Lane:
    """Threads, daemons of this name, with a queue of tasks. One thread runs them in order, several in parallel."""

    def __init__(self, threads: int, name: str):
        self._queue: SimpleQueue = SimpleQueue()
        workers = [threading.Thread(target=_work, args=(self._queue,), name=f"crumb {name} {i}", daemon=True)
                   for i in range(threads)]
        for worker in workers:
            worker.start()
        weakref.finalize(self, _close, self._queue, workers)  # also before the interpreter ends

    def submit(self, function: Callable, *arguments: Any) -> Future:
        """Queues function(*arguments). The future gets its result or exception."""
        done: Future = Future()
        self._queue.put((done, function, arguments))
        return done
