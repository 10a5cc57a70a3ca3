"""Codecs, their keys, and the table of all codecs. SPDX-License-Identifier: MIT"""
import ctypes
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, Union

from crumb.error import check
from crumb.library import (CODEC_AGREES, CODEC_FIXED, CODEC_MOMENTUM, CODEC_RANDOM, CODEC_RESIDUAL, ESPEC, SPEC_MAX,
                           CodecStruct, InfoStruct, KeyStruct, is_size, lib)


@dataclass(frozen=True)
class Key:
    """A setting of a codec. Without choices: a number from min to max, a multiple of step unless step is 0. With
    choices: one of these names or, if step is 0, such a number."""

    name: str
    brief: str
    default: Union[float, str]
    min: float
    max: float
    step: float
    choices: Optional[Tuple[str, ...]]


@dataclass(frozen=True)
class CodecInfo:
    """An entry of the library's codec table. residual: its packers have a residual. random, fixed: as crumb.h's
    CRUMB_CODEC_RANDOM and _FIXED, of the codec's default settings. agrees: some settings need shared statistics,
    Packer.measure and Packer.agree before Packer.pack. momentum: packers have momentum; the optimizer then has none."""

    id: int
    name: str
    brief: str
    keys: Tuple[Key, ...]
    residual: bool
    random: bool
    fixed: bool
    agrees: bool
    momentum: bool


def _key(key: KeyStruct) -> Key:
    choices: List[str] = []
    while key.choices and key.choices[len(choices)]:
        choices.append(key.choices[len(choices)].decode())
    default = choices[int(key.default_value)] if choices and key.step else key.default_value
    return Key(key.name.decode(), key.brief.decode(), default, key.min, key.max, key.step, tuple(choices) or None)


def _info(info: InfoStruct) -> CodecInfo:
    flags = [bool(info.flags & bit) for bit in (CODEC_RESIDUAL, CODEC_RANDOM, CODEC_FIXED, CODEC_AGREES,
                                                CODEC_MOMENTUM)]
    keys = tuple(_key(key) for key in info.key[:info.keys])
    return CodecInfo(info.id, info.name.decode(), info.brief.decode(), keys, *flags)


def codecs() -> List[CodecInfo]:
    """Returns every codec of the library, in order of id."""
    found: List[CodecInfo] = []
    while info := lib.crumb_list(len(found)):
        found.append(_info(info.contents))
    return found


_INFO = {info.id: info for info in codecs()}


def parse(text: str, parser: Callable[[Any, Any, Any], int]) -> CodecStruct:
    """Returns the codec that a function of the library, called with codec, text and bad, makes of a text. Raises Error,
    which quotes the text from its first offending character on, if it is invalid."""
    if "\0" in text:
        check(ESPEC, f"{text!r}, at its zero character")
    codec, buffer, bad = CodecStruct(), ctypes.create_string_buffer(text.encode()), ctypes.c_void_p()
    status = parser(byref(codec), buffer, byref(bad))
    at = (bad.value or 0) - ctypes.addressof(buffer)  # all before it is ASCII
    place = f", at {text[at:]!r}" if 0 <= at < len(text) else ", at its end" if bad else ""
    check(status, f"{text!r}{place}")
    return codec


class Codec:
    """A codec with its settings, an immutable value: it compares and hashes by value, and str() is its canonical spec.

    spec: "NAME" or "NAME:KEY=VALUE,KEY=VALUE"; keys that are left out have their defaults. Raises Error, which quotes
    the spec from its first offending character on, if it is invalid."""

    __slots__ = "struct",

    def __init__(self, spec: Union[str, "Codec"]):
        self.struct: CodecStruct
        if isinstance(spec, Codec):
            self.struct = CodecStruct.from_buffer_copy(spec.struct)
        elif not isinstance(spec, str):
            raise TypeError(f"crumb: a spec is text or a Codec, not {type(spec).__name__}")
        else:
            self.struct = parse(spec, lib.crumb_parse)

    @classmethod
    def from_struct(cls, struct: CodecStruct) -> "Codec":
        """Returns the codec of a crumb_codec, which is copied."""
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
        """The value of every key: a number, or the name of a choice."""
        return {key.name: key.choices[int(value)] if key.choices and value in range(len(key.choices)) else value
                for key, value in zip(self.info.keys, self.struct.value)}

    def of_mean(self) -> "Codec":
        """Returns the codec of a mean: this one without momentum, which the gradients have had."""
        codec = Codec(self)
        for k, key in enumerate(self.info.keys):
            if self.info.momentum and key.name == "momentum":
                codec.struct.value[k] = 0
        return codec

    def bound(self, n: int) -> int:
        """Returns the bytes of the longest frame for n elements, or 0 if the codec does not take so many."""
        return lib.crumb_bound(byref(self.struct), n) if is_size(n) else 0

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

    def __reduce__(self) -> Tuple[Type["Codec"], Tuple[str]]:
        return Codec, (str(self),)
