"""The hook's state: packs, exchanges and averages DDP's buckets. SPDX-License-Identifier: MIT"""
import hashlib
import math
import threading
import time
import warnings
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from crumb.codec import Codec
from crumb.policy import Policy, seed_of
from crumb.torch.advice import advice
from crumb.torch.bucket import Bucket, SharedBucket
from crumb.torch.checkpoint import compare, left_of, states_of
from crumb.torch.job import Job
from crumb.torch.kinds import kinds_of, plain
from crumb.torch.lane import Lane
from crumb.torch.message import FAILED, NONFINITE, PACKED, unused_by_all
from crumb.torch.owner import Owner
from crumb.torch.plan import GATHER, SHARD, Part, Tensor, divide
from crumb.torch.slot import Slot
from crumb.torch.usage import Usage
from crumb.torch.wire import Wire, wait

_SETUP = 2048  # bytes of a rank's setup, which all ranks compare


def _floats(parameter):
    """Returns the number of a parameter's floats as DDP hands them over, two for a complex number, and their width."""
    parts = 2 if parameter.is_complex() else 1
    return parts * parameter.numel(), parameter.element_size() // parts


def _run(parameter):
    """Returns the floats of one output unit, or 0."""
    return _floats(parameter)[0] // len(parameter) if parameter.dim() > 1 and len(parameter) else 0


def _saved(packer):
    return torch.frombuffer(bytearray(packer.to_bytes()), dtype=torch.uint8)


