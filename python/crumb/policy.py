"""Policies, texts that give each kind of tensor a codec; the same language as in exchange/policy.h.

A policy is rules KIND[,KIND...]=SPEC joined by ';', of which the first one for a kind counts:
"conv=adacomp:bin=50;fc,last=adacomp:bin=500;bias=raw". A kind without a rule is raw, but last and embedding without a
rule are as fc. A single SPEC gives all weights that codec, and bias and batchnorm raw; terngrad leaves last raw, too.

SPDX-License-Identifier: MIT
"""
from typing import Any, Dict, Mapping

from crumb.codec import Codec

KINDS = "conv", "fc", "lstm", "embedding", "bias", "batchnorm", "last"
_WEIGHTS = "conv", "fc", "lstm", "embedding"
_AS_FC = "last", "embedding"  # without a rule of their own
_LAST_STAYS_RAW = "terngrad",  # NeurIPS 2017, section 5
_MXNET = {"2bit": "twobit", "1bit": "onebit"}


def _rules(text: str) -> Dict[str, Codec]:
    codecs: Dict[str, Codec] = {}
    for rule in text.split(";"):
        kinds, equals, spec = rule.partition("=")
        for kind in kinds.split(","):
            if kind not in KINDS or not equals:
                raise ValueError(f"crumb: {text!r}: {rule!r} is no rule KIND=SPEC with KIND one of {', '.join(KINDS)}")
        codec = Codec(spec)
        for kind in kinds.split(","):
            codecs.setdefault(kind, codec)
    return codecs


def _single(spec: str) -> Dict[str, Codec]:
    codec = Codec(spec)
    last = () if codec.name in _LAST_STAYS_RAW else ("last",)
    return dict.fromkeys((*_WEIGHTS, *last), codec)


class Policy:
    """A codec for each kind of tensor. codecs: by kind; a kind that is not there is raw. named: the kinds that rules of
    the text name. Raises ValueError (of which Error is a subclass) if the text is no policy."""

    def __init__(self, text: str):
        name = text[:min([text.find(mark) for mark in ":,=;" if mark in text], default=len(text))]
        rules = name != text and text[len(name)] != ":"
        named = _rules(text) if rules else {}
        self.named = frozenset(named)
        self.codecs = {**dict.fromkeys(_AS_FC, named.get("fc", Codec("raw"))), **named} if rules else _single(text)

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
        """Returns the codec for n elements of a kind: the policy's, or raw if its bound is not below 4 n bytes."""
        raw = Codec("raw")
        codec = self.codecs.get(kind, raw)
        return codec if 0 < codec.bound(n) < 4 * n else raw

    def __str__(self) -> str:
        return ";".join(f"{kind}={self.codecs.get(kind, 'raw')}" for kind in KINDS)


def seed_of(seed: int, learner: int, tensor: int) -> int:
    """Returns the seed of a learner's packer for a tensor, a hash of the three numbers: crumb_exchange_seed's."""
    mask, h = (1 << 64) - 1, 0
    for x in (seed, learner, tensor):
        h = (h ^ x & mask) + 0x9E3779B97F4A7C15 & mask
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
        h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
        h ^= h >> 31
    return h
