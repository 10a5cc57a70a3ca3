"""AdaComp (Chen et al., AAAI 2018): its table 2 and figures 1 to 7. SPDX-License-Identifier: MIT"""
import math

from claims import (above, at_least, counted, growth, has_nan, mean_of, measured, near, ordered, residual_by_gradient,
                    residual_growth, rising, sent_less_later)
from experiment import Experiment, Figure, rows
from policies import (ADACOMP, ADACOMP_LSTM, BOTH, CONV_ONE_BIT, FC_TOP, adacomp, fc_alone, local, name_of)
from tasks import BATCHES, ONE_EPOCH, TWENTY_EPOCHS, epochs

LONG = "cifar10-cnn, 140 epochs"
SEEDS = (1, 2, 3)
MARGIN = 0.5  # points

# ---- table 2 ----
TABLE2 = (
    rows("cifar10-cnn", 8, ["raw", ADACOMP], quick=True) + rows("speech-dnn", 4, ["raw", ADACOMP], quick=True) +
    rows("mnist-cnn", 8, ["raw", ADACOMP], seeds=SEEDS, quick=True) +
    rows(LONG, 8, ["raw", ADACOMP]) + rows(LONG, 128, [ADACOMP]) + rows(LONG, 8, ["raw", ADACOMP], seeds=(2, 3)) +
    rows(LONG, 128, [ADACOMP], seeds=(2, 3)) +
    rows("mnist-cnn, 100 epochs", 8, ["raw", ADACOMP], seeds=SEEDS) +
    rows("char-lstm", 2, ["raw", ADACOMP_LSTM]) +
    rows("char-lstm, 3 epochs", 2, ["raw", ADACOMP_LSTM]) +
    rows("speech-dnn, 3 epochs", 4, ["raw", ADACOMP]) + rows("char-lstm", 8, [ADACOMP_LSTM]) +
    rows("cifar10-resnet20", 8, ["raw", ADACOMP]) + rows("cifar10-cnn", 128, [ADACOMP]) +
    rows("cifar10-cnn", 8, ["raw", ADACOMP], seeds=(2, 3)) +
    rows("cifar10-cnn, 20 epochs", 8, ["raw", ADACOMP], seeds=SEEDS) +
    rows("speech-dnn, 3 epochs", 4, ["raw", ADACOMP], seeds=(2, 3)) +
    rows("speech-dnn, 13 epochs", 4, ["raw", ADACOMP]) + rows("cifar10-resnet20, 5 epochs", 8, ["raw", ADACOMP]) +
    rows("cifar10-resnet20, 5 epochs, a batch of 32", 8, ["raw", ADACOMP]) +
    rows("cifar10-resnet20, 12 epochs, a batch of 32", 8, ["raw", ADACOMP]) +
    rows("mnist-mlp", 8, ["raw", ADACOMP]) +
    rows("cifar10-cnn, 20 epochs, half the rate", 8, ["raw", ADACOMP], seeds=SEEDS) +
    rows("cifar10-cnn, 20 epochs, half the rate", 1, [ADACOMP]) +
    rows("speech-dnn, 13 epochs", (8, 1), [ADACOMP]) + rows("speech-dnn, 3 epochs", (1, 8), [ADACOMP]) +
    rows("char-lstm, 3 epochs", 8, [ADACOMP_LSTM]) + rows("cifar10-cnn", (64, 16, 1), [ADACOMP]) +
    rows("speech-dnn, 13 epochs", 4, ["raw"], seeds=(2, 3)) +
    rows("speech-dnn, 13 epochs", (1, 8), [ADACOMP], seeds=(2, 3)) +
    rows("speech-dnn, 13 epochs, half the rate", 8, ["raw", ADACOMP]) +
    rows("speech-dnn, 13 epochs, half the rate", (1, 4), [ADACOMP]) +
    rows("char-lstm, 45 epochs", 8, ["raw", ADACOMP_LSTM]))
