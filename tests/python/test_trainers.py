"""The hook in Accelerate, Hugging Face's Trainer, Lightning and Fabric: weights are those of plain DDP with the hook,
to the bit, and those of a run that was cut in two and went on from the trainer's checkpoint. Packages that are not here
are left out. SPDX-License-Identifier: MIT
"""
import functools
import importlib.util
import os
import socket
import tempfile
import warnings
from types import SimpleNamespace

from counted import need

need("torch")
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import crumb.torch
from ranks import gathered, run

POLICY = "fc,last=topk:fraction=0.05"  # it owes much, and what is owed decides what is sent next
RANKS, STEPS, BATCH, RATE = 2, 8, 4, 0.1


class Net(torch.nn.Module):
    """A perceptron that returns its loss, as Hugging Face's Trainer expects of a model."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.Tanh(), torch.nn.Linear(40, 10))

    def forward(self, x, labels):
        return {"loss": torch.nn.functional.cross_entropy(self.layers(x), labels)}


def rows():
    """The training set: rank r's batch of a step is every RANKS-th batch of it."""
    random = torch.Generator().manual_seed(2)
    count = RANKS * STEPS * BATCH
    images = torch.randn(count, 30, generator=random)
    labels = torch.randint(10, (count,), generator=random)
    return [{"x": x, "labels": label} for x, label in zip(images, labels)]


def batches(rank, first, last):
    """Yields this rank's batches of steps first to last - 1."""
    loader = torch.utils.data.DataLoader(rows(), BATCH)
    for i, batch in enumerate(loader):
        if i % RANKS == rank and first <= i // RANKS < last:
            yield batch


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=RATE)


# Each of these trains steps first to last - 1; if first > 0 it goes on from the checkpoint in the folder, and if last <
# STEPS it saves one. It returns the model and the hook's state.


