"""Which parameters a rank's backward has used, where DDP lets it leave some out. SPDX-License-Identifier: MIT"""
import weakref
from typing import Dict, Iterable, List, Set

import torch
from torch.utils.hooks import RemovableHandle, unserializable_hook


def _remove(handles):
    for handle in handles:
        handle.remove()


def _note(used, number):
    @unserializable_hook
    def note(gradient):
        if gradient is not None:  # it is None if the loss leaves out the output that the parameter is used for
            used.add(number)
    return note


class Usage:
    """Notes use by hooks on the parameters, which run before DDP has their gradients. Use by a backward under no_sync
    counts, as in PyTorch 2.13's DDP."""

    def __init__(self) -> None:
        self._number: Dict[torch.Tensor, int] = {}  # of the parameters that have a hook
        self._used: Set[int] = set()
        self._handles: List[RemovableHandle] = []
        weakref.finalize(self, _remove, self._handles)

    def watch(self, parameters: Iterable[torch.Tensor]) -> None:
        """Begins anew: no parameter has been used. Those that are frozen now, and not known yet, are not noted."""
        used = self._used
        used.clear()
        for parameter in parameters:
            if parameter.requires_grad and parameter not in self._number:
                number = self._number[parameter] = len(self._number)
                self._handles.append(parameter.register_hook(_note(used, number)))

    def unused(self, parameter: torch.Tensor) -> bool:
        """Returns true if no backward has used the parameter since watch; false if that is not known."""
        return parameter in self._number and self._number[parameter] not in self._used
