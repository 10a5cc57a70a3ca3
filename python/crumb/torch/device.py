"""Gradients of the CPU and of GPUs: packed in the CPU's memory, to which those of a GPU are copied, and back.

SPDX-License-Identifier: MIT"""
from functools import lru_cache
from typing import Any, Tuple, Union

import torch


class InPlace:
    """A gradient in the CPU's memory. Nothing is copied.

    host: the gradient in the CPU's memory, which becomes the mean. result: a future of the gradient that was given."""

    def __init__(self, flat: torch.Tensor):
        self.host = flat
        self.result: torch.futures.Future = torch.futures.Future()

    def wait(self) -> None:
        """Returns when host holds the gradient."""

    def finish(self) -> None:
        """Completes result; host holds the mean."""
        self.result.set_result(self.host)


@lru_cache(maxsize=None)
def _streams(device: torch.device) -> Tuple[Any, Any]:
    """Returns the streams for copies from and to a GPU: the link to it carries both directions at once."""
    if device.type != "cuda":
        raise TypeError(f"crumb packs gradients of the CPU and of torch.cuda's GPUs, not those on {device}")
    return torch.cuda.Stream(device), torch.cuda.Stream(device)


class Staged:
    """A gradient in a GPU's memory: as InPlace, but host is a pinned copy of it.

    The copy begins when the GPU's current stream, in which the gradient is computed, gets here. No stream of the
    caller waits for it. result carries the device: who waits for it lets his stream wait for the copy back."""

    def __init__(self, flat: torch.Tensor):
        self._flat = flat
        down, self._up = _streams(flat.device)
        self.result: torch.futures.Future = torch.futures.Future(devices=[flat.device])
        self._fetched = None
        if flat.is_sparse:
            self.host = flat.cpu()  # has arrived
            return
        self.host = torch.empty(flat.shape, dtype=flat.dtype, device="cpu", pin_memory=True)
        down.wait_stream(torch.cuda.current_stream(flat.device))
        with torch.cuda.stream(down):
            self.host.copy_(flat, non_blocking=True)
            flat.record_stream(down)
            self._fetched = torch.cuda.Event(blocking=True)
            self._fetched.record(down)

    def wait(self) -> None:
        if self._fetched is not None:
            self._fetched.synchronize()

    def finish(self) -> None:
        with torch.cuda.stream(self._up):
            self._flat.copy_(self.host, non_blocking=True)
            if not self._flat.is_sparse:
                self._flat.record_stream(self._up)
            self.result.set_result(self._flat)


def stage(flat: torch.Tensor) -> Union[InPlace, Staged]:
    """Returns a gradient's staging. Raises TypeError if it is on another device."""
    return InPlace(flat) if flat.device.type == "cpu" else Staged(flat)