PUBLISHED = {"mnist": "0.88 -> 0.85 %, 8 learners", "cifar10-cnn": "18.0 -> 18.4 %, 128 learners",
             "cifar10-resnet20": "ResNet-18 on ImageNet: 32.41 -> 32.87 %, 4 learners",
             "speech-dnn": "BN50: 59.8 -> 59.8 %, 8 learners", "char-lstm": "1.73 -> 1.75, 8 learners"}
SETTINGS = list(dict.fromkeys((row.task, row.learners, row.codec) for row in TABLE2 if row.codec != "raw"))


def published(task):
    return next((numbers for name, numbers in PUBLISHED.items() if task.startswith(name) and task != "mnist-mlp"), "")


def quick_of(setting):
    return any(row.quick for row in TABLE2 if (row.task, row.learners, row.codec) == setting)


# ---- figures ----
FIG4, FIG4_SLOW = "cifar10-cnn, 20 epochs", "cifar10-cnn, 20 epochs, half the rate"
AT_200 = [adacomp(500, 500), local(100, 100), "topk:fraction=0.005"]
AT_2000 = [adacomp(5000, 5000), local(1000, 1000), "topk:fraction=0.0005"]
FIG5 = "cifar10-cnn, 60 epochs, by layer"
LS200, LS300, ADA5000 = (fc_alone(spec) for spec in ("local:bin=200", "local:bin=300", "adacomp:bin=5000"))
BY_LAYER = "cifar10-cnn, 2 epochs, by layer"
BINS = [ADACOMP, adacomp(200, 2000), adacomp(500, 5000)]
FRACTIONS = [f"topk:fraction={fraction:g}" for fraction in (0.1, 0.03, 0.01, 0.003, 0.001)]


def best_rate(results, task, codecs):
    """Returns the greatest ratio among codecs that are within a point of raw, and True; if none is, the least ratio of
    all, which the best is below, and False; None: a row is missing."""
    pairs = [(results.beside_raw(task, 8, codec), results.mean("ratio", task, 8, codec)) for codec in codecs]
    if any(None in pair for pair in pairs):
        return None
    if has_nan(pairs):
        return math.nan, False
    good = [ratio for (raw, own), ratio in pairs if abs(own - raw) <= 1]
    return (max(good), True) if good else (min(ratio for _, ratio in pairs), False)


def beside_dryden(batch):
    def value(results):
        best = [best_rate(results, TWENTY_EPOCHS[batch], codecs) for codecs in (BINS, FRACTIONS)]
        return None if None in best else best

    def show(best):
        return ", ".join(f"{name} {'' if good else 'below '}{ratio:.0f}" for name, (ratio, good) in
                         zip(("AdaComp", "top-k"), best))

    return measured("figure 7a", f"20 epochs, a batch of {batch}: AdaComp's best ratio within a point of raw is "
                    "at least 5 times top-k's", [(TWENTY_EPOCHS[batch], 8, codec) for codec in BINS + FRACTIONS], value,
                    lambda best: best[0][1] and best[0][0] >= 5 * best[1][0], "5 to 10 times", show)


