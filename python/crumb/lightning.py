"""Lightning's Trainer and Fabric with crumb's hook, by a callback:

    Trainer(strategy="ddp", callbacks=[crumb.lightning.Compress("adacomp:bin=500")])

SPDX-License-Identifier: MIT
"""
from typing import Any, Dict

from lightning.pytorch import Callback

import crumb.torch
from crumb.torch.trainers import AllRanks, register


def _scaler(precision):
    return getattr(precision, "scaler", None)  # of 16-mixed alone


class Compress(Callback):
    """Registers crumb.torch.hook(policy, **options), which follows the GradScaler of 16-mixed, with the module that
    Trainer.fit or Fabric.setup wraps in DistributedDataParallel; one callback for one module. Raises TypeError for
    another strategy.

    The Trainer's checkpoints have the state of all ranks' hooks. Fabric saves and loads it where the callback is in the
    dictionary, as in fabric.save(path, {"model": model, "crumb": compress}).

    state: the hook's, with stats, rescale and undo_step."""

    def __init__(self, policy: str, **options: Any):
        self.state, self._hook = crumb.torch.hook(policy, **options)
        self._saved = AllRanks(self.state)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        register(trainer.strategy.model, self.state, self._hook, _scaler(trainer.precision_plugin))

    def on_after_setup(self, fabric: Any, module: Any) -> None:
        register(module._forward_module, self.state, self._hook, _scaler(fabric.strategy.precision))

    def state_dict(self) -> Dict[str, Any]:
        return self._saved.state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._saved.load_state_dict(state_dict)
