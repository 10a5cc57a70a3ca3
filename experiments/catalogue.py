"""The experiments: the papers' and the project's own. Declarations only: experiments/run carries them out,
experiments/claims.py judges them and experiments/tables writes them down. SPDX-License-Identifier: MIT"""
import adacomp
import alq
import gpt
import mxnet
import terngrad
from claims import at_least, mean_of, near
from experiment import Experiment, Paper, rows
from policies import ADACOMP

DEMO = ["conv=adacomp:bin=50;fc,last=adacomp:bin=500", "terngrad", "twobit:threshold=0.01"]
MNIST = [ADACOMP, "terngrad", "twobit:threshold=0.01"]


def smaller(task, codec, times):
    return at_least("", f"{task}: {codec} is {times} times smaller", mean_of("ratio"),
                    [(task, 8, codec), (task, 8, "raw")], times)


OWN = {
    "mnist": Experiment(
        "LeNet on MNIST, 8 learners: the codecs of three papers beside none at all",
        rows("mnist-cnn", 8, ["raw", *MNIST], seeds=(1, 2, 3), quick=True) + rows("mnist-cnn", 8, ["twobit"]),
        claims=[near("", "mnist-cnn", 8, codec) for codec in MNIST] +
               [smaller("mnist-cnn", codec, times) for codec, times in zip(MNIST, (40, 15, 15))]),
    "demo": Experiment(
        "What scripts/demo shows: LeNet on digits that crumb-train draws, 8 learners",
        rows("demo", 8, ["raw", *DEMO], quick=True),
        claims=[near("", "demo", 8, codec, margin=1) for codec in DEMO] +
               [smaller("demo", codec, times) for codec, times in zip(DEMO, (50, 15, 15))]),
    "codecs": Experiment(
        "Every codec at its defaults, and with settings that suit the network, on digits that crumb-train draws",
        rows("digits-cnn", 8, [
            "raw", "half", "twobit", "twobit:threshold=0.1", "terngrad", "adacomp", DEMO[0], "sign", "local",
            "conv=raw;fc,last=local", "onebit", "strom", "topk", "topk:fraction=0.01", "conv=raw;fc,last=topk", "seide",
            "qsgd", "nuqsgd", "natural", "alq", "amq", "zipml", "chunk", "block", "dgc"], seeds=(1, 2, 3))),
}
PAPERS = [
    Paper("AdaComp (Chen et al., AAAI 2018)", adacomp.TEXT, adacomp.EXPERIMENTS, "adacomp-fig2"),
    Paper("TernGrad (Wen et al., NeurIPS 2017)", terngrad.TEXT, terngrad.EXPERIMENTS, "terngrad-fig3"),
    Paper("ALQ and AMQ (Faghri et al., NeurIPS 2020)", alq.TEXT, alq.EXPERIMENTS, "alq-table"),
    Paper("MXNet's page on gradient compression", mxnet.TEXT, mxnet.EXPERIMENTS, "mxnet-2bit"),
    Paper("A transformer under AdamW", gpt.TEXT, gpt.EXPERIMENTS, "gpt"),
]
EXPERIMENTS = OWN | {name: it for paper in PAPERS for name, it in paper.experiments.items()}
