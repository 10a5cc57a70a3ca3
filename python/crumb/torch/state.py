"""The hook's state: packs, exchanges and averages DDP's buckets. SPDX-License-Identifier: MIT"""
import time
import warnings
from typing import Any, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from crumb.packer import Packer
from crumb.policy import Policy, seed_of
from crumb.torch.bucket import FAILED, NONFINITE, PACKED, Bucket, share
from crumb.torch.kinds import kinds_of
from crumb.torch.lane import Lane
from crumb.torch.slot import Slot
from crumb.torch.wire import Wire, wait

_TAGS = 4  # tags of a job: shared statistics, frames, and two for the plain mean


class _Job:
    """One bucket in one step."""

    def __init__(self, bucket: Bucket, flat: torch.Tensor, step: int, tag: int):
        self.bucket, self.flat, self.step, self.tag = bucket, flat, step, tag
        self.framed = bucket.framed()  # indices of the slots that are packed; the others are averaged plainly
        self.closes_step = False
        self.packing: List[Any] = []  # futures of Bucket.pack
        self.works: List[Any] = []  # messages in flight
        self.message: Optional[torch.Tensor] = None  # this rank's
        self.error: Optional[BaseException] = None
        self.result: torch.futures.Future = torch.futures.Future()


def _unwrap(future):
    result = future.value()
    if isinstance(result, BaseException):
        raise result
    return result


