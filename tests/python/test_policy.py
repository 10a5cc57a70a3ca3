"""crumb.policy compared with exchange/policy.c: the same codecs for the same text, and the same refusals.

The environment variable POLICY names exchange/policy.c, compiled as a library. SPDX-License-Identifier: MIT
"""
import ctypes
import os
import random
import unittest

from counted import main

import crumb
from crumb.library import CodecStruct
from crumb.policy import KINDS, Policy, seed_of

exchange = ctypes.CDLL(os.environ["POLICY"])
exchange.crumb_kind_name.restype = ctypes.c_char_p
exchange.crumb_policy_choose.restype = CodecStruct
exchange.crumb_policy_choose.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
exchange.crumb_message_mix.restype = ctypes.c_uint64
exchange.crumb_message_mix.argtypes = [ctypes.c_uint64] * 2

WORDS = [*KINDS, *(info.name for info in crumb.codecs()), "adacomp:bin=50", "twobit:threshold=0.25", "nothing", "",
         "conv=", "=", ",", ";", ":", "=raw", ";fc=sign", "bias,batchnorm=half", "bin=5"]


def by_exchange(text):
    policy = (CodecStruct * len(KINDS))()
    if exchange.crumb_policy_parse(policy, text.encode(), None):
        return None
    return [str(crumb.Codec.from_struct(exchange.crumb_policy_choose(policy, kind, n)))
            for kind in range(len(KINDS)) for n in (0, 1, 100, 100000)]


def by_python(text):
    try:
        policy = Policy(text)
    except ValueError:
        return None
    return [str(policy.choose(kind, n)) for kind in KINDS for n in (0, 1, 100, 100000)]


class Policies(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual([exchange.crumb_kind_name(i).decode() for i in range(len(KINDS))], list(KINDS))

    def test_the_same_codecs_and_refusals(self):
        chance = random.Random(1)
        texts = [info.name for info in crumb.codecs()]
        texts += ["conv=adacomp:bin=50;fc,last=adacomp;bias=raw", "fc=sign", "last=sign;fc=half"]
        texts += ["conv=half;conv,fc=sign"]
        texts += ["".join(chance.choices(WORDS, k=chance.randint(1, 5))) for _ in range(3000)]
        accepted = 0
        for text in texts:
            with self.subTest(text=text):
                want = by_exchange(text)
                self.assertEqual(by_python(text), want)
                accepted += want is not None
        self.assertGreater(accepted, 100)

    def test_printing_is_a_policy_again(self):
        for text in ("terngrad", "conv=adacomp:bin=50;fc=sign"):
            self.assertEqual(by_python(str(Policy(text))), by_python(text))

    def test_mxnet(self):
        for params, spec in (({"type": "2bit"}, "twobit"),
                             ({"type": "2bit", "threshold": 0.01}, "twobit:threshold=0.01"),
                             ({"type": "2bit", "threshold": "auto"}, "twobit:threshold=auto"),
                             ({"type": "1bit", "threshold": 0.125}, "onebit:threshold=0.125")):
            self.assertEqual(str(Policy.from_params(params).choose("fc", 1000)), spec)
        for params in ({}, {"type": "3bit"}, {"type": ["2bit"]}, {"type": "2bit", "level": 1},
                       {"type": "2bit", "threshold": -1}, {"threshold": 1}, {"type": "1bit", "threshold": "auto"}):
            with self.assertRaises(ValueError):
                Policy.from_params(params)

    def test_seeds(self):
        for seed, learner, tensor in ((0, 0, 0), (1, 2, 3), (1 << 63, 7, 1000), (5, 0, 1)):
            want = 0
            for x in (seed, learner, tensor):
                want = exchange.crumb_message_mix(want, x)
            self.assertEqual(seed_of(seed, learner, tensor), want)


if __name__ == "__main__":
    main()
