"""What is trained in the experiments: a task is a network, its data and its recipe. Tasks with paper=True have the
length that a paper published; the others are shorter. SPDX-License-Identifier: MIT"""
import re
from collections import namedtuple

# A network, its data and its recipe: options of crumb-train, and those of its quick run, on data that crumb-train
# draws. layers: the results include what probes say of single layers. paper: the schedule has the paper's length; hours
# of CPU time that a row may take.
Task = namedtuple("Task", "options quick layers paper hours", defaults=(False, False, 0.7))
MNIST = "--data mnist:$CRUMB_DATA/mnist --model lenet"
CIFAR = "--data cifar10:$CRUMB_DATA/cifar-10-batches-bin"
QUICK_MNIST = "--data digits:600 --model lenet --batch 30 --epochs 2 --lr 0.03 --momentum 0.9"
QUICK_FLAT = QUICK_MNIST + " --flat"
QUICK_CIFAR = "--data digits:600 --model cifar-cnn --batch 30 --epochs 3 --lr 0.02 --momentum 0.9"
DROPS = "--lr 0.02 --momentum 0.9 --weight-decay 0.0005 --schedule step:every={},factor=0.1"


def cifar(batch=128, epochs=8, rest="--lr 0.02 --momentum 0.9 --weight-decay 0.0005 --schedule cosine"):
    return f"{CIFAR} --model cifar-cnn --batch {batch} --epochs {epochs} {rest}"


def resnet20(batch, epochs, rate):
    return (f"{CIFAR} --model resnet20 --augment shift --batch {batch} --epochs {epochs} --lr {rate} --momentum 0.9 "
            "--weight-decay 0.0001 --schedule cosine")


def char_lstm(batch, epochs):
    return (f"--data text:$CRUMB_DATA/shakespeare/input.txt --model char-lstm --batch {batch} --epochs {epochs} "
            "--optimizer adam --lr 0.002 --schedule cosine")


def speech_dnn(epochs, rate):
    return (f"--data idx:$CRUMB_DATA/fsdd --model bn50-dnn --batch 256 --epochs {epochs} --lr {rate} --momentum 0.9 "
            "--schedule cosine")


FIG3 = "--weight-decay 0.0005 --decay-first --schedule poly:power=0.5"  # of TernGrad
CIFARNET = (f"{CIFAR} --model cifarnet --augment crop --batch {{}} --epochs {{}} --optimizer adam --lr 0.0002 "
            "--weight-decay 0.0005 --average 0.9999")
