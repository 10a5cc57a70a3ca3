"""The kind of each of a module's parameters, for a policy: conv, fc, lstm, embedding, bias, batchnorm or last.

SPDX-License-Identifier: MIT"""
from typing import Dict

from torch import Tensor, nn
from torch.nn.modules import batchnorm, conv
from torch.nn.utils.parametrize import ParametrizationList

_NEWER = [nn.RMSNorm] if hasattr(nn, "RMSNorm") else []  # since PyTorch 2.4
_KINDS = (
    (conv._ConvNd, "conv"),
    ((nn.RNNBase, nn.RNNCellBase), "lstm"),
    ((nn.Embedding, nn.EmbeddingBag), "embedding"),
    ((batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, *_NEWER), "batchnorm"),
)


def _kind(module, name, parameter):
    """Returns a parameter's kind, except last. One of two or more axes in an unknown module counts as fc weights."""
    kind = next((kind for types, kind in _KINDS if isinstance(module, types)), "fc")
    if kind != "batchnorm" and (parameter.dim() < 2 or name.startswith("bias")):
        return "bias"
    return kind


def plain(name: str) -> str:
    """Returns a parameter's name without torch.compile's prefixes: a compiled model's state is the plain one's."""
    return name.replace("_orig_mod.", "")


def kinds_of(model: nn.Module) -> Dict[str, str]:
    """Returns the kind of every parameter, by plain name. last: the conv or fc weights that were registered last.
    Weights that an embedding shares with another module, such as a language model's head, are an embedding; those
    of a parametrization, such as weight_norm's, are of the kind of the layer's own."""
    kinds: Dict[Tensor, str] = {}
    head = None
    for path, module in model.named_modules():
        layer, whole = module, ""
        if isinstance(module, ParametrizationList):
            owner, _, whole = path.rpartition("parametrizations.")
            layer = model.get_submodule(owner[:-1])
        for name, parameter in module.named_parameters(recurse=False):
            kind = _kind(layer, whole or name, parameter)
            if kind in ("conv", "fc"):
                head = parameter
            if kind == "embedding" or parameter not in kinds:
                kinds[parameter] = kind
    if head is not None and kinds[head] in ("conv", "fc"):
        kinds[head] = "last"
    return {plain(name): kinds[parameter] for name, parameter in model.named_parameters()}
