"""What a policy of one word means for a transformer: the same codec for each embedding, matrix, norm and head in
crumb-train's networks as in the same networks of PyTorch. SPDX-License-Identifier: MIT"""
import ctypes
import os
import unittest
from collections import Counter

from counted import main, need

need("torch")
import torch

import crumb
from crumb.library import CodecStruct
from crumb.policy import KINDS, Policy
from crumb.torch.kinds import kinds_of

exchange = ctypes.CDLL(os.environ["POLICY"])
exchange.crumb_policy_choose.restype = CodecStruct
exchange.crumb_policy_choose.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
exchange.slices_of.restype = ctypes.c_size_t
exchange.slices_of.argtypes = [ctypes.c_char_p, ctypes.c_size_t, *2 * [ctypes.c_void_p]]

CHARACTERS = 67


class Transformer(torch.nn.Module):
    """Parameters alone, of pre-norm blocks as GPT-2 has them; tied: the head's weights are the embedding's."""

    def __init__(self, blocks, channels, places, tied):
        super().__init__()
        self.symbols, self.places = torch.nn.Embedding(CHARACTERS, channels), torch.nn.Embedding(places, channels)
        self.blocks = torch.nn.ModuleList(torch.nn.Sequential(
            torch.nn.LayerNorm(channels), torch.nn.Linear(channels, 3 * channels), torch.nn.Linear(channels, channels),
            torch.nn.LayerNorm(channels), torch.nn.Linear(channels, 4 * channels),
            torch.nn.Linear(4 * channels, channels)) for _ in range(blocks))
        self.norm, self.head = torch.nn.LayerNorm(channels), torch.nn.Linear(channels, CHARACTERS, bias=not tied)
        if tied:
            self.head.weight = self.symbols.weight


NETWORKS = {"gpt-mini": Transformer(5, 128, 64, False), "gpt-small": Transformer(6, 384, 256, True)}


def slices(model):
    """Yields kind and number of elements of each slice of a network of crumb-train."""
    kind, n = ctypes.c_int(), ctypes.c_size_t()
    for i in range(exchange.slices_of(model.encode(), 0, ctypes.byref(kind), ctypes.byref(n))):
        exchange.slices_of(model.encode(), i, ctypes.byref(kind), ctypes.byref(n))
        yield kind.value, n.value


def by_trainer(model, text):
    policy = (CodecStruct * len(KINDS))()
    assert exchange.crumb_policy_parse(policy, text.encode(), None) == 0, text
    return Counter((KINDS[kind], n, str(crumb.Codec.from_struct(exchange.crumb_policy_choose(policy, kind, n))))
                   for kind, n in slices(model))


def by_hook(network, text):
    policy, kinds = Policy(text), kinds_of(network)
    return Counter((kinds[name], weight.numel(), str(policy.choose(kinds[name], weight.numel())))
                   for name, weight in network.named_parameters())


class Kinds(unittest.TestCase):
    def test_one_word_means_the_same_in_both(self):
        for name, network in NETWORKS.items():
            for codec in (info.name for info in crumb.codecs()):
                with self.subTest(network=name, codec=codec):
                    found = by_trainer(name, codec)
                    self.assertEqual(found, by_hook(network, codec))
                    for kind, _, chosen in found:
                        plain = kind in ("bias", "batchnorm") or (kind == "last" and codec == "terngrad")
                        self.assertEqual(chosen, "raw" if plain else codec, kind)

    def test_a_tied_head_is_an_embedding(self):
        for name, network in NETWORKS.items():
            tied = network.head.weight is network.symbols.weight
            heads = [kind for kind, *_ in by_trainer(name, "half") if kind in ("embedding", "last")]
            self.assertEqual(sorted(set(heads)), ["embedding"] if tied else ["embedding", "last"])


if __name__ == "__main__":
    main()
