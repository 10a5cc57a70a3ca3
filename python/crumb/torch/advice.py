"""What a policy leaves uncompressed in a model. SPDX-License-Identifier: MIT"""
from typing import Dict, Iterable, Optional, Tuple

from crumb.codec import Codec
from crumb.policy import Policy

_THIRD = 1 / 3  # of a model's bytes: what may be left uncompressed without a word


def advice(policy: Policy, parts: Iterable[Tuple[str, int, bool]]) -> Optional[str]:
    """Returns a sentence if the policy packs nothing, or leaves a third of the bytes uncompressed that it does not say
    are to be raw; None for others. parts: each parameter's kind, bytes, and whether it is packed."""
    raw = Codec("raw")
    if all(codec == raw for codec in policy.codecs.values()):
        return None
    total = left = 0
    unsaid: Dict[str, int] = {}
    for kind, size, packed in parts:
        total += size
        if not packed:
            left += size
            unsaid[kind] = unsaid.get(kind, 0) + (0 if policy.keeps_raw(kind) else size)
    if not total or (sum(unsaid.values()) < _THIRD * total and left < total):
        return None
    kinds = ", ".join(f"{kind} {100 * size / total:.0f} %" for kind, size in unsaid.items() if size)
    return (f"crumb: the policy {policy} leaves {100 * left / total:.0f} % of the gradient's bytes uncompressed "
            f"({kinds}), so that the ratio cannot exceed {total / left:.1f}")
