"""Whole training steps compared with PyTorch: the same weights, batch and labels give the same gradient, and optimizers
give the same next weights.

--lr 0 leaves the initial weights in the checkpoint; the batch is the whole training set, so its order does not matter.
SPDX-License-Identifier: MIT"""
import os
import struct
import subprocess
import tempfile
import unittest

from counted import main, need

need("numpy", "torch")
import numpy as np
import torch
import torch.nn.functional as F

BATCH, MOST_CHARACTERS = 18, 67
CLIP = 0.1  # --clip-norm


class Parameters:
    """Cuts a flat array into parameters: each call returns the next one, of the given shape."""

    def __init__(self, flat):
        self.flat, self.at, self.shapes = flat, 0, []

    def __call__(self, *shape):
        count = int(np.prod(shape))
        self.shapes.append(shape)
        self.at += count
        return self.flat[self.at - count:self.at].view(shape)


def conv(p, x, units, size, pad=0):
    return F.conv2d(x, p(units, x.shape[1], size, size), p(units), padding=pad)


def fc(p, x, units):
    x = x.flatten(1)
    return F.linear(x, p(units, x.shape[1]), p(units))


def lenet(p, x):
    x = F.max_pool2d(conv(p, x, 20, 5), 2)
    x = F.max_pool2d(conv(p, x, 50, 5), 2)
    return fc(p, F.relu(fc(p, x, 500)), 10)


def cifar_cnn(p, x):
    def mean(x):
        return F.avg_pool2d(F.relu(x), 3, 2, ceil_mode=True)

    x = F.relu(F.max_pool2d(conv(p, x, 32, 5, 2), 3, 2, ceil_mode=True))
    return fc(p, mean(conv(p, mean(conv(p, x, 32, 5, 2)), 64, 5, 2)), 10)


def char_lstm(p, x):
    """x: the characters' numbers, [batch][time]. Returns logits, [batch][characters][time]."""
    x = F.one_hot(x, MOST_CHARACTERS).double()
    for _ in range(2):
        weights = [p(2048, x.shape[2]), p(2048, 512), p(2048), torch.zeros(2048, dtype=torch.float64)]
        start = torch.zeros(1, len(x), 512, dtype=torch.float64)
        x = torch.lstm(x, (start, start), weights, True, 1, 0, True, False, True)[0]
    return F.linear(x, p(MOST_CHARACTERS, 512), p(MOST_CHARACTERS)).transpose(1, 2)


def gpt_mini(p, x):
    """x: the characters' numbers, [batch][time]. Returns logits, [batch][characters][time]."""
    def linear(x, units):
        return F.linear(x, p(units, x.shape[-1]), p(units))

    def norm(x):
        return F.layer_norm(x, (128,), p(128), p(128))

    batch, time = x.shape
    later = torch.ones(time, time, dtype=torch.bool).triu(1)
    x = F.embedding(x, p(MOST_CHARACTERS, 128)) + p(time, 128)
    for _ in range(5):
        q, k, v = (part.view(batch, time, 4, 32).transpose(1, 2) for part in linear(norm(x), 3 * 128).split(128, 2))
        weights = (q @ k.transpose(2, 3) / 32 ** 0.5).masked_fill(later, -torch.inf).softmax(3)
        x = x + linear((weights @ v).transpose(1, 2).reshape(batch, time, 128), 128)
        x = x + linear(F.gelu(linear(norm(x), 4 * 128), approximate="tanh"), 128)
    return linear(norm(x), MOST_CHARACTERS).transpose(1, 2)


def images(folder, side):
    """Writes an MNIST of noise. Returns its --data, the standardized training images and their labels."""
    random = np.random.default_rng(1)
    for name in ("train", "t10k"):
        pixels, labels = random.integers(0, 256, (BATCH, side, side), np.uint8), random.integers(0, 10, BATCH, np.uint8)
        with open(f"{folder}/{name}-features-idx3-ubyte", "wb") as file:
            file.write(struct.pack(">4I", 0x803, BATCH, side, side) + pixels.tobytes())
        with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as file:
            file.write(struct.pack(">2I", 0x801, BATCH) + labels.tobytes())
        if name == "train":
            x = (pixels - pixels.mean()) / pixels.std()
            seen = torch.tensor(x, dtype=torch.float64)[:, None], torch.tensor(labels, dtype=torch.int64)
    return f"idx:{folder}", *seen