TEXT = ("As the paper counts, convolutions are sent 40 times smaller and other layers 200 times in 20 of 32 rows; the "
        "others miss it with one learner, with Adam and RMSProp, or in the last layer of ResNet-20 and of the LSTM "
        "after one epoch. On CIFAR10-CNN and speech the ratio rises with the learners, on Shakespeare after one epoch "
        "it does not. It is higher for smaller batches after one epoch, in which these take more steps; figure 7a is "
        "of networks that are trained. More is sent in the first quarter of the epochs than in the last in 15 of 21 "
        "rows. On CIFAR10-CNN at the full rate of learning that holds with 64 and 128 learners only, and on MNIST-CNN "
        "not in 100 epochs.\n\n*Accuracy at the paper's length.* MNIST-CNN, after 100 epochs, is 0.06 points ahead of "
        "raw in the mean of three seeds (0.13 and 0.03 behind; 0.35 ahead where raw errs 1.21 %, and 0.77 and 0.85 % "
        "with the other seeds). CIFAR10-CNN, after 140, with eight learners instead of 128, is 0.15 points behind in "
        "the mean of three (0.25 behind, 0.02 ahead, 0.22 behind). Both hold by the margin of half a point: on "
        "MNIST-CNN that is half of raw's error, and on CIFAR10-CNN 128 learners have not been run for 140 epochs. Raw "
        "errs six points more than in the paper on CIFAR-10, which was made again from JPEGs here; 140 epochs also "
        "overfit (raw's training loss is 0.02, and with a schedule of 20 epochs it errs 22.50 % instead of "
        "23.96).\n\n*In shorter runs* seed 1 of CIFAR10-CNN is 0.1 and 0.2 points behind (after 8 epochs and 20), "
        "seeds 2 and 3 are 2.1 and 1.6 behind after 8 epochs, and 0.9 each after 20. Of 28 short runs in its style 14 "
        "are within half a point of raw (or 0.05 nats): on MNIST, after three epochs of Shakespeare, after twelve of "
        "ResNet-20, with 16 learners or more on CIFAR10-CNN, with 4 on speech after 13 epochs, and at half the rate. "
        "Twelve of the 14 are seed 1 alone; MNIST-CNN, and CIFAR10-CNN at half the rate with 8 learners, have three "
        "seeds. Where three seeds fail with 8 learners, seed 1 alone passes (+0.09 points on CIFAR10-CNN, +0.44 on "
        "speech). At half the rate both are worse on CIFAR10-CNN, and the gap is 0.49 points instead of 0.69, a "
        "change that seeds make, too. Elsewhere AdaComp is behind by half a point to seven, or 0.2 to 0.4 nats on "
        "text: on CIFAR10-CNN with eight learners by 1.27 points after 8 epochs and 0.69 after 20, means of three "
        "seeds. Seeds of raw differ by up to 1.0 points, those of AdaComp by 1.5.\n\n*Figure 1.* After 8 epochs, with "
        "seed 1, sending the 0.3 % largest of the fully connected layer costs nothing (0.06 points), and one bit for "
        "convolutions as well costs 1.5 points; nothing diverges.\n\n*Figure 2a.* With bins of 800 and 8000 "
        "CIFAR10-CNN converges, as in the paper: after 140 epochs it errs 24.49 % where raw errs 23.95, sent 198 "
        "times smaller (seed 1); after 8 epochs it is 2.8 points behind.\n\n*Figure 4.* After 20 epochs, with seed 1 "
        "and equal bins in all layers, nothing that is sent 119 to 137 times smaller is within half a point of raw: "
        "AdaComp errs 0.9 points more at either rate of learning, top-k 3.2 at the full rate and 2.3 at half of it, "
        "LS 18.5 and 4.9. At 338 to 354 times AdaComp is 1.6 points behind, top-k 5.7 and LS 20.3: the paper's order, "
        "and AdaComp within the four points that it shows. After 8 epochs, below 250 times and with 8 learners, LS, "
        "top-k of 1 % and AdaComp with the paper's settings are more than half a point behind raw; AdaComp with "
        "factor 3, at 24 times, is 0.33 ahead (one seed). At nearly equal rates AdaComp errs least and LS most (135 "
        "and 145 times; 332, 301 and 307). LS is worse at 145 times than at 307, for which there is no explanation "
        "here. In 8 epochs, with all layers compressed, residuals of local selection do not explode: it learns badly "
        "rather than diverges.\n\n*Figure 5.* With the fully connected layer alone LS with bins of 200 and of 300 is "
        "0.4 and 0.5 points above raw after 60 epochs (one seed), and the norm of its residual ends at half of what "
        "it was after the first epoch. Bins of 300, which diverge in the paper, do not diverge here; AdaComp with "
        "bins of 5000 is 0.2 points below raw, and its residual, twice as large, ends below what it was after the "
        "first epoch, too. The 95th percentile of LS's residual falls less, to 0.8 and 0.9 of what it was in epoch 5; "
        "with bins of 300 that of the gradient falls more, so that beside the gradient the residual is 5.3 in epoch 5 "
        "and 16 in epoch 60; probes between lie at 4.4 to 48.\n\n*Figure 6.* In two epochs with all layers compressed "
        "(one seed, 20 probes) the residual beside the gradient is 1.3 to 64 times as large with LS 50/500 as with "
        "AdaComp 500/5000 in the convolutions, and 3 times at the last probe. In the last layer, the fully connected "
        "one, it is 0.6 to 11 times as large, 1.5 times or more at 8 probes, and as large at the last one (9.2 and "
        "9.4), by which the claim is judged.\n\n*Figure 7a.* After 20 epochs with batches of 128 and seed 1 AdaComp "
        "is within a point of raw at 46 times, top-k at 15. Of the three bins and five fractions that were tried the "
        "next ones, at 74 and 31 times, miss the point by 0.05 and 0.65: the factor is between 1.5 and 4.8, and the "
        "paper has five to ten. With batches of 512 AdaComp is within a point at 36 times (0.9), the next at 59 not "
        "(2.7), and no fraction is: top-k errs 3.1 points more at 15 times. The factor is above 2.3, then; fractions "
        "above 0.1 were not tried, so that the no there means not shown. With batches of 2048, in 480 steps, none of "
        "either is within a point: AdaComp errs 1.8 points more at 32 times and 5.1 at 52, top-k 7.3 at 15 times and "
        "11.2 at 31.")