TASKS = {
    "mnist-cnn": Task(f"{MNIST} --batch 100 --epochs 20 --lr 0.01 --momentum 0.9 --schedule cosine", QUICK_MNIST),
    "mnist-cnn, 100 epochs": Task(f"{MNIST}-relu --batch 100 --epochs 100 --lr 0.01 --momentum 0.9 --schedule cosine",
                                  QUICK_MNIST, paper=True, hours=3),
    "mnist-cnn, batch 128, 20 epochs": Task(f"{MNIST} --batch 128 --epochs 20 --lr 0.01 --momentum 0.9 "
                                            "--schedule cosine", QUICK_MNIST),
    "mnist-cnn, TernGrad's": Task(f"{MNIST} --batch 64 --epochs 11 --lr 0.01 --momentum 0.9 {FIG3}", QUICK_MNIST,
                                  paper=True),
    "mnist-cnn, TernGrad's, no momentum": Task(f"{MNIST} --batch 64 --epochs 11 --lr 0.1 --momentum 0 {FIG3}",
                                               QUICK_MNIST, paper=True),
    "mnist-cnn, short": Task(f"{MNIST} --batch 128 --epochs 4 --lr 0.02 --momentum 0.9 --schedule cosine", QUICK_MNIST),
    "mnist-cnn, short, no momentum": Task(f"{MNIST} --batch 128 --epochs 4 --lr 0.1 --momentum 0 --schedule cosine",
                                          QUICK_MNIST),
    "cifar10-cnn": Task(cifar(), QUICK_CIFAR),
    "cifar10-cnn, 20 epochs": Task(cifar(epochs=20), QUICK_CIFAR),
    "cifar10-cnn, 20 epochs, half the rate": Task(cifar(epochs=20).replace("--lr 0.02", "--lr 0.01"), QUICK_CIFAR),
    "cifar10-cnn, 60 epochs, by layer": Task(cifar(epochs=60) + " --probe 1950", QUICK_CIFAR + " --probe 10",
                                             layers=True, hours=3),
    "cifar10-cnn, 140 epochs": Task(cifar(epochs=140), QUICK_CIFAR, paper=True, hours=4),
    "cifar10-cnn, 20 epochs, TernGrad's": Task(cifar(epochs=20) + " --probe 390", QUICK_MNIST, hours=1),
    "cifar10-cnn, 40 epochs, drops, one slice": Task(cifar(epochs=40, rest=DROPS.format(16)) + " --probe 390 --flat",
                                                     QUICK_FLAT, layers=True, hours=2),
    "cifar10-cnn, Adam": Task(cifar(rest="--optimizer adam --lr 0.001 --schedule cosine"),
                              QUICK_CIFAR.replace("--lr 0.02 --momentum 0.9", "--optimizer adam --lr 0.002")),
    "cifar10-cnn, RMSProp": Task(cifar(rest="--optimizer rmsprop --lr 0.0005 --schedule cosine"),
                                 QUICK_CIFAR.replace("--lr 0.02 --momentum 0.9", "--optimizer rmsprop --lr 0.001")),
    "cifar10-cnn, 2 epochs": Task(cifar(epochs=2) + " --probe 100", QUICK_CIFAR),
    "cifar10-cnn, 2 epochs, by layer": Task(cifar(epochs=2) + " --probe 39", QUICK_MNIST + " --probe 10", layers=True),
    "cifar10-cnn, 2 epochs, TernGrad's": Task(cifar(epochs=2) + " --probe 100", QUICK_MNIST),
    "cifar10-cnn, 2 epochs, one slice": Task(cifar(epochs=2) + " --probe 100 --flat", QUICK_FLAT),
    "cifar10-cnn, 2 epochs, one slice, ten mini-batches": Task(cifar(epochs=2) + " --probe 100 --flat --measure 10",
                                                               QUICK_FLAT + " --measure 10"),
    "cifar10-cnn, 2 epochs, a batch of 32": Task(cifar(batch=32, epochs=2) + " --probe 100 --flat", QUICK_FLAT),
    "cifar10-cnn, 2 epochs, every 39 steps": Task(cifar(epochs=2) + " --probe 39 --flat", QUICK_FLAT + " --probe 10",
                                                  layers=True),
    "mnist-mlp": Task(f"{MNIST.replace('lenet', 'mlp')} --batch 100 --epochs 3 --lr 0.02 --momentum 0.9 "
                      "--schedule cosine", QUICK_MNIST),
    "cifarnet, Adam": Task(f"{CIFAR} --model cifarnet --augment crop --batch 128 --epochs 2 --optimizer adam "
                           "--lr 0.001 --weight-decay 0.0005 --average 0.99 --schedule cosine", QUICK_MNIST),
    "cifar10-resnet20": Task(resnet20(128, 2, 0.05), QUICK_CIFAR),
    "cifar10-resnet20, 5 epochs": Task(resnet20(64, 5, 0.05), QUICK_CIFAR),
    "cifar10-resnet20, 5 epochs, a batch of 32": Task(resnet20(32, 5, 0.0125), QUICK_CIFAR),
    "cifar10-resnet20, 12 epochs, a batch of 32": Task(resnet20(32, 12, 0.0125), QUICK_CIFAR),
    "char-lstm": Task(char_lstm(32, 1), QUICK_MNIST),
    "char-lstm, 3 epochs": Task(char_lstm(10, 3), QUICK_MNIST),
    "mnist-cnn, 1 epoch": Task(f"{MNIST} --batch 128 --epochs 1 --lr 0.02 --momentum 0.9 --schedule cosine",
                               QUICK_MNIST),
    "speech-dnn, 3 epochs": Task(speech_dnn(3, 0.05), QUICK_MNIST),
    "speech-dnn": Task(speech_dnn(6, 0.05), QUICK_MNIST),
    "speech-dnn, 13 epochs": Task(speech_dnn(13, 0.05), QUICK_MNIST),
    "speech-dnn, 13 epochs, half the rate": Task(speech_dnn(13, 0.025), QUICK_MNIST),
    "char-lstm, 45 epochs": Task(char_lstm(10, 45), QUICK_MNIST, paper=True, hours=12),
    "cifarnet, TernGrad's rate": Task(CIFARNET.format(128, 40), QUICK_MNIST, hours=4),
    "cifarnet, TernGrad's rate, a batch of 2048": Task(CIFARNET.format(2048, 40), QUICK_MNIST, hours=4),
    "demo": Task("--model lenet --data digits --epochs 5 --schedule cosine", QUICK_MNIST),
    "digits-cnn": Task("--data digits --model lenet --batch 100 --epochs 2 --lr 0.01 --momentum 0.9", QUICK_MNIST),
}
GPT = ("--data text:$CRUMB_DATA/shakespeare/input.txt --model gpt-mini --batch 32 --epochs 3 --optimizer "
       "adamw:beta2=0.99 --lr 0.001 --weight-decay 0.1 --clip-norm 1 --warmup 0.2 --schedule cosine")
