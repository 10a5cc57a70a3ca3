"""Which .npy headers the tool takes, with NumPy as the oracle: what NumPy reads as f4 or f2 in C order is packed, with
the same values; what it refuses is refused; so is what crumb has no use for, and nothing crashes.

SPDX-License-Identifier: MIT
"""
import os
import random
import subprocess
import sys
import tempfile
import warnings

from checks import check, finish

try:
    import numpy as np
except ImportError:
    print("skipped: Python has no numpy here")
    sys.exit(77)

CRUMB = os.environ["CRUMB"]
MUTATIONS = 400
warnings.simplefilter("ignore")  # NumPy's, that a header of Python 2 takes it longer


def header(descr="'<f4'", fortran="False", shape="(12,)", blank=" ", end="\n"):
    items = f"'descr':{blank}{descr},", f"'fortran_order':{blank}{fortran},", f"'shape':{blank}{shape},"
    return ("{" + blank.join(items) + blank + "}" + end).encode("latin1")


def write(text, data, version=(1, 0)):
    size = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    with open("in.npy", "wb") as file:
        file.write(b"\x93NUMPY" + bytes(version) + size + text + data)


def oracle():
    """The array in the file as NumPy reads it, or None."""
    try:
        return np.load("in.npy")
    except Exception:  # whatever a hostile header raises
        return None


def pack():
    """The values that crumb reads, or None; a crash is neither."""
    done = subprocess.run([CRUMB, "pack", "-c", "raw", "in.npy", "-o", "frame"], capture_output=True)
    if done.returncode:
        check(done.returncode == 1, f"status {done.returncode}: {done.stderr}")
        check(done.stderr.startswith(b"crumb: in.npy: ") and done.stderr.count(b"\n") == 1, done.stderr)
        return None
    subprocess.run([CRUMB, "unpack", "frame", "-o", "out.npy"], check=True)
    return np.load("out.npy")


def wanted(array):
    """True if crumb takes what NumPy reads: little-endian floats whose memory is in C order."""
    return array is not None and array.dtype in (np.dtype("<f4"), np.dtype("<f2")) and array.flags.c_contiguous


def same(found, array):
    return found is not None and found.tobytes() == array.astype("<f4").tobytes()


def try_header(text, data, version=(1, 0)):
    write(text, data, version)
    array, found = oracle(), pack()
    if wanted(array):
        check(same(found, array), f"{text}, version {version}: NumPy reads {array.dtype} {array.shape}")
    else:
        check(found is None, f"{text}, version {version}: NumPy says {array if array is None else array.dtype}")
    return array


def elements(count, descr="<f4"):
    return np.arange(1, count + 1).astype(descr).tobytes()


def tables():
    shapes = {"(12,)": 12, "(12, 1)": 12, "(1, 12)": 12, "(1, 12, 1)": 12, "()": 1, "(1,)": 1, "(1, 1)": 1, "(0, 5)": 0,
              "(5, 0)": 0, "(0,)": 0, "(3, 4)": 12, "(3, 2, 2)": 12, "(2, 1, 6)": 12, "(12L,)": 12, "(3L, 4L)": 12,
              "( 12 , )": 12, "(3,4,)": 12, "(3\n,4)": 12}
    for version in (1, 0), (2, 0), (3, 0):
        for shape, count in shapes.items():
            if "L" in shape and version == (3, 0):  # which no Python 2 has written
                continue
            for fortran in "False", "True":
                array = try_header(header(fortran=fortran, shape=shape), elements(count), version)
                check(array is not None, f"NumPy reads {shape}")
    for version in (0, 0), (1, 1), (2, 1), (4, 0), (9, 0), (255, 255):
        try_header(header(), elements(12), version)
    for order in "<", "=", "|", "", ">", "!", "<=", "||", " ", "<<":
        for kind in "f4", "f2", "f8", "i4", "i2", "u4", "c8", "b1", "f", "f16", "S4", "V4", "O", "f5", "":
            if kind != "f":  # NumPy has more names than one for a type; files have the one
                try_header(header(descr=f"'{order}{kind}'"), elements(12, "<f2" if kind == "f2" else "<f4"))
    for blank in " ", "", "  ", "\t", "\n", "\r\n", "\r", "\f", "\v", "\0", "\xa0", " \r\n\t ":
        for end in "\n", "", "\r\n", " \n", "\n\n", "\f\n", "\0", "x":
            try_header(header(blank=blank, end=end), elements(12))
    for shape in "(12)", "12", "[12]", "(12,,)", "(,)", "(12 3)", "(12.0,)", "('12',)", "(12", "(3 L,)x", \
            "None", "(True,)x", "(12LL,)", "(L,)", "(12,)(12,)", "(3, 4", "(99999999999999999999,)":
        try_header(header(shape=shape), elements(12))
    for fortran in "0", "1", "None", "'True'", "true", "Truex", "TrueFalse":
        try_header(header(fortran=fortran), elements(12))
    for text in b"", b"{", b"{}", b"()", b"[]", b"\n{}", b"{'descr': '<f4'}", b"{{}}", b"{" * 3000, header()[:-2]:
        try_header(text, elements(12))


def mutate(random, text):
    """The header with a few characters replaced, dropped or doubled."""
    letters = list(text.decode("latin1"))
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(letters))
        kind = random.randrange(3)
        letters[at] = random.choice("{}()[]',:<>=|0129fFuL \n\r\t\"\\#-") if kind == 0 else letters[at] * 2 * (kind - 1)
    return "".join(letters).encode("latin1")


def hostile():
    """Whatever crumb takes, NumPy takes, with the same values."""
    draw = random.Random(1)
    for _ in range(MUTATIONS):
        shape, count = draw.choice((("(12,)", 12), ("(3, 4)", 12), ("(12L, 1)", 12), ("()", 1), ("(0, 5)", 0)))
        text = mutate(draw, header(shape=shape, fortran=draw.choice(("False", "True"))))
        write(text, elements(count))
        array, found = oracle(), pack()
        check(found is None or wanted(array) and same(found, array), f"{text}: crumb reads {found}, NumPy {array}")


os.chdir(folder := tempfile.mkdtemp())
try:
    tables()
    hostile()
finally:
    subprocess.run(["rm", "-rf", folder])
finish()
