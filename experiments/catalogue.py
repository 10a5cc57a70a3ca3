"""The experiments: what the papers claim, the runs that ask for it here, and what these have to show. Declarations only;
experiments/run carries them out, experiments/claims.py judges and experiments/tables writes down. SPDX-License-Identifier: MIT"""
from collections import namedtuple

from claims import near, ordered, owes

# A network, its data and its recipe: options of crumb-train, and those of its quick run, on data that crumb-train draws.
Task = namedtuple("Task", "options quick")
MNIST = "--data mnist:$CRUMB_DATA/mnist --model lenet"
CIFAR = "--data cifar10:$CRUMB_DATA/cifar-10-batches-bin"
QUICK_MNIST = "--data digits:600 --model lenet --batch 30 --epochs 2 --lr 0.03 --momentum 0.9"
QUICK_CIFAR = "--data digits:600 --model cifar-cnn --batch 30 --epochs 3 --lr 0.02 --momentum 0.9"


def cifar(batch=128, epochs=8, rest="--lr 0.02 --momentum 0.9 --weight-decay 0.0005 --schedule cosine"):
    return f"{CIFAR} --model cifar-cnn --batch {batch} --epochs {epochs} {rest}"


TASKS = {
    "mnist-cnn": Task(f"{MNIST} --batch 100 --epochs 20 --lr 0.01 --momentum 0.9 --schedule cosine", QUICK_MNIST),
    "mnist-cnn, short": Task(f"{MNIST} --batch 128 --epochs 4 --lr 0.02 --momentum 0.9 --schedule cosine", QUICK_MNIST),
    "mnist-cnn, short, no momentum": Task(f"{MNIST} --batch 128 --epochs 4 --lr 0.1 --momentum 0 --schedule cosine", QUICK_MNIST),
    "cifar10-cnn": Task(cifar(), QUICK_CIFAR),
    "cifar10-cnn, Adam": Task(cifar(rest="--optimizer adam --lr 0.001 --schedule cosine"),
                              QUICK_CIFAR.replace("--lr 0.02 --momentum 0.9", "--optimizer adam --lr 0.002")),
    "cifar10-cnn, RMSProp": Task(cifar(rest="--optimizer rmsprop --lr 0.0005 --schedule cosine"),
                                 QUICK_CIFAR.replace("--lr 0.02 --momentum 0.9", "--optimizer rmsprop --lr 0.001")),
    "speech-dnn": Task(
        "--data idx:$CRUMB_DATA/fsdd --model bn50-dnn --batch 256 --epochs 6 --lr 0.05 --momentum 0.9 --schedule cosine",
        QUICK_MNIST),
    "digits-cnn": Task("--data digits --model lenet --batch 100 --epochs 2 --lr 0.01 --momentum 0.9", QUICK_MNIST),
}
TASKS |= {f"cifar10-cnn, batch {batch}, 1 epoch": Task(cifar(batch, 1), QUICK_CIFAR) for batch in (128, 512, 2048)}


def adacomp(conv=50, fc=500):
    return f"conv=adacomp:bin={conv};fc,last=adacomp:bin={fc};bias=raw"


def local(conv=50, fc=500):
    return f"conv=local:bin={conv};fc,last=local:bin={fc}"


ADACOMP = adacomp()

# One run: of a task, by so many learners, with a codec; quick: the quick mode has it, too.
Row = namedtuple("Row", "task learners codec seed quick")


def rows(task, learners, codecs, seeds=(1,), quick=False):
    return [Row(task, learners, codec, seed, quick and seed == 1) for seed in seeds for codec in codecs]


# rows: in order of value. claims: what they have to show. paper: test error in percent by task and codec, where the paper tells it.
# text: what differs from the paper; not_run: what of it is left out, and why.
Experiment = namedtuple("Experiment", "title rows claims paper text not_run", defaults=((), {}, "", ""))

