"""Threads with a queue before them. SPDX-License-Identifier: MIT"""
import threading
import weakref
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Callable

_PATIENCE = 5.0  # seconds that an interpreter that wants to end waits for a thread whose peer may be silent for ever


def _work(queue):
    while (task := queue.get()) is not None:
        done, function, arguments = task
        try:
            done.set_result(function(*arguments))
        except BaseException as error:
            done.set_exception(error)
        del task, done, function, arguments


def _close(queue, threads):
    """A daemon thread that is in PyTorch while the interpreter goes down would bring it down in disorder."""
    for _ in threads:
        queue.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(_PATIENCE)


class Lane:
    """One thread does its tasks in order; several do them as they come."""

    def __init__(self, threads: int, name: str):
        self._queue: SimpleQueue = SimpleQueue()
        workers = [threading.Thread(target=_work, args=(self._queue,), name=f"crumb {name} {i}", daemon=True)
                   for i in range(threads)]
        for worker in workers:
            worker.start()
        weakref.finalize(self, _close, self._queue, workers)  # also before the interpreter ends

    def submit(self, function: Callable, *arguments: Any) -> Future:
        done: Future = Future()
        self._queue.put((done, function, arguments))
        return done
