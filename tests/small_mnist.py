"""A small MNIST in the folder small: a digit is a bright square in its own place, with noise below that number.

small_mnist.py TRAIN TEST NOISE. SPDX-License-Identifier: MIT
"""
import os, random, struct, sys
train, test, noise = map(int, sys.argv[1:])
random.seed(1)
os.mkdir("small")
for name, count in ("train", train), ("t10k", test):
    images, labels = bytearray(), bytearray()
    for i in range(count):
        digit = i % 10
        image = bytearray(random.randrange(noise) for _ in range(784))
        for y in range(6):
            for x in range(5):
                image[(4 + 12 * (digit // 5) + y) * 28 + 2 + 5 * (digit % 5) + x] = 255
        images += image
        labels.append(digit)
    with open(f"small/{name}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">4I", 0x803, count, 28, 28) + images)
    with open(f"small/{name}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">2I", 0x801, count) + labels)