EXPERIMENTS = {
    "mnist": Experiment(
        "LeNet on MNIST, 8 learners: the codecs of three papers beside none at all",
        rows("mnist-cnn", 8, ["raw", ADACOMP, "terngrad", "twobit:threshold=0.01"], seeds=(1, 2, 3)) + rows("mnist-cnn", 8, ["twobit"])),
    "adacomp-table2": Experiment(
        "AdaComp, table 2: a network trains as well as without",
        rows("cifar10-cnn", 8, ["raw", ADACOMP], quick=True) + rows("speech-dnn", 4, ["raw", ADACOMP], quick=True) +
        rows("mnist-cnn", 8, ["raw", ADACOMP], seeds=(1, 2, 3), quick=True) +
        rows("cifar10-cnn", 128, [ADACOMP]) + rows("cifar10-cnn", 8, ["raw", ADACOMP], seeds=(2, 3)),
        claims=[near("mnist-cnn", 8, ADACOMP, points=0.5, ratio=40), near("cifar10-cnn", 8, ADACOMP, points=0.5, ratio=30),
                near("speech-dnn", 4, ADACOMP, points=0.5, ratio=50)],
        paper={("mnist-cnn", "raw"): 0.88, ("mnist-cnn", ADACOMP): 0.85, ("cifar10-cnn", "raw"): 18.0, ("cifar10-cnn", ADACOMP): 18.4,
               ("speech-dnn", "raw"): 59.8, ("speech-dnn", ADACOMP): 59.8}),
    "adacomp-fig2": Experiment(
        "AdaComp, figure 2: error by epoch, also with bins of 800 and 8000",
        rows("cifar10-cnn", 8, ["raw", ADACOMP, adacomp(800, 8000)], quick=True),
        claims=[near("cifar10-cnn", 8, ADACOMP, points=0.5, ratio=30)]),
    "adacomp-fig4": Experiment(
        "AdaComp, figure 4: error against rate, beside local selection and Dryden et al.'s top-k",
        rows("cifar10-cnn", 8, ["raw", ADACOMP, adacomp(500, 5000), local(), "topk:fraction=0.003", local(500, 5000)], quick=True) +
        rows("cifar10-cnn", 8, [adacomp(5000, 5000), "topk:fraction=0.001", local(200, 2000), "topk:fraction=0.01"]),
        claims=[ordered("error", "cifar10-cnn", 8, [ADACOMP, local()]),
                ordered("error", "cifar10-cnn", 8, [adacomp(500, 5000), local(500, 5000)])]),
    "adacomp-fig5-6": Experiment(
        "AdaComp, figures 5 and 6: with local selection alone, what is owed grows; with AdaComp it does not",
        rows("cifar10-cnn", 8, [ADACOMP, local(), local(500, 5000), adacomp(500, 5000)], quick=True),
        claims=[owes("cifar10-cnn", 8, local(), than=ADACOMP, factor=1.5)]),
    "mxnet-2bit": Experiment(
        "MXNet's 2-bit codec: how the threshold decides",
        rows("mnist-cnn, short", 8, ["raw", "twobit:threshold=0.01", "twobit:threshold=10"], quick=True) +
        rows("mnist-cnn, short", 8, ["twobit", "twobit:threshold=0.1", "twobit:threshold=0.001"]),
        claims=[near("mnist-cnn, short", 8, "twobit:threshold=0.01", points=0.5, ratio=15),
                ordered("error", "mnist-cnn, short", 8, ["twobit:threshold=0.01", "twobit:threshold=10"])]),
    "terngrad-fig3": Experiment(
        "TernGrad, figure 3: LeNet on MNIST by 2 to 64 workers, two optimizers",
        rows("mnist-cnn, short", 8, ["raw", "terngrad"], quick=True) + rows("mnist-cnn, short", 2, ["terngrad"]) +
        rows("mnist-cnn, short", 32, ["terngrad"]) + rows("mnist-cnn, short, no momentum", 8, ["raw", "terngrad"]) +
        rows("mnist-cnn, short", 64, ["terngrad"]),
        claims=[near("mnist-cnn, short", 8, "terngrad", points=0.5, ratio=15)]),
    "adacomp-fig3": Experiment(
        "AdaComp, figure 3: with Adam; and with RMSProp",
        rows("cifar10-cnn, Adam", 8, ["raw", ADACOMP], quick=True) + rows("cifar10-cnn, RMSProp", 8, ["raw", ADACOMP]),
        claims=[near("cifar10-cnn, Adam", 8, ADACOMP, points=0.5, ratio=30)],
        paper={("cifar10-cnn, Adam", "raw"): 18.1, ("cifar10-cnn, Adam", ADACOMP): 18.3}),
    "adacomp-fig7": Experiment(
        "AdaComp, figure 7: the rate falls with the mini-batch and rises with the number of learners",
        [row for learners in (1, 8, 64) for row in rows("cifar10-cnn, batch 128, 1 epoch", learners, [ADACOMP])] +
        [row for batch in (512, 2048) for row in rows(f"cifar10-cnn, batch {batch}, 1 epoch", 8, [ADACOMP])]),
    "codecs": Experiment(
        "Every codec at its defaults, and with settings that suit the network, on digits that crumb-train draws",
        rows("digits-cnn", 8, [
            "raw", "half", "twobit", "twobit:threshold=0.1", "terngrad", "adacomp", "conv=adacomp:bin=50;fc,last=adacomp:bin=500", "sign",
            "local", "conv=raw;fc,last=local", "onebit", "strom", "topk", "topk:fraction=0.01", "conv=raw;fc,last=topk", "seide", "qsgd",
            "nuqsgd", "natural", "alq", "amq", "zipml"], seeds=(1, 2, 3))),
}
