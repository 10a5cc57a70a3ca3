"""One bucket in one step. SPDX-License-Identifier: MIT"""
from typing import Any, List, Optional, Sequence, Set

import torch

from crumb.torch.bucket import Bucket
from crumb.torch.device import stage
from crumb.torch.wire import Works


class Job:
    """One bucket in one step."""

    def __init__(self, bucket: Optional[Bucket], flat: torch.Tensor, step: int, tag: int, frozen: Set[int]):
        self.staging = stage(flat)
        self.bucket, self.flat = bucket, self.staging.host  # bucket: None for a sparse gradient
        self.step, self.tag = step, tag
        self.frozen = frozen  # indices of the slots that are frozen
        self.framed = bucket.framed() if bucket else []  # those that are packed; the others are averaged plainly
        self.closes_step = False
        self.measured: Any = None  # a future of Bucket.measure, if the ranks share statistics
        self.packing: List[Any] = []  # futures of Bucket.pack
        self.works: Works = []  # messages in flight
        self.messages: List[torch.Tensor] = []  # this rank's, one to each rank
        self.mean: Optional[torch.Tensor] = None  # this rank's message about means, in the plan shard
        self.done: List[int] = []  # of framed, those whose mean is that of the frames
        self.unused: Set[int] = set()  # indices of the slots that this rank's backward has not used
        self.dropped: Set[int] = set()  # of framed, those that no rank's backward has used
        self.error: Optional[BaseException] = None
        self.result = self.staging.result
        self.failure: Optional[BaseException] = None  # raised by value(); a future with devices pickles what it gets

    def measure(self):
        self.staging.wait()
        return self.bucket.measure(self.framed, self.flat, self.step)

    def pack(self, which: Sequence[int]):
        self.staging.wait()
        return self.bucket.pack(which, self.flat, self.frozen, self.step)

    def value(self, result: torch.futures.Future):
        if self.failure:
            raise self.failure
        return result.value()
