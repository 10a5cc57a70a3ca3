"""Finds and loads libcrumb, and libcrumb_exchange beside it; declares the functions and structures of crumb.h, and of
crumb_exchange.h what Python uses. SPDX-License-Identifier: MIT"""
import ctypes
import os
from ctypes import c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Dict, Tuple

from crumb import __path__

SONAME = "libcrumb.so.0"

# Names and values of crumb.h, without CRUMB_; a test compares them with the header.
MAX_KEYS = 10
MAX_FACTS = 6
SPEC_MAX = 256
KNOWN_FINITE = 1
EINVAL, ESPEC, ENONFINITE, ELENGTH, EPACKER = -1, -2, -4, -9, -11
F32, F16, BF16 = 0, 1, 2
CODEC_RESIDUAL, CODEC_RANDOM, CODEC_FIXED, CODEC_AGREES, CODEC_MOMENTUM = 1, 2, 4, 8, 16


def is_size(n: int) -> bool:
    """Returns true if n is a size_t; ctypes cuts off what is not."""
    return c_size_t(n).value == n


class CodecStruct(ctypes.Structure):
    _fields_ = [("id", c_uint32), ("reserved", c_uint32), ("value", c_float * MAX_KEYS)]


class KeyStruct(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("brief", c_char_p), ("default_value", c_float), ("min", c_float), ("max", c_float),
                ("step", c_float), ("choices", ctypes.POINTER(c_char_p))]


class InfoStruct(ctypes.Structure):
    _fields_ = [("id", c_uint32), ("flags", c_uint32), ("name", c_char_p), ("brief", c_char_p), ("keys", c_size_t),
                ("key", KeyStruct * MAX_KEYS)]


class FactStruct(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class FrameStruct(ctypes.Structure):
    _fields_ = [("codec", CodecStruct), ("n", c_uint64), ("bytes", c_uint64), ("sent", c_uint64), ("facts", c_size_t),
                ("fact", FactStruct * MAX_FACTS)]


_codec = ctypes.POINTER(CodecStruct)
_PROTOTYPES: Dict[str, Tuple[Any, ...]] = {  # result, arguments; the address of elements or of a packer is a c_void_p
    "strerror": (c_char_p, c_int),
    "parse": (c_int, _codec, c_char_p, ctypes.POINTER(c_void_p)),
    "print": (c_int, _codec, c_char_p, c_size_t),
    "list": (ctypes.POINTER(InfoStruct), c_size_t),
    "packer_size": (c_size_t, _codec, c_size_t),
    "packer_init": (c_int, c_void_p, _codec, c_size_t, c_size_t, c_uint64),
    "packer_check": (c_int, c_void_p, c_size_t),
    "packer_codec": (_codec, c_void_p),
    "packer_count": (c_size_t, c_void_p),
    "packer_step": (c_uint64, c_void_p),
    "packer_residual": (c_void_p, c_void_p),
    "packer_velocity": (c_void_p, c_void_p),
    "agree_count": (c_size_t, c_void_p),
    "measure": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p),
    "agree": (c_int, c_void_p, c_void_p, c_size_t),
    "bound": (c_size_t, _codec, c_size_t),
    "pack": (c_int64, c_void_p, c_void_p, c_size_t, c_int, c_uint, c_void_p, c_size_t),
    "unpack_add": (c_int64, c_void_p, c_size_t, c_float, c_void_p, c_size_t),
    "frame_length": (c_int64, c_void_p, c_size_t),
    "peek": (c_int64, ctypes.POINTER(FrameStruct), c_void_p, c_size_t),
    "finite": (c_int, c_void_p, c_size_t, c_int),
    "version": (c_char_p,),
    "isa": (c_char_p,),
    "self_check": (c_int,),
}
_EXCHANGE: Dict[str, Tuple[Any, ...]] = {
    "exchange_policy": (c_int, _codec, c_char_p, c_char_p, c_size_t, ctypes.POINTER(c_void_p)),
}


def _find() -> str:
    """Returns the path of the library, by the rule in the package's docstring. The tests' builds with sanitizers, which
    end a Python that loads them, lie in other folders of build/."""
    named = os.environ.get("CRUMB_LIBRARY")
    if named:
        return named
    build = Path(__file__).resolve().parents[2] / "build"
    folders = *map(Path, __path__), build, build / "regular-gcc", build / "regular-clang"
    for folder in folders:
        if (folder / SONAME).is_file():
            return str(folder / SONAME)
    raise ImportError(f"crumb: there is no {SONAME} in {', '.join(map(str, folders))}: install the package with pip, "
                      "run make in the source tree, or name the file in CRUMB_LIBRARY")


def _load(path: str, what: str, prototypes: Dict[str, Tuple[Any, ...]]) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"crumb: {error}: it should be this version's {what}") from None
    for name, (result, *arguments) in prototypes.items():
        try:
            function = getattr(library, "crumb_" + name)
        except AttributeError:
            raise ImportError(f"crumb: {path} is not a {what} of this version: it has no crumb_{name}") from None
        function.restype, function.argtypes = result, arguments
    return library


lib = _load(_find(), "libcrumb", _PROTOTYPES)
if lib.crumb_self_check() < 0:
    raise ImportError(f"crumb: {lib._name}: {lib.crumb_strerror(lib.crumb_self_check()).decode()}")


def version() -> str:
    """Returns the library's version, such as "0.1.0"."""
    return lib.crumb_version().decode()


def load_exchange() -> ctypes.CDLL:
    """Loads the libcrumb_exchange of this version that lies beside libcrumb. It uses the libcrumb that is loaded here,
    as the dynamic linker loads no second library of one soname. Raises ImportError if there is no such file."""
    name = f"libcrumb_exchange.so.{version().rpartition('.')[0]}"
    return _load(os.path.join(os.path.dirname(lib._name), name), "libcrumb_exchange", _EXCHANGE)
