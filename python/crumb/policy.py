"""Policies, texts that give each kind of tensor a codec, as libcrumb_exchange reads them.

A policy is rules KIND[,KIND...]=SPEC joined by ';', of which the first one for a kind counts:
"conv=adacomp:bin=50;fc,last=adacomp:bin=500;bias=raw". A kind without a rule is raw, but last and embedding without a
rule are as fc. A single SPEC gives all weights that codec, and bias and batchnorm raw; terngrad leaves last raw, too.

SPDX-License-Identifier: MIT
"""
from typing import Any, Mapping

from crumb.codec import Codec, parse
from crumb.error import Error
from crumb.library import load_exchange

KINDS = "conv", "fc", "lstm", "embedding", "bias", "batchnorm", "last"
_ANY_LENGTH = (1 << 64) - 1  # SIZE_MAX
_MXNET = {"2bit": "twobit", "1bit": "onebit"}
_exchange = load_exchange()


class Policy:
    """A codec for each kind of tensor. codecs: by kind. Raises Error, as Codec does, if the text is no policy."""

    def __init__(self, text: str):
        self._text = text
        self.codecs = {kind: self.choose(kind, _ANY_LENGTH) for kind in KINDS}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> "Policy":
        """Returns the policy of MXNet's compression_params: type is "2bit" or "1bit", threshold a number or "auto".

        The default threshold is 0.5. Raises ValueError for other keys or values."""
        unknown = set(params) - {"type", "threshold"}
        if unknown or params.get("type") not in tuple(_MXNET):
            raise ValueError(f"crumb: compression_params take type ({', '.join(_MXNET)}) and threshold, "
                             f"not {dict(params)}")
        threshold = params.get("threshold", 0.5)
        value = threshold if threshold == "auto" else repr(float(threshold))
        return cls(f"{_MXNET[params['type']]}:threshold={value}")

    def choose(self, kind: str, n: int) -> Codec:
        """Returns the codec for n elements of a kind: the policy's, or raw if its frames could be longer than f32."""
        return Codec.from_struct(parse(self._text, lambda codec, text, bad: _exchange.crumb_exchange_policy(
            codec, text, kind.encode(), n, bad)))

    def keeps_raw(self, kind: str) -> bool:
        """Returns true if a rule makes the kind raw, and false if it is raw because no rule names it."""
        every = ",".join(kind for kind in KINDS if kind not in ("embedding", "last"))  # these two may be as fc
        try:  # the first rule for a kind counts, so that one more changes a kind that no rule names
            return Policy(f"{self._text};{every}=half").codecs[kind].name == "raw"
        except Error:
            return False  # a single SPEC

    def __str__(self) -> str:
        return ";".join(f"{kind}={codec}" for kind, codec in self.codecs.items())


def seed_of(seed: int, learner: int, tensor: int) -> int:
    """Returns the seed of a learner's packer for a tensor, a hash of the three numbers: crumb_exchange_seed's."""
    mask, h = (1 << 64) - 1, 0
    for x in (seed, learner, tensor):
        h = (h ^ x & mask) + 0x9E3779B97F4A7C15 & mask
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
        h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
        h ^= h >> 31
    return h
