"""The hook in a trainer that wraps the model in DDP by itself, and whose rank 0 writes checkpoints for all.

SPDX-License-Identifier: MIT"""
from typing import Any, Dict, Mapping

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from crumb.torch.state import State


def register(model: torch.nn.Module, state: State, hook: Any, scaler: Any = None) -> None:
    """Registers the hook with what a trainer made of the model; does nothing if there is only one rank and no DDP.
    scaler: the trainer's GradScaler, or None; ignored if the hook was given one. Raises TypeError if several ranks
    exchange gradients otherwise than by DDP."""
    model = getattr(model, "_orig_mod", model)  # of what torch.compile has made of DDP
    if isinstance(model, DistributedDataParallel):
        state.follow(model, scaler)
        model.register_comm_hook(state, hook)
    elif dist.is_initialized() and dist.get_world_size() > 1:
        raise TypeError("crumb compresses what DistributedDataParallel exchanges, and the trainer made of the model "
                        f"{type(model).__name__}")


class AllRanks:
    """A hook's state as it is to be saved where rank 0 writes for all ranks:

        accelerator.register_for_checkpointing(crumb.torch.AllRanks(state))
        torch.distributed.checkpoint.save({"crumb": crumb.torch.AllRanks(state)}, checkpoint_id=folder)"""

    def __init__(self, state: State):
        self._state = state

    def state_dict(self) -> Dict[str, Any]:
        """Returns all ranks' state_dicts, on every rank: as much memory as all ranks' residuals. All ranks of the
        hook's group must call it together, between two steps. Raises RuntimeError if the hook is not over all ranks:
        each then saves its own state_dict."""
        if self._state.group_size not in (0, dist.get_world_size()):
            raise RuntimeError(f"crumb: AllRanks is of a hook over all ranks, and this one is over "
                               f"{self._state.group_size} of {dist.get_world_size()}: save each rank's own state_dict")
        return {"ranks": tuple(self._state.of_all_ranks())}  # a list torch.distributed.checkpoint would take apart

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state_dict, also on another number of ranks. Raises as the hook's load_state_dict does."""
        self._state.load_state_dict(state["ranks"])