def plain_ddp(rank, folder, first, last):
    model = DistributedDataParallel(Net())
    state, hook = crumb.torch.hook(POLICY)
    model.register_comm_hook(state, hook)
    optimizer = sgd(model)
    for batch in batches(rank, first, last):
        model(**batch)["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.module, state


def accelerate(rank, folder, first, last):
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    model = Net()
    model, optimizer = accelerator.prepare(model, sgd(model))
    state, hook = crumb.torch.hook(POLICY, scaler=accelerator.scaler)
    model.register_comm_hook(state, hook)
    accelerator.register_for_checkpointing(crumb.torch.AllRanks(state))
    if first:
        accelerator.load_state(folder)
    for batch in batches(rank, first, last):
        accelerator.backward(model(**batch)["loss"])
        optimizer.step()
        optimizer.zero_grad()
    if last < STEPS:
        accelerator.save_state(folder)
    return accelerator.unwrap_model(model), state


def transformers(rank, folder, first, last):
    from transformers import Trainer, TrainingArguments

    import crumb.transformers

    class InOrder(Trainer):
        def _get_train_sampler(self, *_):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    arguments = TrainingArguments(
        folder, use_cpu=True, ddp_backend="gloo", max_steps=STEPS, per_device_train_batch_size=BATCH, optim="sgd",
        learning_rate=RATE, lr_scheduler_type="constant", max_grad_norm=0, save_strategy="steps", save_steps=STEPS // 2,
        report_to=[], disable_tqdm=True, logging_strategy="no", remove_unused_columns=False,
        ddp_find_unused_parameters=False)
    trainer = InOrder(Net(), arguments, train_dataset=rows())
    compress = crumb.transformers.Compress(trainer, POLICY)
    trainer.add_callback(compress)
    trainer.train(resume_from_checkpoint=os.path.join(folder, f"checkpoint-{first}") if first else None)
    return trainer.model, compress.state


def lightning(rank, folder, first, last):
    from lightning.pytorch import LightningModule, Trainer

    import crumb.lightning

    class Module(LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, batch, _):
            return self.net(**batch)["loss"]

        def configure_optimizers(self):
            return sgd(self)

    compress = crumb.lightning.Compress(POLICY)
    trainer = Trainer(accelerator="cpu", devices=RANKS, strategy="ddp", callbacks=[compress], logger=False,
                      max_epochs=2 if first else 1, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False, use_distributed_sampler=False)
    module, path = Module(), os.path.join(folder, "lightning.ckpt")
    loader = torch.utils.data.DataLoader(list(batches(rank, first, last)), batch_size=None)
    trainer.fit(module, loader, ckpt_path=path if first else None)
    if last < STEPS:
        trainer.save_checkpoint(path)
    return module.net, compress.state


def fabric(rank, folder, first, last):
    from lightning.fabric import Fabric

    import crumb.lightning
    compress = crumb.lightning.Compress(POLICY)
    fabric = Fabric(accelerator="cpu", devices=RANKS, strategy="ddp", callbacks=[compress])
    fabric.launch()
    net = Net()
    model, optimizer = fabric.setup(net, sgd(net))
    saved, path = {"model": model, "optimizer": optimizer, "crumb": compress}, os.path.join(folder, "fabric.ckpt")
    if first:
        fabric.load(path, saved)
    for batch in batches(rank, first, last):
        fabric.backward(model(**batch)["loss"])
        optimizer.step()
        optimizer.zero_grad()
    if last < STEPS:
        fabric.save(path, saved)
    return net, compress.state


@functools.lru_cache(None)
def wanted(rank):
    return weights(plain_ddp(rank, None, 0, STEPS)[0])


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def trains(train, rank):
    folder = [tempfile.mkdtemp()] if rank == 0 else [None]
    dist.broadcast_object_list(folder)
    model, state = train(rank, folder[0], 0, STEPS)
    assert state.stats()["steps"] == STEPS and state.stats()["ratio"] > 2, state.stats()
    assert torch.equal(weights(model), wanted(rank))
    theirs = gathered(weights(model))
    assert all(torch.equal(own, theirs[0]) for own in theirs)
    train(rank, folder[0], 0, STEPS // 2)
    dist.barrier()
    model, state = train(rank, folder[0], STEPS // 2, STEPS)
    assert state.stats()["steps"] == STEPS - STEPS // 2, state.stats()
    assert torch.equal(weights(model), wanted(rank))


def the_same_trainer_trains_again(rank, ranks):
    from crumb.transformers import Compress
    scaler = SimpleNamespace(get_scale=lambda: 1024.0)
    trainer = SimpleNamespace(accelerator=SimpleNamespace(scaler=scaler))

    def wrap():
        trainer.model = Net()
        trainer.model_wrapped = DistributedDataParallel(trainer.model)
        return trainer

    compress = Compress(wrap(), POLICY)
    for step in 0, 3:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            compress.on_train_begin(SimpleNamespace(output_dir="nowhere"),
                                    SimpleNamespace(global_step=step, is_world_process_zero=rank == 0), None)
        assert [str(warning.message).count("nowhere/checkpoint-3/crumb.pt") for warning in said] == [1] * (
            step > 0 and rank == 0)
    before = compress.state
    wrap()  # as model_init does
    compress.on_train_begin(SimpleNamespace(output_dir="nowhere"), SimpleNamespace(global_step=0), None)
    assert compress.state is not before
    trainer.model_wrapped(torch.ones(1, 30), torch.tensor([0]))["loss"].backward()
    assert compress.state.stats()["steps"] == 1 and compress.state.state_dict()["scale"] == 1024


def the_scaler_is_lightnings(rank, ranks):
    """A stand-in for 16-mixed, which wants a GPU."""
    from crumb.lightning import Compress
    precision = SimpleNamespace(scaler=SimpleNamespace(get_scale=lambda: 1024.0))
    for fabric in True, False:
        model = DistributedDataParallel(Net())
        compress = Compress(POLICY)
        if fabric:
            compress.on_after_setup(SimpleNamespace(strategy=SimpleNamespace(precision=precision)),
                                    SimpleNamespace(_forward_module=model))
        else:
            compress.on_fit_start(SimpleNamespace(strategy=SimpleNamespace(model=model), precision_plugin=precision),
                                  None)
        model(torch.ones(1, 30), torch.tensor([0]))["loss"].backward()
        assert compress.state.state_dict()["scale"] == 1024


def check_of(train):
    def check(rank, ranks):
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                          TORCHELASTIC_RUN_ID="crumb", GROUP_RANK="0")
        trains(train, rank)
    check.__name__ = train.__name__
    return check


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    packages = {accelerate: "accelerate", transformers: "transformers", lightning: "lightning", fabric: "lightning"}
    there = [check_of(train) for train, package in packages.items() if importlib.util.find_spec(package)]
    need(*([] if there else packages.values()))
    if importlib.util.find_spec("transformers"):
        there.append(the_same_trainer_trains_again)
    if importlib.util.find_spec("lightning"):
        there.append(the_scaler_is_lightnings)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    run((RANKS, there))
