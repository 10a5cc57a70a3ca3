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
from crumb.policy import Policy
from crumb.torch.kinds import kinds_of

CHARACTERS = 67
MOST_SLICES = 1000


class Slice(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("n", ctypes.c_size_t)]


internals = ctypes.CDLL(os.environ["INTERNALS"])
internals.slices_of.restype = ctypes.c_size_t
internals.slices_of.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]


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


def by_trainer(model):
    """Returns kind and number of elements of each slice of a network of crumb-train, and how many there are of each."""
    slices = (Slice * MOST_SLICES)()
    count = internals.slices_of(model.encode(), slices, MOST_SLICES)
    return Counter((one.kind.decode(), one.n) for one in slices[:count])


def by_hook(network):
    kinds = kinds_of(network)
    return Counter((kinds[name], weight.numel()) for name, weight in network.named_parameters())


class Kinds(unittest.TestCase):
    def test_a_tensor_is_of_the_same_kind_in_both(self):
        for name, network in NETWORKS.items():
            with self.subTest(network=name):
                self.assertEqual(by_trainer(name), by_hook(network))

    def test_one_word_compresses_all_but_biases_and_norms(self):
        for name in NETWORKS:
            for codec in (info.name for info in crumb.codecs()):
                policy = Policy(codec)
                for kind, n in by_trainer(name):
                    with self.subTest(network=name, codec=codec, kind=kind):
                        plain = kind in ("bias", "batchnorm") or (kind == "last" and codec == "terngrad")
                        self.assertEqual(policy.choose(kind, n), crumb.Codec("raw" if plain else codec))

    def test_normalisations(self):
        norms = [torch.nn.LayerNorm(4), torch.nn.GroupNorm(2, 4), torch.nn.BatchNorm1d(4), torch.nn.SyncBatchNorm(4),
                 torch.nn.InstanceNorm2d(4, affine=True)]
        norms += [torch.nn.RMSNorm(4)] if hasattr(torch.nn, "RMSNorm") else []
        for norm in norms:
            with self.subTest(norm=norm):
                self.assertEqual(set(kinds_of(norm).values()), {"batchnorm"})

    def test_a_tied_head_is_an_embedding(self):
        for name, network in NETWORKS.items():
            tied = network.head.weight is network.symbols.weight
            heads = {kind for kind, _ in by_trainer(name)} & {"embedding", "last"}
            self.assertEqual(heads, {"embedding"} if tied else {"embedding", "last"})

    def test_a_parametrized_weight_is_of_its_layer(self):
        network = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 1), torch.nn.Embedding(5, 2), torch.nn.LSTMCell(2, 2),
                                      torch.nn.LayerNorm(4), torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        before = kinds_of(network)
        for name in list(before):
            index, weights = name.split(".")
            torch.nn.utils.parametrize.register_parametrization(network[int(index)], weights, torch.nn.Identity())
        after = kinds_of(network)
        self.assertEqual({name.replace("parametrizations.", "").replace(".original", ""): kind
                          for name, kind in after.items()}, before)


if __name__ == "__main__":
    main()
