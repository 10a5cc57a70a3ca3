"""Addresses of arrays, by the buffer protocol or DLPack. SPDX-License-Identifier: MIT"""
import ctypes
from contextlib import AbstractContextManager, contextmanager
from ctypes import c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8, c_uint16, c_uint64, c_void_p, py_object
from typing import Any, Iterator, Optional, Tuple

DTYPES = {"f32": 0, "f16": 1, "bf16": 2}  # enum crumb_dtype
_FORMATS = {"f": "f32", "e": "f16"}  # the struct module's codes, which buffers use
Memory = Tuple[int, int, str]  # address, bytes, and element type: a name of DTYPES or a code of the struct module


class _Buffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [("buf", c_void_p), ("obj", py_object), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", c_void_p), ("strides", c_void_p),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


class _Tensor(ctypes.Structure):
    """The members of DLManagedTensor that are read here."""

    _fields_ = [("data", c_void_p), ("device", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", ctypes.POINTER(c_int64)),
                ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64)]


_WRITABLE, _FORMAT, _CONTIGUOUS = 0x1, 0x4, 0x38  # PyBUF_WRITABLE, PyBUF_FORMAT, PyBUF_C_CONTIGUOUS
_HOSTS = 1, 3  # kDLCPU, kDLCUDAHost
_DLPACK_DTYPES = {(2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (1, 16): "H", (1, 8): "B"}

_api = ctypes.pythonapi
_api.PyObject_GetBuffer.argtypes = [py_object, ctypes.POINTER(_Buffer), c_int]
_api.PyBuffer_Release.argtypes = [ctypes.POINTER(_Buffer)]
_api.PyBuffer_Release.restype = None
_api.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
_api.PyCapsule_GetPointer.restype = c_void_p


def _has_buffer(array: Any) -> bool:
    try:
        memoryview(array).release()
        return True
    except (TypeError, ValueError):  # ValueError: NumPy's, of a type that buffers have no name for
        return False
    except BufferError:
        return True  # PyObject_GetBuffer raises it again, with a message


@contextmanager
def _buffer(array: Any, flags: int) -> Iterator[Memory]:
    view = _Buffer()
    _api.PyObject_GetBuffer(array, ctypes.byref(view), flags | _FORMAT | _CONTIGUOUS)
    try:
        text = (view.format or b"B").decode().lstrip("@=<")
        yield view.buf, view.len, _FORMATS.get(text, text)
    finally:
        _api.PyBuffer_Release(ctypes.byref(view))


@contextmanager
def _dlpack(array: Any) -> Iterator[Memory]:
    capsule = array.__dlpack__()  # not renamed to "used_dltensor", so it frees its tensor when deleted
    tensor = _Tensor.from_address(_api.PyCapsule_GetPointer(capsule, b"dltensor"))
    if tensor.device not in _HOSTS:
        raise TypeError("crumb reads the CPU's memory, and this array is on a device")
    n, empty = 1, 0 in tensor.shape[:tensor.ndim]
    for axis in reversed(range(tensor.ndim)):
        if tensor.strides and not empty and tensor.shape[axis] > 1 and tensor.strides[axis] != n:
            raise BufferError("crumb wants a C-contiguous array")
        n *= tensor.shape[axis]
    dtype = _DLPACK_DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    kind = dtype or f"(DLPack {tensor.code}, {tensor.bits} bits)"
    yield (tensor.data or 0) + tensor.byte_offset, n * tensor.bits // 8, kind
    del capsule


def _open(array: Any, flags: int = 0) -> "AbstractContextManager[Memory]":
    if _has_buffer(array):
        return _buffer(array, flags)
    if hasattr(array, "__dlpack__"):
        return _dlpack(array)
    raise TypeError(f"crumb wants an array with the buffer protocol or DLPack, not {type(array).__name__}"
                    + (f" of {array.dtype}" if hasattr(array, "dtype") else ""))


@contextmanager
def elements(array: Any, dtype: Optional[str] = None) -> Iterator[Tuple[int, int, int]]:
    """Yields address, number and enum crumb_dtype of a gradient's elements.

    dtype: the elements' type, a name of DTYPES; needed only for 16-bit floats in an array of uint16."""
    if dtype is not None and dtype not in DTYPES:
        raise ValueError(f"crumb knows the types {', '.join(DTYPES)}, not {dtype}")
    with _open(array) as (address, size, own):
        if dtype is not None and own == "H" and dtype != "f32":
            own = dtype
        if own not in DTYPES or dtype not in (None, own):
            raise TypeError(f"crumb takes float32, float16 or bfloat16, not elements of type {own}"
                            + (f" as {dtype}" if dtype else ""))
        yield address, size // (4 if own == "f32" else 2), DTYPES[own]


@contextmanager
def accumulator(array: Any) -> Iterator[Tuple[int, int]]:
    """Yields address and number of the elements of a writable float32 array."""
    with _open(array, _WRITABLE) as (address, size, own):
        if own != "f32":
            raise TypeError(f"crumb adds to float32, not to elements of type {own}")
        yield address, size // 4


@contextmanager
def octets(array: Any, writable: bool = False) -> Iterator[Tuple[int, int]]:
    """Yields address and bytes of an array of any type."""
    with _open(array, _WRITABLE if writable else 0) as (address, size, _):
        yield address, size
