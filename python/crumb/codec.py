"""Codecs: what to do. SPDX-License-Identifier: MIT"""
import ctypes
from ctypes import byref
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple, Union

from crumb.error import check
from crumb.library import CODEC_AGREES, CODEC_FIXED, CODEC_RANDOM, CODEC_RESIDUAL, SPEC_MAX, CodecStruct, lib


@dataclass(frozen=True)
class Key:
    """A setting of a codec: a number between min and max, a multiple of step (0: any), or one of the names in choices; with
    step 0 either."""

    name: str
    brief: str
    default: Union[float, str]
    min: float
    max: float
    step: float
    choices: Optional[Tuple[str, ...]]


@dataclass(frozen=True)
class CodecInfo:
    """What the library says of a codec. residual: it keeps what was not sent. random: frames depend on seed and step.
    fixed: a frame's length depends on the number of elements alone. agrees: some settings want Packer.measure and agree."""

    id: int
    name: str
    brief: str
    keys: Tuple[Key, ...]
    residual: bool
    random: bool
    fixed: bool
    agrees: bool


def _key(key):
    choices = []
    while key.choices and key.choices[len(choices)]:
        choices.append(key.choices[len(choices)].decode())
    default = choices[int(key.default_value)] if choices and key.step else key.default_value
    return Key(key.name.decode(), key.brief.decode(), default, key.min, key.max, key.step, tuple(choices) or None)


def _info(info):
    flags = [bool(info.flags & bit) for bit in (CODEC_RESIDUAL, CODEC_RANDOM, CODEC_FIXED, CODEC_AGREES)]
    return CodecInfo(info.id, info.name.decode(), info.brief.decode(), tuple(_key(key) for key in info.key[:info.keys]), *flags)


def codecs() -> List[CodecInfo]:
    """Every codec of the library, in order of id."""
    found: List[CodecInfo] = []
    while info := lib.crumb_list(len(found)):
        found.append(_info(info.contents))
    return found


_INFO = {info.id: info for info in codecs()}


class Codec:
    """What to do: "NAME" or "NAME:KEY=VALUE,KEY=VALUE". A value: compares, hashes, and prints as its canonical spec.

    Error names the first offending character of a spec that the library does not take."""

    __slots__ = "struct",

    def __init__(self, spec: Union[str, "Codec"]):
        self.struct = CodecStruct()
        if isinstance(spec, Codec):
            ctypes.pointer(self.struct)[0] = spec.struct
            return
        text = ctypes.create_string_buffer(spec.encode())
        bad = ctypes.c_void_p()
        status = lib.crumb_parse(byref(self.struct), text, byref(bad))
        at = (bad.value or 0) - ctypes.addressof(text)
        check(status, f"{spec!r}, at {spec[at:]!r}" if 0 <= at < len(spec) else f"{spec!r}, at its end")

    @classmethod
    def from_struct(cls, struct: CodecStruct) -> "Codec":
        codec = cls.__new__(cls)
        codec.struct = CodecStruct.from_buffer_copy(struct)
        return codec

    @property
    def info(self) -> CodecInfo:
        return _INFO[self.struct.id]

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def values(self) -> Dict[str, Union[float, str]]:
        """The value of every key."""
        return {key.name: key.choices[int(value)] if key.choices and value in range(len(key.choices)) else value
                for key, value in zip(self.info.keys, self.struct.value)}

    def bound(self, n: int) -> int:
        """Bytes of the longest frame for n elements; 0: the codec does not take so many."""
        return lib.crumb_bound(byref(self.struct), n)

    def __str__(self) -> str:
        text = ctypes.create_string_buffer(SPEC_MAX)
        check(lib.crumb_print(byref(self.struct), text, SPEC_MAX))
        return text.value.decode()

    def __repr__(self) -> str:
        return f"Codec({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codec) and bytes(self.struct) == bytes(other.struct)

    def __hash__(self) -> int:
        return hash(bytes(self.struct))

    def __reduce__(self):
        return Codec, (str(self),)
