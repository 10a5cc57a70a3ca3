"""crumb compresses gradients: libcrumb's codecs for arrays of floats.

A Codec says what to do, a Packer keeps a tensor's residual between steps, a frame (bytes) is what travels.

    packer = crumb.Packer("adacomp:bin=500", gradient.size, seed=1)
    frame = packer.pack(gradient)
    crumb.unpack_add([frame, other], 1 / 2, mean)       # mean += frame / 2 + other / 2

A gradient is a C-contiguous array of float32, float16 or bfloat16, of any shape, with the buffer protocol (NumPy,
array.array, memoryview) or DLPack (tensors on the CPU). It is read in place. NumPy has no bfloat16: pass an array of
uint16 and dtype="bf16".

The library is the file that CRUMB_LIBRARY names, else the one in the package, where pip puts it; in the source tree the
one in build/, else the one that scripts/test builds without sanitizers. "python -m crumb" says which. Calls release the
interpreter's lock. crumb.torch has the hook for PyTorch; it wants libcrumb_exchange, too, beside libcrumb.
SPDX-License-Identifier: MIT
"""
from crumb.codec import Codec, CodecInfo, Key, codecs
from crumb.error import Error, NonFinite
from crumb.frame import Frame, finite, peek, unpack_add
from crumb.library import version
from crumb.packer import Packer

__all__ = ["Codec", "CodecInfo", "Error", "Frame", "Key", "NonFinite", "Packer", "codecs", "finite", "peek",
           "unpack_add", "version"]