EXPERIMENTS = {
    "adacomp-table2": Experiment(
        "Table 2: networks train as well as without",
        TABLE2,
        claims=[near("table 2", *setting, published(setting[0]), quick=quick_of(setting)) for setting in SETTINGS] +
               [counted("abstract", *setting, "conv 40, others 200: up to 5 elements a bin") for setting in SETTINGS] +
               [sent_less_later("text", *setting) for setting in SETTINGS if epochs(setting[0]) >= 4],
        differs="The paper trains for 100 epochs on MNIST, 140 on CIFAR-10, 13 on BN50 and 45 on Shakespeare. Spoken "
                "digits in BN50's shape (440 inputs, 30 targets instead of 5,999, a hundredth of the frames) stand in "
                "for BN50, ResNet-20 on CIFAR-10 for ImageNet's networks. `char-lstm` of one epoch has batches of 32, "
                "the paper and the other rows 10. The paper gives no learning rates. Biases "
                "are sent raw here, the paper exempts nothing. `mnist-cnn` has no ReLU after its convolutions, which "
                "the paper has; its task of 100 epochs has. Table 2 prints the LSTM's 1.73 and 1.75 as percentages of "
                "top-1 error; they are read as nats here. The LSTM's pieces of 50 characters begin with a zero state, "
                "while char-rnn, which the paper cites, carries the state on.",
        not_run="the rows of AlexNet, ResNet18 and ResNet50 on ImageNet: weeks on a desktop",
        figure=Figure("epoch", "error", {"raw": [(LONG, 8, "raw")], "AdaComp, 8 learners": [(LONG, 8, ADACOMP)],
                                         "AdaComp, 128 learners": [(LONG, 128, ADACOMP)]},
                      marks={"the paper, raw": [(140, 18.0)], "the paper, AdaComp": [(140, 18.4)]})),
    "adacomp-fig1": Experiment(
        "Figure 1: the 0.3 % largest of the fully connected layer, and one bit for convolutions",
        rows("cifar10-cnn, 2 epochs", 8, ["raw", FC_TOP, CONV_ONE_BIT], quick=True) +
        rows("cifar10-cnn", 8, ["raw", FC_TOP, BOTH]),
        claims=[ordered("not the paper's", "error", "cifar10-cnn, 2 epochs", 8, [FC_TOP, CONV_ONE_BIT]),
                above("figure 1", "CIFAR10-CNN, 8 epochs: the 0.3 % largest of the fully connected layer cost about "
                      "two points", "cifar10-cnn", 8, FC_TOP, 2 - MARGIN, 2 + MARGIN, "18 -> 20 %"),
                above("figure 1", "CIFAR10-CNN, 8 epochs: one bit for convolutions as well diverges (50 points above)",
                      "cifar10-cnn", 8, BOTH, 50, there="diverges")],
        differs="One bit is Seide et al.'s, with a mean a side and a residual. The paper trains for 140 epochs.",
        figure=Figure("epoch", "error",
                      {name_of(codec): [("cifar10-cnn", 8, codec)] for codec in ("raw", FC_TOP, BOTH)})),
    "adacomp-fig2": Experiment(
        "Figure 2a: error by epoch, also with bins of 800 and 8000",
        rows(LONG, 8, ["raw", ADACOMP], seeds=SEEDS) + rows(LONG, 8, [adacomp(800, 8000)]) +
        rows("cifar10-cnn", 8, ["raw", ADACOMP], seeds=SEEDS, quick=True) +
        rows("cifar10-cnn", 8, [adacomp(800, 8000)]),
        claims=[near("figure 2a", LONG, 8, ADACOMP, "level", quick=False),
                near("figure 2a", "cifar10-cnn", 8, ADACOMP, "level"),
                above("figure 2a", "140 epochs: bins of 800 and 8000 converge, at most 4 points above raw", LONG, 8,
                      adacomp(800, 8000), -MARGIN, 4, "above"),
                above("figure 2a", "8 epochs: bins of 800 and 8000 converge, at most 4 points above raw", "cifar10-cnn",
                      8, adacomp(800, 8000), -MARGIN, 4, "above")],
        differs="Curves of other networks are in `adacomp-table2-epochs.csv`.",
        figure=Figure("epoch", "error",
                      {name_of(codec): [(LONG, 8, codec)] for codec in ("raw", ADACOMP, adacomp(800, 8000))},
                      "CIFAR10-CNN, 140 epochs, 8 learners",
                      {"the paper, AdaComp, 128 learners": [(140, 18.4)]})),
    "adacomp-fig3": Experiment(
        "Figure 3: with Adam; the text adds RMSProp",
        rows("cifar10-cnn, Adam", 8, ["raw", ADACOMP], quick=True) + rows("cifar10-cnn, RMSProp", 8, ["raw", ADACOMP]) +
        rows("cifar10-cnn, Adam", 8, ["raw", ADACOMP], seeds=(2, 3)),
        claims=[near("figure 3", "cifar10-cnn, Adam", 8, ADACOMP, "18.1 -> 18.3 %"),
                near("text", "cifar10-cnn, RMSProp", 8, ADACOMP, "level", quick=False),
                *(counted("abstract", f"cifar10-cnn, {optimizer}", 8, ADACOMP, "conv 40, others 200")
                  for optimizer in ("Adam", "RMSProp"))],
        differs="8 epochs; the paper has 140.",
        figure=Figure("epoch", "error", {f"{optimizer}, {name}": [(f"cifar10-cnn, {optimizer}", 8, codec)]
                                         for optimizer in ("Adam", "RMSProp")
                                         for name, codec in (("raw", "raw"), ("AdaComp", ADACOMP))})),
    "adacomp-fig4": Experiment(
        "Figure 4: error against rate, beside local selection (LS) and Dryden et al.'s top-k",
        rows("cifar10-cnn", 8, ["raw", adacomp(500, 5000), local(500, 5000)], quick=True) +
        rows("cifar10-cnn", 8, [ADACOMP, local()]) + rows("cifar10-cnn", 8, ["raw", ADACOMP], seeds=(2, 3)) +
        rows(FIG4, 8, ["raw", *AT_200]) + rows(FIG4_SLOW, 8, ["raw", *AT_200]) + rows(FIG4, 8, AT_2000) +
        rows("cifar10-cnn", 8, ["topk:fraction=0.003", adacomp(5000, 5000), "topk:fraction=0.001",
                                adacomp(16000, 16000), adacomp(50, 500, ",factor=3")]) +
        rows("cifar10-cnn, Adam", 8, [adacomp(500, 5000), local(500, 5000)]) +
        rows("cifar10-cnn", 8, [adacomp(50, 500, ",factor=1.5")]) +
        rows("cifar10-cnn, Adam", 8, ["topk:fraction=0.003"]) +
        rows("cifar10-cnn", 8, [local(200, 2000), "topk:fraction=0.01"]),
        claims=[near("figure 4", task, 8, codec, "close to the baseline below 250x", quick=False)
                for task in (FIG4, FIG4_SLOW) for codec in AT_200] +
               [near("figure 4", "cifar10-cnn", 8, codec, "close to the baseline below 250x", quick=False)
                for codec in (ADACOMP, adacomp(500, 5000), local(), "topk:fraction=0.01")] +
               [above("figure 4", "20 epochs: AdaComp, bins of 5000 (2000 times there), errs at most 4 points more",
                      FIG4, 8, adacomp(5000, 5000), -MARGIN, 4, "18 -> 22 %"),
                above("figure 4", "8 epochs: AdaComp, bins of 5000 (2000 times there), errs at most 4 points more",
                      "cifar10-cnn", 8, adacomp(5000, 5000), -MARGIN, 4, "18 -> 22 %"),
                ordered("figure 4", "error", FIG4, 8, AT_2000[:1] + AT_2000[2:] + AT_2000[1:2], quick=False),
                ordered("figure 4", "error", "cifar10-cnn", 8, [adacomp(500, 5000), local()], quick=False),
                ordered("not the paper's", "error", "cifar10-cnn", 8, [adacomp(500, 5000), local(500, 5000)]),
                ordered("figure 4", "error", "cifar10-cnn", 8,
                        [adacomp(5000, 5000), "topk:fraction=0.001", local(500, 5000)], quick=False),
                ordered("not the paper's", "error", "cifar10-cnn, Adam", 8,
                        [adacomp(500, 5000), "topk:fraction=0.003", local(500, 5000)], quick=False)],
        differs="The paper has the same bin in all layers; of the rows of 8 epochs those with two numbers that differ "
                "have bins ten times longer in the last layer. Two orders by error are not the paper's, since LS is "
                "there at two to three times AdaComp's rate. In the figure raw and AdaComp 50/500 are means of three "
                "seeds, all others seed 1, of which those two have 24.86 and 24.95 %. The paper's rates count 8 or 16 "
                "bits an element sent; those of the figure here are of whole frames, of which biases and headers are "
                "the most beyond a thousand.",
        figure=Figure("ratio", "error", {
            "AdaComp": [("cifar10-cnn", 8, codec) for codec in (ADACOMP, adacomp(500, 5000), adacomp(5000, 5000),
                                                                 adacomp(16000, 16000))],
            "LS": [("cifar10-cnn", 8, codec) for codec in (local(), local(200, 2000), local(500, 5000))],
            "top-k": [("cifar10-cnn", 8, f"topk:fraction={fraction}") for fraction in (0.01, 0.003, 0.001)],
            "raw": [("cifar10-cnn", 8, "raw")]})),
    "adacomp-fig5-6": Experiment(
        "Figures 5 and 6: the residual beside the gradient, with local selection and with AdaComp",
        rows("cifar10-cnn", 8, [ADACOMP, local(), local(500, 5000), adacomp(500, 5000)], quick=True) +
        rows(FIG5, 8, [LS200, ADA5000, LS300, "raw"]) +
        rows(BY_LAYER, 8, [ADACOMP, local(), adacomp(500, 5000), local(500, 5000)]),
        claims=[above("figure 5", "60 epochs, fully connected layer alone: LS 300 diverges (50 points above raw)", FIG5,
                      8, LS300, 50, there="diverges"),
                above("figure 5", "60 epochs, fully connected layer alone: AdaComp 5000 is at most 5 points above raw",
                      FIG5, 8, ADA5000, -MARGIN, 5, "trains"),
                at_least("figure 5", "60 epochs: the residual of LS 300 explodes (grows 100 times as much as that of "
                         "AdaComp 5000)", residual_growth("last"), [(FIG5, 8, LS300), (FIG5, 8, ADA5000)], 100,
                         "exponential"),
                at_least("not the paper's", "8 epochs, all layers, equal bins: the residual of LS is 1.5 times "
                         "AdaComp's at the end", mean_of("residual_norm"),
                         [("cifar10-cnn", 8, local()), ("cifar10-cnn", 8, ADACOMP)], 1.5, quick=True),
                at_least("figure 5", "8 epochs, all layers: the residual of LS explodes (grows 100 times as much)",
                         growth, [("cifar10-cnn", 8, local()), ("cifar10-cnn", 8, ADACOMP)], 100, "exponential"),
                at_least("figure 5", "8 epochs, all layers: the residual of LS 500/5000 explodes (grows 100 times as "
                         "much)", growth, [("cifar10-cnn", 8, local(500, 5000)),
                                           ("cifar10-cnn", 8, adacomp(500, 5000))], 100, "exponential"),
                at_least("figure 6", "2 epochs, last layer: residual by gradient of LS 50/500 is 1.5 times that of "
                         "AdaComp 500/5000, which sends nearly as little", residual_by_gradient("last"),
                         [(BY_LAYER, 8, local()), (BY_LAYER, 8, adacomp(500, 5000))], 1.5, "wider"),
                at_least("not the paper's", "2 epochs, convolutions: residual by gradient of LS 50/500 is 1.5 times "
                         "that of AdaComp 500/5000", residual_by_gradient("conv"),
                         [(BY_LAYER, 8, local()), (BY_LAYER, 8, adacomp(500, 5000))], 1.5)],
        differs="The paper compresses the fully connected layer alone for these figures; the rows of 2 and 8 epochs "
                "compress all layers, and the figure of one layer is of the second convolution. Percentiles are the "
                "first learner's.",
        figure=Figure("epoch", "residual_norm", {name_of(codec): [("cifar10-cnn", 8, codec)] for codec in
                                                 (ADACOMP, local(), adacomp(500, 5000), local(500, 5000))}),
        layer=(2, ["gradient_p95", "residual_p95"])),
    "adacomp-fig7": Experiment(
        "Figure 7: the rate by mini-batch and by learners, and beside Dryden et al.'s",
        rows(ONE_EPOCH[128], (1, 64), [ADACOMP], quick=True) +
        [row for batch in (128, 512, 2048) for row in rows(ONE_EPOCH[batch], 8, [ADACOMP])] +
        [row for batch in (128, 512, 2048) for row in rows(TWENTY_EPOCHS[batch], 8, ["raw", *BINS, *FRACTIONS])] +
        [row for learners in (1, 8, 16, 64, 128) for row in rows("cifar10-cnn", learners, [ADACOMP])],
        claims=[rising("figure 7b", "1 epoch: AdaComp's ratio rises from 1 learner to 64", mean_of("ratio"),
                       [(ONE_EPOCH[128], 1, ADACOMP), (ONE_EPOCH[128], 64, ADACOMP)]),
                rising("figure 7b", "8 epochs: AdaComp's ratio rises over 1, 8, 16, 64 and 128 learners",
                       mean_of("ratio"), [("cifar10-cnn", learners, ADACOMP) for learners in (1, 8, 16, 64, 128)],
                       quick=False),
                rising("not the paper's", "1 epoch: AdaComp's ratio rises over batches of 2048, 512 and 128",
                       mean_of("ratio"), [(ONE_EPOCH[batch], 8, ADACOMP) for batch in BATCHES], quick=False)] +
               [beside_dryden(batch) for batch in (128, 512, 2048)],
        figure=Figure("learners", "ratio", {"AdaComp, 8 epochs": [("cifar10-cnn", learners, ADACOMP)
                                                                   for learners in (1, 8, 16, 64, 128)]},
                      "Figure 7b: AdaComp's ratio by the number of learners")),
}
