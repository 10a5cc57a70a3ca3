"""crumb.policy, which asks libcrumb_exchange: what a text gives each kind, and how errors come back.

The environment variable INTERNALS names a library of internal functions of exchange/. SPDX-License-Identifier: MIT
"""
import ctypes
import os
import pickle
import unittest

from counted import main

import crumb
from crumb.policy import KINDS, Policy, seed_of

internals = ctypes.CDLL(os.environ["INTERNALS"])
internals.crumb_kind_name.restype = ctypes.c_char_p
internals.crumb_message_mix.restype = ctypes.c_uint64
internals.crumb_message_mix.argtypes = [ctypes.c_uint64] * 2

LONG = 1 << 20


class Policies(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual([internals.crumb_kind_name(i).decode() for i in range(len(KINDS) + 1)], [*KINDS, "?"])

    def test_one_codec_is_for_weights(self):
        for info in crumb.codecs():
            with self.subTest(codec=info.name):
                policy = Policy(info.name)
                for kind in KINDS:
                    plain = kind in ("bias", "batchnorm") or (kind, info.name) == ("last", "terngrad")
                    want = crumb.Codec("raw" if plain else info.name)
                    self.assertEqual((policy.codecs[kind], policy.choose(kind, LONG), policy.choose(kind, 0)),
                                     (want, want, crumb.Codec("raw")))

    def test_rules(self):
        policy = Policy("conv=adacomp:bin=50;conv,bias=sign;fc=half")
        want = {"conv": "adacomp:bin=50", "fc": "half", "lstm": "raw", "embedding": "half", "bias": "sign",
                "batchnorm": "raw", "last": "half"}
        self.assertEqual(policy.codecs, {kind: crumb.Codec(spec) for kind, spec in want.items()})
        self.assertEqual(policy.choose("conv", 1), crumb.Codec("raw"))  # a frame would be longer
        self.assertEqual(policy.choose("conv", LONG), crumb.Codec("adacomp:bin=50"))
        with self.assertRaises(crumb.Error):
            policy.choose("dense", 1000)

    def test_an_error_says_where(self):
        many = "conv=sign;" * 1000
        for text, rest in (("conv=sgn", "gn"), ("conv=sign;dense=sign", "dense=sign"), ("conv=sign;", ""),
                           ("conv", "onv"), ("", ""), ("conv=sign;\xe9=raw", "\xe9=raw"), ("fc=sign\u2028", "\u2028"),
                           (many + "x", "x"), ("topk:fraction=" + "0" * 300, "0" * 59)):
            place = repr(rest) if rest else "its end"
            with self.subTest(text=text), self.assertRaises(crumb.Error) as caught:
                Policy(text)
            self.assertTrue(str(caught.exception).endswith(f": {text!r}, at {place}"), caught.exception)
        with self.assertRaisesRegex(crumb.Error, "zero character"):
            Policy("fc=sign\0;last=half")
        with self.assertRaises(ValueError):
            Policy("fc=sign\udc80")  # no text in UTF-8
        self.assertEqual(Policy(many + "fc=half").codecs["fc"], crumb.Codec("half"))

    def test_rules_that_keep_a_kind_raw(self):
        for text, kept in (("adacomp", ""), ("raw", ""), ("conv=adacomp", ""), ("fc=adacomp", ""),
                           ("conv=adacomp;fc=raw", "fc embedding last"), ("fc=adacomp;embedding=raw", "embedding"),
                           ("bias,batchnorm=raw", "bias batchnorm"), ("fc=raw;last=half", "fc embedding")):
            with self.subTest(text=text):
                policy = Policy(text)
                self.assertEqual({kind for kind in KINDS if policy.keeps_raw(kind)}, set(kept.split()))

    def test_printing_is_a_policy_again(self):
        for text in ("terngrad", "conv=adacomp:bin=50;fc=sign"):
            policy = Policy(text)
            self.assertEqual(Policy(str(policy)).codecs, policy.codecs)
            self.assertEqual(pickle.loads(pickle.dumps(policy)).codecs, policy.codecs)

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
                want = internals.crumb_message_mix(want, x)
            self.assertEqual(seed_of(seed, learner, tensor), want)


if __name__ == "__main__":
    main()
