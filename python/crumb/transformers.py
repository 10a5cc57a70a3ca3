"""Hugging Face's Trainer with crumb's hook, by a callback:

    trainer.add_callback(crumb.transformers.Compress(trainer, "adacomp:bin=500"))

SPDX-License-Identifier: MIT
"""
import os
import warnings
from typing import Any

import torch
from transformers import Trainer, TrainerCallback

import crumb.torch
from crumb.torch.trainers import AllRanks, register


class Compress(TrainerCallback):
    """Registers crumb.torch.hook(policy, **options), which follows the Trainer's GradScaler, with the
    DistributedDataParallel that the Trainer wraps its model in. Raises TypeError where it wraps it in something else. A
    model that the Trainer makes anew, by model_init, has a new hook, whose residuals are 0.

    Each checkpoint's folder gets a file, crumb.pt, with the state of all ranks' hooks. Resuming reads it from the
    folder of that step in the Trainer's output_dir, and warns if there is none. hyperparameter_search has other
    folders: call it with save_strategy="no".

    state: the hook's, with stats, rescale and undo_step."""

    def __init__(self, trainer: Trainer, policy: str, **options: Any):
        self._make = lambda: crumb.torch.hook(policy, **options)
        self.state, self._hook = self._make()
        self._trainer = trainer
        self._registered: Any = None
        self._model: Any = None

    @staticmethod
    def _file(args, state):
        return os.path.join(args.output_dir, f"checkpoint-{state.global_step}", "crumb.pt")

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        model = self._trainer.model_wrapped
        if model is not self._registered:  # which it is when the same Trainer trains again
            if self._model not in (None, self._trainer.model):
                self.state, self._hook = self._make()
            register(model, self.state, self._hook, self._trainer.accelerator.scaler)
            self._registered, self._model = model, self._trainer.model
        if state.global_step:
            file = self._file(args, state)
            if os.path.exists(file):
                AllRanks(self.state).load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
            elif state.is_world_process_zero:
                warnings.warn(f"crumb: there is no {file}: training goes on with nothing owed")

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        everyone = AllRanks(self.state).state_dict()
        if args.should_save:
            torch.save(everyone, self._file(args, state))
