"""The tools on terminals of several widths and kinds: a line of progress never wraps, obeys a plain carriage return,
and is gone at the end; without a terminal there is none.

SPDX-License-Identifier: MIT
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from checks import check, finish

CRUMB, CRUMB_TRAIN = os.environ["CRUMB"], os.environ.get("CRUMB_TRAIN")


def on_terminal(command, columns, environment):
    """What the command prints to a standard error that is a terminal."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end, env=environment)
    os.close(end)
    printed = b""
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:  # the process has ended
            some = b""
        if not some:
            break
        printed += some
    os.close(terminal)
    check(process.wait() == 0, f"{command}: status {process.returncode}")
    return printed.decode().replace("\r\n", "\n")  # as the terminal's driver has it


def screen(printed):
    """The lines that are left on a terminal, without the blanks at their ends."""
    lines = []
    for line in printed.split("\n"):
        left = ""
        for piece in line.split("\r"):
            left = piece + left[len(piece):]
        lines.append(left.rstrip())
    return lines


def try_command(command, lines, columns, limit, **variables):
    """limit: the columns that a line of progress may fill. lines: expressions for what is left in the end."""
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "TERM")} | variables
    printed = on_terminal(command, columns, environment)
    what = f"{os.path.basename(command[0])}, {columns} columns, {variables}"
    pieces = [piece for piece in re.split("\r", printed) if "\n" not in piece and piece.strip()]
    check(pieces, f"{what}: there is progress")
    check(max(map(len, pieces), default=0) < limit, f"{what}: {max(pieces, key=len, default='')!r}")
    check("\33" not in printed, f"{what}: no escape sequence")
    left = screen(printed)
    check(len(left) == len(lines) and all(map(re.fullmatch, lines, left)), f"{what}: {left}")

    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    check(b"\r" not in done.stderr and b"\33" not in done.stderr, f"{what}: {done.stderr} in a file")


bench = [CRUMB, "bench", "-n", "1000", "-c", "raw", "-c", "twobit:threshold=0.0012345679"]
commands = [(bench, [""])]
if CRUMB_TRAIN:
    policy = "conv=adacomp:bin=50;fc,last=adacomp:bin=500;bias=raw"
    train = [CRUMB_TRAIN, "--data", "digits:200", "--epochs", "2", "--threads", "1", "--batch", "25", "--codec", policy]
    commands.append((train, [re.escape(policy), "  epoch 1/2 .*", "  epoch 2/2 .*", ""]))
for command, lines in commands:
    for columns in 8, 30, 80, 300:
        try_command(command, lines, columns, columns, TERM="dumb")
    try_command(command, lines, 0, 80, TERM="xterm")  # a terminal that does not know its width
    try_command(command, lines, 80, 20, TERM="xterm", COLUMNS="20")
    try_command(command, lines, 40, 40, TERM="xterm", COLUMNS="wide")
finish()