TASKS["gpt-mini"] = Task(GPT, QUICK_FLAT)
TASKS |= {f"gpt-mini, outer steps of {steps}": Task(f"{GPT} --local-steps {steps}", QUICK_FLAT)
          for steps in (10, 30, 100)}
TASKS |= {f"gpt-mini, outer steps of {steps}, SparseLoCo's": Task(
    f"{GPT} --local-steps {steps} --outer-lr 1 --outer-momentum 0", QUICK_FLAT) for steps in (10, 30)}
TASKS["gpt-mini, AdamW without momentum"] = Task(GPT.replace("adamw:", "adamw:beta1=0,"), QUICK_FLAT)
TASKS |= {f"gpt-mini, means as {codec}": Task(f"{GPT} --plan shard --down embedding,fc,last={codec}",
                                              f"{QUICK_FLAT} --plan shard --down {codec}")
          for codec in ("half", "block")}
TASKS["gpt-mini, SGD"] = Task(GPT.replace("adamw:beta2=0.99 --lr 0.001 --weight-decay 0.1",
                                          "sgd --lr 0.3 --momentum 0.9"), QUICK_FLAT)
RATES = (1, 2, 4, 8)
GPT_SHORT = GPT.replace("--epochs 3", "--epochs 1")
for times in RATES:
    TASKS[f"gpt-mini, 490 steps, rate x {times}"] = Task(GPT_SHORT.replace("--lr 0.001", f"--lr {times / 1000:g}"),
                                                         QUICK_FLAT)
GPT_LONG = GPT.replace("--epochs 3", "--epochs 12").replace("--lr 0.001", "--lr 0.004")
TASKS |= {
    "gpt-mini, 490 steps, SGD": Task(GPT_SHORT.replace("adamw:beta2=0.99 --lr 0.001 --weight-decay 0.1",
                                                       "sgd --lr 0.1 --momentum 0.9"), QUICK_FLAT),
    "gpt-mini, 490 steps, no clipping": Task(GPT_SHORT.replace("--clip-norm 1 ", ""), QUICK_FLAT),
    "gpt-mini, 490 steps, beta2=0.999": Task(GPT_SHORT.replace("beta2=0.99", "beta2=0.999"), QUICK_FLAT),
    "gpt-mini, 490 steps, no momentum": Task(GPT_SHORT.replace("adamw:", "adamw:beta1=0,"), QUICK_FLAT),
    "gpt-mini, 5,880 steps, rate x 4": Task(GPT_LONG, QUICK_FLAT),
    "gpt-mini, 5,880 steps, rate x 4, AdamW without momentum": Task(GPT_LONG.replace("adamw:", "adamw:beta1=0,"),
                                                                    QUICK_FLAT),
    "gpt-mini, 5,880 steps, rate x 4, outer steps of 30": Task(f"{GPT_LONG} --local-steps 30", QUICK_FLAT),
    "gpt-mini, 5,880 steps, rate x 4, outer steps of 30, SparseLoCo's": Task(
        f"{GPT_LONG} --local-steps 30 --outer-lr 1 --outer-momentum 0", QUICK_FLAT),
}
BATCHES = (2048, 512, 128)
ONE_EPOCH = {batch: f"cifar10-cnn, batch {batch}, 1 epoch" for batch in BATCHES}
TWENTY_EPOCHS = {batch: f"cifar10-cnn, batch {batch}, 20 epochs" for batch in BATCHES}
for batch in BATCHES:
    TASKS[ONE_EPOCH[batch]] = Task(cifar(batch, 1), QUICK_CIFAR.replace("--batch 30", "--batch 64"))
    TASKS[TWENTY_EPOCHS[batch]] = Task(cifar(batch, 20), QUICK_CIFAR.replace("--batch 30", "--batch 64"), hours=1)


def unscheduled(task):
    """Returns a task's name without what it says of length, rate and batch."""
    words = r"\d+ epochs?|short|half the rate|a batch of \d+|drops|TernGrad's"
    return re.sub(f", ({words})", "", task)


def epochs(task):
    return int(re.search(r"--epochs (\d+)", TASKS[task].options)[1])


def told(task):
    """Returns a task's name with its epochs; names of gpt-mini's count steps."""
    if task.startswith("gpt-mini") or "epoch" in task:
        return task
    return f"{task}, {epochs(task)} epoch{'s' if epochs(task) != 1 else ''}"


# A loss in nats is a language model's figure; a test error is the others'.
LANGUAGE = {task for task in TASKS if task.startswith(("char-lstm", "gpt-mini"))}