class State:
    """The hook's state, one packer a parameter. Every rank has its own; state_dict and load_state_dict checkpoint it.

    Model and group are those of the DDP that hands over the first bucket; a parameter gets its packer with its first
    bucket, so that a frozen one costs nothing. Messages go over DDP's group, or one of gloo beside it, and have its
    timeout.

    A bucket is packed by several threads, its message is sent to every peer, and all messages are decoded in rank
    order, while backward continues: the sender, one thread, starts the messages that the receiver, another one, waits
    for, both bucket by bucket; shared statistics are a message before it. In the plan shard a third thread between them
    averages this rank's parts and starts the messages about their means. If any rank's gradient of a bucket is not
    finite, the bucket is averaged plainly, so that its mean is what it would be without the hook. If the mean is not
    finite, all packers are reset to their state before the step. A rank that fails tells the others, and all raise an
    error.

    group: DDP's, or None. threads: that pack and unpack. down: the policy of means, or None. The other arguments are
    those of crumb.torch.hook.
    """

    def __init__(self, model: Optional[torch.nn.Module], policy: Policy, seed: int, group: Optional[dist.ProcessGroup],
                 threads: int, scaler: Any, plan: Optional[str] = None, down: Optional[Policy] = None):
        self._policy, self._seed, self._threads, self._scaler = policy, seed, threads, scaler
        self._own_scaler = scaler is not None  # else it is a trainer's
        self._down = down
        self._said_policy = f"{policy}, means {down}" if down else str(policy)
        self._owner, self._group = Owner(model, group), group
        self._wire: Optional[Wire] = None
        self._wanted, self._plan = plan, ""
        self._parameters: Dict[torch.Tensor, List[Part]] = {}
        self._sizes: Dict[str, int] = {}  # of all of the model's parameters
        self._strides: Dict[str, Tuple[int, ...]] = {}  # of those that are not contiguous
        self._slots: Dict[str, Slot] = {}
        self._loaded: List[Any] = []  # states that wait for the first bucket
        self._factor = 1.0  # by which these are to be multiplied
        self._buckets: Dict[int, Bucket] = {}
        self._scale = 1.0  # of the loss, as far as a scaler says it
        self._said: Set[str] = set()
        self._crowded: Set[str] = set()  # names of parameters whose frames are too long
        self._step = 0
        self._jobs: List[Job] = []  # of the step that is being reduced
        self._seen: Set[torch.Tensor] = set()  # the parameters of these jobs
        self._usage = Usage()
        self._ignored: Set[str] = set()  # names of parameters that DDP does not see
        self._poisoned = False  # the mean of this step is not finite
        self._broken: Optional[BaseException] = None
        self._last: List[torch.futures.Future] = []  # the results of the last step's jobs
        self._counting = threading.Lock()
        self.reset_stats()

    def follow(self, ddp: DistributedDataParallel, scaler: Any) -> None:
        """Takes the DDP that a trainer has made, before the first step, and the trainer's GradScaler, or None, unless
        the hook was given one; the last trainer's stays."""
        if self._wire is None:
            self._owner = Owner(ddp, self._group)
        if not self._own_scaler:
            self._scaler = scaler

    # ---- the main thread ----

    def reduce(self, grads: dist.GradBucket) -> torch.futures.Future:
        """The hook itself, called for every bucket. The future's value is the bucket's buffer, which becomes the mean.

        Raises RuntimeError for unknown parameters, TypeError for gradients of another type or device. The future raises
        what has failed in this step or an earlier one."""
        parameters, flat = list(grads.parameters()), grads.buffer()
        if self._wire is None:
            self._meet(parameters[0])
        if any(parameter not in self._parameters for parameter in parameters):
            raise RuntimeError("crumb: DDP has a parameter that the hook's model did not have")
        if not self._seen or any(parameter in self._seen for parameter in parameters):
            self._begin()
        first = not self._seen
        owners = [parameter for parameter in parameters for _ in self._parameters[parameter]]
        frozen = {i for i, parameter in enumerate(owners) if not parameter.requires_grad}
        bucket = None if flat.is_sparse else self._bucket(grads.index(), parameters, flat.dtype)
        job = Job(bucket, flat, self._step, self._wire.exchange(), frozen)
        job.unused = {i for i, parameter in enumerate(owners) if self._usage.unused(parameter)}
        if bucket is None:
            job.works = [("any", self._wire.group.allreduce([job.flat]))]
        self._seen.update(parameters)
        # In the first step of a static graph all buckets have index 0, and of several none is the last.
        job.closes_step = grads.is_last() or not first and grads.index() == 0 and self._all_seen()
        if self._broken:
            job.error = RuntimeError(f"crumb: an earlier step has failed: {self._broken}")
        if any(bucket.slots[i].packer.agree_count for i in job.framed):
            job.measured = self._pool.submit(job.measure)
        elif bucket and not job.error:
            self._pack(job)
        self._jobs.append(job)
        self._sender.submit(self._guarded, self._send, job)
        if job.closes_step:
            self._step += 1
            self._last = [job.result for job in self._jobs]
            self._jobs, self._seen = [], set()
            if self._owner.leaves_out:
                self._usage.watch(self._parameters)
            self._advise()
        if bucket is None:  # last: a warning may be an exception
            self._say("sparse", f"crumb: the sparse gradient of {self._parameters[parameters[0]][0].name} is averaged "
                                "plainly, and so are others, which stats() does not count")
        return job.result.then(job.value)

    def _all_seen(self):
        return all(parameter in self._seen or not parameter.requires_grad or parts[0].name in self._ignored
                   for parameter, parts in self._parameters.items())

    def _meet(self, parameter):
        """Finds the model and the group of one of DDP's parameters. All ranks compare what they were told."""
        model, group = self._owner.find(parameter)
        kinds = kinds_of(model)
        named = [(plain(name), parameter) for name, parameter in model.named_parameters()]
        self._sizes = {name: _floats(parameter)[0] for name, parameter in named}
        self._strides = {name: parameter.stride() for name, parameter in named if not parameter.is_contiguous()}
        self._ignored = set(map(plain, getattr(model, "_ddp_params_and_buffers_to_ignore", ())))
        self._wire = Wire(group)
        self._plan, self._parameters = self._divide(named, kinds)
        text = f"policy {self._said_policy}, seed {self._seed}, plan {self._plan}"
        before = self._loaded, self._factor, self._scale
        try:
            if self._loaded:
                text += f", a state of {self._loaded[0]['ranks']} ranks"
                self._adopt(self._loaded)
        except Exception as error:
            text = f"error {error}"
        try:
            self._compare_setup(text)
        except BaseException:
            self._wire, self._slots = None, {}
            self._loaded, self._factor, self._scale = before
            raise
        self._wire.sent = 0
        self._pool, self._sender, self._receiver = Lane(self._threads, "pack"), Lane(1, "send"), Lane(1, "receive")
        self._averager = Lane(1, "average") if self._plan == SHARD else None

    def _divide(self, named, kinds):
        """Returns the plan, and every parameter's parts."""
        tensors = [Tensor(name, kinds[name], *self._codecs(kinds[name], *_floats(parameter)), *_floats(parameter),
                          _run(parameter), parameter.requires_grad) for name, parameter in named]
        same_ranks = self._loaded and self._loaded[0]["ranks"] == self._wire.ranks
        wanted = self._wanted or (self._loaded[0]["plan"] if same_ranks else "") or None
        plan, parts = divide(wanted, self._wire.ranks, tensors)
        return plan, dict(zip([parameter for _, parameter in named], parts))

    def _compare_setup(self, text):
        plain = sorted(key for key, slot in self._slots.items() if slot.plain)
        digest = hashlib.sha256(f"{text} {list(self._sizes.items())} {plain}".encode()).digest()
        mine = torch.zeros(_SETUP, dtype=torch.uint8, device="cpu")
        said = digest + text.encode()[:_SETUP - len(digest)]
        mine[:len(said)] = torch.frombuffer(bytearray(said), dtype=torch.uint8)
        texts = [bytes(theirs.tolist()) for theirs in self._wire.gather(mine, self._wire.exchange())]
        first = texts[0]
        shown = [text[len(digest):].rstrip(b"\0").decode(errors="replace") for text in texts]
        for rank, theirs in enumerate(shown):
            if theirs.startswith("error"):
                raise ValueError(f"crumb: rank {rank} cannot begin: {theirs[6:]}")
            if texts[rank] != first:
                what = f"{shown[0]} and {theirs}" if theirs != shown[0] else \
                    "other names of parameters, or states in which others are averaged plainly"
                raise ValueError(f"crumb: ranks 0 and {rank} have different hooks: {what}")

    def _undo_unfinished(self):
        """Waits for the last step. Undoes it if it failed, or if an exception ended it before its last bucket; only in
        the second case it returns true."""
        unfinished = bool(self._jobs)
        if unfinished:
            self._last = [job.result for job in self._jobs]
            self._jobs, self._seen, self._poisoned = [], set(), False
            self._step += 1
        for result in self._last:  # an exception may have ended backward before DDP waited for them
            result.wait()
        if unfinished or self._broken:
            for slot in self._slots.values():
                slot.restore(self._step - 1)
        return unfinished

    def _begin(self):
        """Begins a step."""
        self._undo_unfinished()
        scale = float(self._scaler.get_scale()) if self._scaler is not None else 1.0
        if scale != self._scale:
            self.rescale(scale / self._scale)
            self._scale = scale

    def _bucket(self, index, parameters, dtype):
        slots = [slot for parameter in parameters for slot in self._slots_of(parameter)]
        bucket = self._buckets.get(index)
        if bucket is None or bucket.slots != slots or bucket.dtype != dtype:  # rebuilt after the first step, or cast
            bucket = self._buckets[index] = self._new_bucket(slots, dtype)
            for slot in slots:
                slot.plain |= not slot.raw and slot.packer.codec.info.fixed and slot.packer.bound > bucket.limit(slot.n)
            self._crowded.update(slot.name for slot in slots if slot.plain)
        return bucket

    def _new_bucket(self, slots, dtype):
        return (SharedBucket if self._plan == SHARD else Bucket)(slots, dtype, self._wire.rank, self._wire.ranks)

    def _slots_of(self, parameter):
        for part in self._parameters[parameter]:
            if part.key not in self._slots:
                self._slots[part.key] = self._new_slot(part, _floats(parameter)[1])
        return [self._slots[part.key] for part in self._parameters[parameter]]

    def _new_slot(self, part, width):
        rank, ranks = self._wire.rank, self._wire.ranks
        mean = seed_of(self._seed, ranks, part.number) if part.owner == rank else None
        return Slot(part, *self._codecs(part.kind, part.n, width), seed_of(self._seed, rank, part.number), mean)

    def _codecs(self, kind, n, width):
        """Returns the codecs of n elements of a kind, of width bytes each, and of their mean; raw: it is not packed."""
        codec, raw = self._policy.choose(kind, n), Codec("raw")
        if self._down and codec != raw:
            down = self._down.choose(kind, n)
            return codec, raw if down.info.fixed and down.bound(n) > n * width else down
        return codec, codec.of_mean() if codec.info.residual else raw

    def _advise(self):
        """Warns on rank 0, once of each: of frames that are too long, and of a policy that leaves much uncompressed."""
        if self._crowded:
            self._say("plain", f"crumb: frames of {', '.join(sorted(self._crowded))} would be more bytes than a plain "
                               f"all-reduce's over {self._wire.ranks} ranks: they, and others of which this is true, "
                               "are averaged plainly")
        slots = [(part.kind, _floats(parameter)[1], self._slots[part.key])
                 for parameter, parts in self._parameters.items() for part in parts if part.key in self._slots]
        self._say("policy", advice(self._policy, [(kind, slot.n * width, not slot.raw and not slot.plain)
                                                  for kind, width, slot in slots]))

    def _say(self, what, text):
        if text and what not in self._said:
            self._said.add(what)
            if self._wire.rank == 0:
                warnings.warn(text)

    def _pack(self, job):
        job.packing = [self._pool.submit(job.pack, which) for which in job.bucket.tasks(job.framed)]

    def _guarded(self, stage, job):
        """Runs a stage in a thread. An exception becomes the result of the job and makes later steps fail."""
        try:
            stage(job)
        except BaseException as error:
            self._broken = self._broken or error
            if not job.result.done():
                job.failure = error
                job.result.set_result(None)

    # ---- the sender ----

    def _send(self, job):
        if job.measured:
            self._agree(job)
        if job.framed:
            status = self._packed(job)
            job.messages = job.bucket.messages(status, job.framed, job.unused, str(job.error))
            job.works = self._wire.share(job.messages, job.bucket.inbox, job.tag + 1)
        if self._averager:
            self._averager.submit(self._guarded, self._average, job)
        else:
            self._receiver.submit(self._guarded, self._receive, job)

    def _agree(self, job):
        everyone = torch.stack(self._wire.gather(job.measured.result(), job.tag))
        if everyone.isnan().any():
            job.bucket.restore(job.step)
            job.framed = []
        else:
            job.bucket.agree(job.framed, everyone)
            if not job.error:
                self._pack(job)

    def _packed(self, job):
        """Waits until a job is packed. Returns the status for its message."""
        status = FAILED if job.error else PACKED
        for task in job.packing:
            try:
                result, seconds = task.result()
                status = max(status, result)
                self._pack_seconds += seconds
            except Exception as error:  # raised by the receiver, after the peers have been told
                status, job.error = FAILED, error
        return status

    # ---- the averager ----

    def _average(self, job):
        """Averages this rank's parts of a bucket, and starts the messages about the means."""
        if job.framed:
            wait(job.works)
            job.works = []
            status = self._averaged(job)
            if status is not None:
                job.mean = job.bucket.mean_message(status, job.done, str(job.error))
                job.works = self._wire.share([job.mean] * self._wire.ranks, job.bucket.mean_inbox, job.tag + 4)
        self._receiver.submit(self._guarded, self._receive, job)

    def _averaged(self, job):
        """Returns the status for the message about means; None if a gradient is not finite, which all ranks know."""
        bucket = job.bucket
        try:
            frames = self._read(job)
            if frames is None:
                return None
            return max(self._in_parallel(bucket, bucket.owned(job.done), bucket.average, frames, job.step),
                       default=PACKED)
        except Exception as error:  # raised by the receiver, after the peers have been told
            job.error = error
            return FAILED

    def _in_parallel(self, bucket, which, function, *arguments):
        return [task.result() for task in [self._pool.submit(function, some, *arguments)
                                           for some in bucket.tasks(which)]]

    def _read(self, job):
        """Returns all ranks' frames, [rank][slot], and sets job.dropped and job.done; None if a gradient is not finite.
        """
        if job.error:
            raise job.error
        messages = self._wire.everyone(job.messages[self._wire.rank], job.bucket.inbox)
        statuses, frames = zip(*(job.bucket.read(message, sender) for sender, message in enumerate(messages)))
        sent = len(job.messages[0]) if self._plan == GATHER else sum(map(len, job.messages)) // 2
        self._count_frames(sent)
        job.dropped = unused_by_all(messages, len(job.bucket.slots)) & set(job.framed)
        if NONFINITE in statuses:
            return None
        job.done = [i for i in job.framed if i not in job.dropped and all(theirs[i] is not None for theirs in frames)]
        return frames

    def _count_frames(self, count):
        with self._counting:  # averager and receiver
            self._frame_bytes += count

    # ---- the receiver ----

    def _receive(self, job):
        began = time.perf_counter()
        wait(job.works)
        job.staging.wait()
        unpacked = time.perf_counter()
        if job.bucket:
            done = self._unpack(job) if job.framed else []
            averaged = time.perf_counter()
            self._mean(job, [i for i in range(len(job.bucket.slots)) if i not in done and i not in job.dropped])
            self._dense_bytes += job.bucket.n * job.bucket.width
        else:
            averaged = unpacked
            job.flat.div_(self._wire.ranks)
            self._poisoned |= not bool(job.flat._values().isfinite().all())
        self._unpack_seconds += averaged - unpacked
        self._wait_seconds += time.perf_counter() - averaged + unpacked - began
        if job.error:
            raise job.error
        if job.closes_step:
            self._close_step(job.step)
        job.staging.finish()

    def _unpack(self, job):
        """Replaces slots of job.flat by the mean of all ranks' frames. Returns the indices of these slots."""
        bucket = job.bucket
        frames = self._read_means(job) if self._averager else self._read(job)
        if not frames:
            bucket.restore(job.step)
            return []
        passed = sum(self._in_parallel(bucket, job.done, bucket.unpack, frames, job.flat, job.step))
        self._overflows += passed
        if passed:
            self._poisoned |= not all(bool(bucket.part(job.flat, i).isfinite().all()) for i in job.done)
        bucket.restore(job.step, job.dropped)
        crowded = set(job.framed) - set(job.done) - job.dropped
        bucket.stop_packing(crowded, job.step)
        self._crowded.update(bucket.slots[i].name for i in crowded if not bucket.slots[i].raw)
        return job.done

    def _read_means(self, job):
        """Returns the means' frames, [0][slot], and takes from job.done those that are too long; None if a gradient or
        a mean is not finite."""
        if job.error:
            raise job.error
        if job.mean is None:
            return None
        bucket = job.bucket
        messages = self._wire.everyone(job.mean, bucket.mean_inbox)
        statuses, frames = zip(*(bucket.read_mean(message, sender) for sender, message in enumerate(messages)))
        if NONFINITE in statuses:
            return None
        means = {i: frames[bucket.slots[i].owner][i] for i in job.done}
        job.done = [i for i in job.done if means[i] is not None]
        self._count_frames(sum(means[i][1] for i in job.done) // 2)
        return [means]

    def _mean(self, job, which: Sequence[int]):
        """Replaces these slots' gradients in job.flat by their mean over the ranks, without packing."""
        if not which:
            return
        bucket = job.bucket
        settled = [i for i in which if bucket.slots[i].plain and i not in job.unused]
        bucket.settle(settled, job.flat, job.frozen, job.step)
        parts = [bucket.part(job.flat, i) for i in which]
        joined = torch.cat(parts) if len(parts) < len(bucket.slots) else job.flat
        self._wire.mean(joined, job.tag + 2)
        if joined is not job.flat:
            for part, mean in zip(parts, joined.split([len(part) for part in parts])):
                part.copy_(mean)
        self._poisoned |= not bool(joined.isfinite().all())
        self._count_frames(len(joined) * bucket.width)

    def _close_step(self, step):
        self._skipped += self._poisoned
        if self._poisoned:
            for slot in list(self._slots.values()):
                slot.restore(step)
        self._poisoned = False
        self._steps += 1

    # ---- between steps ----

    def undo_step(self, parameters: Optional[Iterable[torch.nn.Parameter]] = None) -> None:
        """Resets the packers of these parameters, by default of all, to before the last step, which is one backward
        that exchanges gradients, for a caller who throws their means away: the gradients that a discriminator gets
        while the generator trains, say. A step that an exception has ended between two buckets is taken back without
        it. Raises RuntimeError if a parameter is none of the model's."""
        if self._undo_unfinished():
            return
        mine = self._parameters if parameters is None else list(parameters)
        if self._wire and any(parameter not in self._parameters for parameter in mine):
            raise RuntimeError("crumb: a parameter to be undone is none of the hook's model")
        for part in [part for parameter in mine for part in self._parameters.get(parameter, ())]:
            if part.key in self._slots:
                self._slots[part.key].restore(self._step - 1)

    def rescale(self, factor: float) -> None:
        """Multiplies what is owed, as the loss is multiplied from now on by factor times what it was before. Raises
        ValueError, and changes nothing, for a factor that is not a positive number."""
        if not 0 < factor < math.inf:
            raise ValueError(f"crumb: what is owed cannot be multiplied by {factor}")
        self._undo_unfinished()
        if self._loaded:
            self._factor *= factor
        for slot in self._slots.values():
            slot.rescale(factor)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the packers' state between two steps, for torch.save. Every rank saves its own. It has no packer of
        parameters that are raw, or have always been frozen. Before the first step, what was loaded is returned; raises
        RuntimeError then if that was a list of all ranks' states, or has been rescaled."""
        if len(self._loaded) == 1 and self._factor == 1:
            return self._loaded[0]
        if self._loaded:
            raise RuntimeError("crumb: states that were loaded of other ranks, or rescaled, can be saved again after "
                               "the first step")
        self._undo_unfinished()
        return {
            "policy": self._said_policy, "seed": self._seed, "model": dict(self._sizes), "scale": self._scale,
            "strides": dict(self._strides),
            "rank": self._wire.rank if self._wire else 0, "ranks": self._wire.ranks if self._wire else 0,
            "plan": self._plan, "plain": [key for key, slot in self._slots.items() if slot.plain],
            "packers": {key: _saved(slot.packer) for key, slot in self._slots.items() if not slot.raw},
            "means": {key: _saved(slot.mean.packer) for key, slot in self._slots.items() if slot.mean},
        }

    @property
    def group_size(self) -> int:
        """The number of ranks that average together; 0 before the first step."""
        return self._wire.ranks if self._wire else 0

    def of_all_ranks(self) -> List[Any]:
        """Returns all ranks' state_dicts, on every rank; all ranks of the hook's group must call it together. A list of
        them that was loaded is returned as it is before the next step; raises RuntimeError then if it was a state of
        this rank alone, or has been rescaled."""
        if self._loaded and self._factor == 1 and len(self._loaded) == max(1, self._loaded[0]["ranks"]):
            return self._loaded
        if self._loaded:
            raise RuntimeError("crumb: a rank's own state that was loaded, or one that has been rescaled, can be saved "
                               "for all ranks after the first step")
        states = [self.state_dict()] * (self._wire.ranks if self._wire else 1)
        if self._wire:
            dist.all_gather_object(states, states[0], group=self._wire.group)
        return states

    def load_state_dict(self, state: Any) -> None:
        """Continues from a state_dict; on another number of ranks from the list of all ranks' state_dicts, whose debts
        are divided among the ranks so that the mean of them is what it was. Raises ValueError, and changes nothing, if
        policy, seed, model or ranks differ, or if a packer is damaged. Before the first step that is when the first
        step raises it, as far as model and ranks are not known yet."""
        states = states_of(state)
        for one in states:
            compare(one, self._said_policy, self._seed, self._sizes, self._strides)
        if self._wire:
            self._adopt(states)
        else:
            self._loaded, self._factor = states, 1.0

    def _adopt(self, states):
        for one in states:
            compare(one, self._said_policy, self._seed, self._sizes, self._strides)
        left = left_of(states, self._wire.rank, self._wire.ranks, self._plan)
        slots = {}
        for part, width in [(part, _floats(parameter)[1])
                            for parameter, parts in self._parameters.items() for part in parts]:
            if left.has(part):
                slots[part.key] = self._new_slot(part, width)
                left.give(part, slots[part.key])
                slots[part.key].rescale(self._factor)
        self._factor = 1.0
        self._slots, self._buckets, self._loaded, self._scale = slots, {}, [], states[0]["scale"] or 1.0

    def __getstate__(self):
        return {"policy": self._policy, "seed": self._seed, "threads": self._threads,
                "scaler": self._scaler if self._own_scaler else None,
                "plan": self._wanted, "down": self._down, "loaded": self._loaded or [self.state_dict()],
                "factor": self._factor}

    def __setstate__(self, saved):
        self.__init__(None, saved["policy"], saved["seed"], None, saved["threads"], saved["scaler"], saved["plan"],
                      saved["down"])
        self._loaded, self._factor = saved["loaded"], saved["factor"]

    def stats(self) -> Dict[str, Any]:
        """Returns this rank's counts since the last reset_stats. crumb-report draws a file of them, as lines of JSON,
        with what the training adds: epoch, loss, error, test_loss, and seconds since its start.

        policy: that of the hook, and of means if it has one.
        plan: gather or shard; empty before the first step.
        steps: all steps. skipped: those whose mean was not finite. overflows: how often a parameter's mean, with what
            was owed, passed the largest number of its type; the rest is owed still, or the step is a skipped one.
        dense_bytes: of the gradients; no number of bytes counts sparse ones. frame_bytes: of the messages and plainly
            averaged slots that stood for them; in the plan shard half of those to the owners and half of the means'.
            ratio: dense_bytes / frame_bytes.
        memory_bytes: of packers and messages on the host, which stay from step to step; not the pinned copies of a
            GPU's gradients. sent_bytes: to all peers together. allreduce_bytes: that a ring all-reduce would have sent.
        pack_seconds: of all packing threads together. wait_seconds, unpack_seconds: of the receiver. All overlap with
            backward."""
        ranks = self._wire.ranks if self._wire else 1
        return {
            "policy": self._said_policy, "plan": self._plan,
            "steps": self._steps, "skipped": self._skipped, "overflows": self._overflows,
            "dense_bytes": self._dense_bytes, "frame_bytes": self._frame_bytes,
            "ratio": self._dense_bytes / self._frame_bytes if self._frame_bytes else 1.0,
            "memory_bytes": sum(slot.memory for slot in self._slots.values()) +
                            sum(bucket.memory for bucket in self._buckets.values()),
            "sent_bytes": self._wire.sent if self._wire else 0,
            "allreduce_bytes": 2 * self._dense_bytes * (ranks - 1) // ranks,
            "pack_seconds": self._pack_seconds, "wait_seconds": self._wait_seconds,
            "unpack_seconds": self._unpack_seconds,
        }

    def reset_stats(self) -> None:
        """Sets all counts to 0."""
        self._steps = self._skipped = self._overflows = self._dense_bytes = self._frame_bytes = 0
        if self._wire:
            self._wire.sent = 0
        self._pack_seconds = self._wait_seconds = self._unpack_seconds = 0.0