class State:
    """The hook's state, one packer a parameter. Every rank has its own; state_dict and load_state_dict checkpoint it.

    A bucket is packed by several threads, its message is sent to every peer, and all messages are decoded in rank
    order, while backward continues: the sender, one thread, starts the messages that the receiver, another one, waits
    for, both bucket by bucket. Buckets with shared statistics wait for the step's last bucket; one message a rank then
    carries them all. If any rank's gradient of a bucket is not finite, the bucket is averaged plainly, so that its
    mean is what it would be without the hook. If the mean is not finite, all packers are reset to their state before
    the step.

    group: the ranks, None for all. threads: that pack and unpack. Raises as crumb.torch.hook does.
    """

    def __init__(self, model: torch.nn.Module, policy: Policy, seed: int, group: Optional[dist.ProcessGroup],
                 threads: int):
        if isinstance(model, DistributedDataParallel):
            model = model.module
        self._wire = Wire(group)
        self._slots: Dict[torch.Tensor, Slot] = {}
        kinds = kinds_of(model)
        for i, (name, parameter) in enumerate(model.named_parameters()):
            n = parameter.numel()
            run = n // len(parameter) if parameter.dim() > 1 and n else 0
            if parameter.dtype not in (torch.float32, torch.float16, torch.bfloat16):
                raise TypeError("crumb takes gradients of float32, float16 or bfloat16, "
                                f"and those of {name} are {parameter.dtype}")
            slot = Slot(name, policy.choose(kinds[name], n), n, run, seed_of(seed, self._wire.rank, i))
            fits = share(n, parameter.element_size(), self._wire.ranks)
            slot.plain = slot.packer.codec.info.fixed and not slot.raw and slot.packer.bound > fits
            self._slots[parameter] = slot
        self._setup = f"{policy}, seed {seed}: " + " ".join(f"{slot.name}[{slot.n}]" for slot in self._slots.values())
        self._check_setup()
        self._buckets: Dict[int, Bucket] = {}
        self._warned = False
        self._pool, self._sender, self._receiver = Lane(threads, "pack"), Lane(1, "send"), Lane(1, "receive")
        self._step, self._tag = 0, 0
        self._waiting: List[_Job] = []  # for the step's last bucket, to agree on shared statistics
        self._poisoned = False  # the mean of this step is not finite
        self._broken: Optional[BaseException] = None
        self.reset_stats()

    def _check_setup(self):
        text = torch.tensor(list(self._setup.encode()), dtype=torch.uint8)
        sizes = {int(size) for size in self._wire.gather(torch.tensor([len(text)]), 0)}
        if len(sizes) > 1 or any(not torch.equal(other, text) for other in self._wire.gather(text, 1)):
            raise ValueError("crumb: the ranks have different models, policies or seeds")

    # ---- the main thread ----

    def reduce(self, grads: dist.GradBucket) -> torch.futures.Future:
        """The hook itself, called for every bucket. The future's value is the bucket's buffer, which becomes the mean.

        Raises RuntimeError after a failed step or for unknown parameters, TypeError for a device other than the CPU."""
        if self._broken:
            raise RuntimeError("crumb: an earlier step has failed") from self._broken
        flat = grads.buffer()
        if flat.device.type != "cpu":
            raise TypeError(f"crumb packs gradients in the CPU's memory, and these are on {flat.device}")
        job = _Job(self._bucket(grads), flat, self._step, self._tag)
        self._tag += _TAGS
        if any(job.bucket.slots[i].packer.agree_count for i in job.framed):
            self._waiting.append(job)
        else:
            job.closes_step = grads.is_last() and not self._waiting
            self._pack(job)
            self._sender.submit(self._guarded, self._send, job)
        if grads.is_last():
            self._step += 1
            if self._waiting:
                self._waiting[-1].closes_step = True
                self._sender.submit(self._guarded, self._agree, *self._waiting)
                self._waiting = []
        return job.result.then(_unwrap)

    def _bucket(self, grads):
        try:
            slots = [self._slots[parameter] for parameter in grads.parameters()]
        except KeyError:
            raise RuntimeError("crumb: DDP has a parameter that the hook's model did not have") from None
        bucket = self._buckets.get(grads.index())
        if bucket is None or bucket.slots != slots:  # DDP rebuilds its buckets after the first step
            bucket = self._buckets[grads.index()] = Bucket(slots, grads.buffer().dtype, self._wire.ranks)
            self._warn_plain(bucket.slots[i].name for i in range(len(slots)) if i not in bucket.framed())
        return bucket

    def _pack(self, job):
        job.packing = [self._pool.submit(job.bucket.pack, which, job.flat, job.step)
                       for which in job.bucket.tasks(job.framed)]

    def _guarded(self, stage, *jobs):
        """Runs a stage in a thread. An exception becomes the result of all its jobs and makes later steps fail."""
        try:
            stage(*jobs)
        except BaseException as error:
            self._broken = error
            for job in jobs:
                if not job.result.done():
                    job.result.set_result(error)

    # ---- the sender ----

    def _agree(self, *jobs):
        measured = [self._pool.submit(job.bucket.measure, job.framed, job.flat, job.step) for job in jobs]
        mine = [stats.result() for stats in measured]
        everyone = torch.stack(self._wire.gather(torch.cat(mine), jobs[0].tag))
        for job, stats in zip(jobs, everyone.split([len(stats) for stats in mine], dim=1)):
            if stats.isnan().any():
                job.bucket.restore(job.step)
                job.framed = []
            else:
                job.bucket.agree(job.framed, stats)
            self._pack(job)
        self._send(*jobs)

    def _send(self, *jobs):
        for job in jobs:
            if job.framed:
                job.message = job.bucket.message(self._packed(job), job.framed)
                job.works = self._wire.share(job.message, job.bucket.inbox, job.tag + 1)
            self._receiver.submit(self._guarded, self._receive, job)

    def _packed(self, job):
        """Waits until a job is packed. Returns the status for its message."""
        status = PACKED
        for task in job.packing:
            try:
                result, seconds = task.result()
                status = max(status, result)
                self._pack_seconds += seconds
            except Exception as error:  # raised by the receiver, after the peers have been told
                status, job.error = FAILED, error
        return status

    # ---- the receiver ----

    def _receive(self, job):
        began = time.perf_counter()
        wait(job.works)
        unpacked = time.perf_counter()
        done = self._unpack(job) if job.framed else []
        averaged = time.perf_counter()
        self._mean(job, [i for i in range(len(job.bucket.slots)) if i not in done])
        self._unpack_seconds += averaged - unpacked
        self._wait_seconds += time.perf_counter() - averaged + unpacked - began
        self._dense_bytes += job.bucket.n * job.bucket.width
        if job.closes_step:
            self._close_step(job.step)
        job.result.set_result(job.flat)

    def _unpack(self, job):
        """Replaces slots of job.flat by the mean of all ranks' frames. Returns the indices of these slots."""
        bucket, rank = job.bucket, self._wire.rank
        messages = [*bucket.inbox[:rank], job.message, *bucket.inbox[rank:]]
        statuses, frames = zip(*(bucket.read(message, sender) for sender, message in enumerate(messages)))
        if FAILED in statuses:
            raise job.error or RuntimeError(f"crumb: rank {statuses.index(FAILED)} could not pack its gradient")
        if NONFINITE in statuses:
            bucket.restore(job.step)
            return []
        done = [i for i in job.framed if all(theirs[i][1] for theirs in frames)]
        for task in [self._pool.submit(bucket.unpack, which, frames, job.flat) for which in bucket.tasks(done)]:
            task.result()
        bucket.stop_packing(set(job.framed) - set(done), job.step, job.flat)
        self._warn_plain(bucket.slots[i].name for i in job.framed if i not in done)
        self._frame_bytes += len(job.message)
        return done

    def _mean(self, job, which: Sequence[int]):
        """Replaces these slots' gradients in job.flat by their mean over the ranks, without packing."""
        if not which:
            return
        parts = [job.bucket.part(job.flat, i) for i in which]
        together = torch.cat(parts) if len(parts) < len(job.bucket.slots) else job.flat
        self._wire.mean(together, job.tag + 2)
        if together is not job.flat:
            for part, mean in zip(parts, together.split([len(part) for part in parts])):
                part.copy_(mean)
        self._poisoned |= not bool(together.isfinite().all())
        self._frame_bytes += len(together) * job.bucket.width

    def _warn_plain(self, names):
        names = list(names)
        if names and not self._warned and self._wire.rank == 0:
            warnings.warn(f"crumb: frames of {', '.join(names)} would be more bytes than a plain all-reduce's over "
                          f"{self._wire.ranks} ranks: they, and others of which this is true, are averaged plainly")
        self._warned |= bool(names)

    def _close_step(self, step):
        self._skipped += self._poisoned
        if self._poisoned:
            for slot in self._slots.values():
                slot.restore(step)
        self._poisoned = False
        self._steps += 1

    # ---- between steps ----

    def state_dict(self) -> Dict[str, Any]:
        """Returns the packers' state between two steps, for torch.save. Every rank saves and loads its own."""
        return {
            "setup": self._setup, "rank": self._wire.rank, "ranks": self._wire.ranks,
            "plain": [slot.name for slot in self._slots.values() if slot.plain],
            "packers": {slot.name: torch.frombuffer(bytearray(slot.packer.to_bytes()), dtype=torch.uint8)
                        for slot in self._slots.values()},
        }

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continues from a state_dict. Raises ValueError if model, policy, seed, rank or number of ranks differ, or if
        a packer is damaged; then nothing has changed."""
        for key, own in ("setup", self._setup), ("rank", self._wire.rank), ("ranks", self._wire.ranks):
            if state[key] != own:
                raise ValueError(f"crumb: the state is of {key} {state[key]}, and this is {key} {own}")
        packers = [Packer.from_bytes(state["packers"][slot.name]) for slot in self._slots.values()]
        for slot, packer in zip(self._slots.values(), packers):
            if (packer.codec, packer.n) != (slot.packer.codec, slot.n):
                raise ValueError(f"crumb: the state's packer of {slot.name} is a {packer}")
        for slot, packer in zip(self._slots.values(), packers):
            slot.load(packer, slot.name in state["plain"])
        self._buckets = {}

    def stats(self) -> Dict[str, float]:
        """Returns this rank's counts since the last reset_stats.

        steps: all steps. skipped: those whose mean was not finite.
        dense_bytes: of the gradients. frame_bytes: of the messages and plainly averaged slots that stood for them.
        ratio: dense_bytes / frame_bytes.
        sent_bytes: to all peers together. allreduce_bytes: that a ring all-reduce would have sent.
        pack_seconds: of all packing threads together. wait_seconds, unpack_seconds: of the receiver. All overlap with
            backward."""
        return {
            "steps": self._steps, "skipped": self._skipped,
            "dense_bytes": self._dense_bytes, "frame_bytes": self._frame_bytes,
            "ratio": self._dense_bytes / self._frame_bytes if self._frame_bytes else 1.0, "sent_bytes": self._wire.sent,
            "allreduce_bytes": 2 * self._dense_bytes * (self._wire.ranks - 1) // self._wire.ranks,
            "pack_seconds": self._pack_seconds, "wait_seconds": self._wait_seconds,
            "unpack_seconds": self._unpack_seconds,
        }

    def reset_stats(self) -> None:
        """Sets all counts to 0."""
        self._steps = self._skipped = self._dense_bytes = self._frame_bytes = self._wire.sent = 0
        self._pack_seconds = self._wait_seconds = self._unpack_seconds = 0.0
