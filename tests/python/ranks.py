"""Runs a test's checks in several processes at once, as torchrun would: over the loopback device.

SPDX-License-Identifier: MIT
"""
import datetime
import importlib.util
import os
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

if importlib.util.find_spec("torch._dynamo"):  # DistributedDataParallel imports it: once here is not once a rank
    import torch._dynamo


def _rank(rank, ranks, folder, checks, backend, options):
    os.environ["GLOO_SOCKET_IFNAME"] = os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group(backend, init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks,
                            timeout=datetime.timedelta(seconds=60), **options)
    for check in checks:
        try:
            check(rank, ranks)
        except BaseException:
            print(f"FAILED: {check.__name__}, rank {rank} of {ranks}\n{traceback.format_exc()[-4000:]}", flush=True)
            os._exit(1)  # the others do not wait for it
        if rank == 0:
            with open(folder + "/passed", "a") as file:
                file.write("x")
        dist.barrier()


def passed_by(ranks, checks, backend="gloo", start="fork", **options):
    """Returns how many of the checks passed on all ranks. They run one after another up to the first failure.

    start: how a process is started; "spawn" where CUDA is used. options: of init_process_group."""
    with tempfile.TemporaryDirectory() as folder:
        open(folder + "/passed", "w").close()
        try:
            mp.start_processes(_rank, (ranks, folder, checks, backend, options), nprocs=ranks, start_method=start)
        except mp.ProcessExitedException as error:
            print(error)
            return min(os.path.getsize(folder + "/passed"), len(checks) - 1)
    return len(checks)


def gathered(tensor):
    """Returns all ranks' tensors, in rank order."""
    everyone = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, tensor)
    return everyone


def owed_by(state, name, n, ranks):
    """Returns what a rank owes of a parameter of n elements; what it owes of the mean counts for all ranks."""
    owed = torch.zeros(n)
    for slot in state._slots.values():
        if slot.name == name:
            for packer, weight in [(slot.packer, 1)] + ([(slot.mean.packer, ranks)] if slot.mean else []):
                if slot.n and packer.residual is not None:
                    part = owed[slot.at:slot.at + slot.n]
                    part += weight * torch.frombuffer(packer.residual, dtype=torch.float32)
    return owed


def refused(expected, function):
    """Returns the text of the error, of the type expected, that a function raises."""
    try:
        function()
    except expected as error:
        return str(error)
    raise AssertionError(f"no {expected.__name__}")


def run(*plans):
    """Runs plans, pairs (ranks, checks); prints passed and failed checks and exits, as the other tests do."""
    passed = sum(passed_by(ranks, checks) for ranks, checks in plans)
    failed = sum(len(checks) for _, checks in plans) - passed
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
