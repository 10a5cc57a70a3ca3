"""The kind of each of a module's parameters, for a policy: conv, fc, lstm, embedding, bias, batchnorm or last.

SPDX-License-Identifier: MIT"""
from typing import Dict

from torch import nn
from torch.nn.modules import batchnorm, conv

_KINDS = (
    (conv._ConvNd, "conv"),
    ((nn.RNNBase, nn.RNNCellBase), "lstm"),
    ((nn.Embedding, nn.EmbeddingBag), "embedding"),
    ((batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm), "batchnorm"),
)


def _kind(module, name, parameter):
    """Returns a parameter's kind, except last. One of two or more axes in an unknown module counts as fc weights."""
    kind = next((kind for types, kind in _KINDS if isinstance(module, types)), "fc")
    if kind != "batchnorm" and (parameter.dim() < 2 or name.startswith("bias")):
        return "bias"
    return kind


def kinds_of(model: nn.Module) -> Dict[str, str]:
    """Returns the kind of every parameter, by name. last: the conv or fc weights that were registered last."""
    kinds = {}
    modules = dict(model.named_modules())
    for name, parameter in model.named_parameters():
        owner, _, leaf = name.rpartition(".")
        kinds[name] = _kind(modules[owner], leaf, parameter)
    weights = [name for name, kind in kinds.items() if kind in ("conv", "fc")]
    if weights:
        kinds[weights[-1]] = "last"
    return kinds