def text(folder, piece):
    random = np.random.default_rng(1)
    letters = random.integers(0, 26, BATCH // 9 * 10 * piece + 1)
    with open(f"{folder}/text", "wb") as file:
        file.write(bytes(97 + int(i) for i in letters))
    letters = torch.tensor(letters[:BATCH * piece + 1])
    return f"text:{folder}/text", letters[:-1].view(BATCH, piece), letters[1:].view(BATCH, piece)


def weights_of(path):
    """Returns a checkpoint's weights, the fifth block. A checkpoint is 8 bytes of magic, then blocks, each after its
    length in 8 bytes."""
    with open(path, "rb") as file:
        file.read(8)
        for _ in range(5):
            (length,) = struct.unpack("=Q", file.read(8))
            block = file.read(length)
    return np.frombuffer(block, np.float32)


def adamw(tensors):
    """Decays matrices alone, as the trainer does."""
    groups = [{"params": [it for it in tensors if (it.dim() > 1) == matrix], "weight_decay": decay}
              for matrix, decay in ((True, 1), (False, 0))]
    return torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.95), eps=0.01)


# The trainer's options, and the same optimizer in PyTorch. Epsilon is so large that a gradient of nothing but
# rounding errors moves no parameter.
OPTIMIZERS = [(["--optimizer", "sgd", "--momentum", "0.9", "--weight-decay", "0.01"],
               lambda tensors: torch.optim.SGD(tensors, lr=0.01, momentum=0.9, weight_decay=0.01)),
              (["--optimizer", "adam:epsilon=0.01"], lambda tensors: torch.optim.Adam(tensors, lr=0.01, eps=0.01)),
              (["--optimizer", "rmsprop:decay=0.9,epsilon=0.01"],
               lambda tensors: torch.optim.RMSprop(tensors, lr=0.01, alpha=0.9, eps=0.01)),
              (["--optimizer", "adamw:beta2=0.95,epsilon=0.01", "--weight-decay", "1", "--clip-norm", str(CLIP)],
               adamw),
              (["--optimizer", "adam:epsilon=0.01", "--local-steps", "1"],
               lambda tensors: torch.optim.Adam(tensors, lr=0.01, eps=0.01))]


class Step(unittest.TestCase):
    def train(self, folder, model, source, lr, epochs, *more):
        """Trains for some epochs of one step each. Returns the weights after the last one."""
        subprocess.run([os.environ["CRUMB_TRAIN"], "--model", model.__name__.replace("_", "-"), "--data", source,
                        "--batch", str(BATCH), "--learners", "1", "--epochs", str(epochs), "--lr", str(lr),
                        "--threads", "1", "--checkpoint", folder, *more],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return weights_of(f"{folder}/epoch{epochs:07}-rank0")

    def check(self, model, data, side=0, optimizers=()):
        with tempfile.TemporaryDirectory() as folder:
            source, x, labels = data(folder, side)

            def differentiate(flat):
                """Returns the parameters' shapes."""
                parameters = Parameters(flat)
                F.cross_entropy(model(parameters, x), labels).backward()
                self.assertEqual(parameters.at, flat.numel())
                return parameters.shapes

            start = self.train(folder + "/start", model, source, 0, 1, "--dump-gradients", folder + "/dump")
            ours = np.load(folder + "/dump/step0000001-flat.npy")
            flat = torch.tensor(start, dtype=torch.float64, requires_grad=True)
            shapes = differentiate(flat)
            theirs = flat.grad.numpy()
            self.assertLess(np.linalg.norm(ours - theirs), 1e-4 * np.linalg.norm(theirs))
            for number, (options, optimizer) in enumerate(optimizers):
                ours = self.train(f"{folder}/{number}", model, source, 0.01, 2, *options)
                parameters = Parameters(torch.tensor(start, dtype=torch.float64))
                tensors = [parameters(*shape).clone().requires_grad_() for shape in shapes]
                optimizer = optimizer(tensors)
                shared = [it.detach().clone() for it in tensors]
                outer = torch.optim.SGD(shared, lr=0.7, momentum=0.9, nesterov=True)
                for _ in range(2):
                    optimizer.zero_grad()
                    differentiate(torch.cat([it.flatten() for it in tensors]))
                    if "--clip-norm" in options:
                        norm = torch.nn.utils.clip_grad_norm_(tensors, CLIP)
                        self.assertGreater(norm, 2 * CLIP)
                    optimizer.step()
                    if "--local-steps" in options:
                        with torch.no_grad():
                            for it, own in zip(shared, tensors):
                                it.grad = it - own
                            outer.step()
                            for it, own in zip(shared, tensors):
                                own.copy_(it)
                theirs = torch.cat([it.detach().flatten() for it in tensors]).numpy()
                self.assertLess(np.linalg.norm(ours - theirs), 1e-3 * np.linalg.norm(theirs - start), options)

    def test_lenet(self):
        self.check(lenet, images, 28, OPTIMIZERS)

    def test_cifar_cnn(self):
        self.check(cifar_cnn, images, 32)

    def test_char_lstm(self):
        self.check(char_lstm, text, 50)

    def test_gpt_mini(self):
        self.check(gpt_mini, text, 64, OPTIMIZERS[-1:])


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
