"""Tables of bench/results/codecs*.csv, scaling*.csv and share.csv: the speed of codecs beside memory's, and the goals.
SPDX-License-Identifier: MIT"""
from functools import cache
from statistics import median

from markdown import distinct, read, table

# Codec, its speed, the memory's speed of which it is a percentage, and the goals with AVX-512 and AVX2; None: no goal.
GOALS = [("twobit:threshold=0.01", "pack", "floor", 90, 88),
         ("twobit:threshold=0.01", "unpack", "scale", 90, 90),
         ("8 frames of twobit together", "unpack", "scale", 60, None),
         ("terngrad", "pack", "read", 42, 35),
         ("terngrad:bucket=16384", "pack", "read", 55, 45),
         ("terngrad", "unpack", "scale", 90, None),
         ("adacomp:bin=50", "pack", "floor", 60, 50),
         ("adacomp", "pack", "floor", 60, 45),
         ("adacomp:bin=50", "unpack", "scale", 85, 85),
         ("adacomp", "unpack", "scale", 200, 200),
         ("qsgd:bucket=8192,norm=max", "pack", "read", 62, None),
         ("nuqsgd:bucket=8192", "pack", "read", 42, None),
         ("alq", "pack", "read", 28, None),
         ("qsgd:bucket=8192,norm=max", "unpack", "scale", 80, None),
         ("nuqsgd:bucket=8192", "unpack", "scale", 80, None),
         ("alq", "unpack", "scale", 80, None),
         ("qsgd:bucket=8192,coding=entropy,norm=max", "pack", "read", 32, None),
         ("alq:coding=entropy", "pack", "read", 26, None),
         ("topk:fraction=0.01", "pack", "floor", 42, None),
         ("topk:fraction=0.001", "pack", "floor", 65, None),
         ("chunk", "pack", "floor", 25, None),
         ("block", "pack", "read", 50, None)]
# Codecs without a goal, by the memory's speed that their packing is compared with; a frame as long as the gradient is a
# copy.
WITHOUT_GOAL = {"floor": "sign onebit seide local strom strom:threshold=0.01 topk topk:value=exact dgc",
                "read": "qsgd nuqsgd natural amq zipml block:bits=4 terngrad:coding=bits terngrad:coding=entropy",
                "copy": "raw half"}
OTHERS = {what: floor for floor, names in WITHOUT_GOAL.items() for what in names.split()}
L2_ELEMENTS = 1 << 14  # of a gradient that fits L2
FLOORS = {"floor": "`r += g`", "read": "reading", "scale": "`acc *= s`", "copy": "copying"}


@cache
def made_up(n=None, file="codecs.csv"):
    """The rows of made-up gradients of n elements, or of the longest ones, by spec and instruction set."""
    rows = [row for row in read(file, "bench") if row["data"] == "made up"]
    n = n or max(int(row["n"]) for row in rows)
    return {(row["what"], row["isa"]): row for row in rows if int(row["n"]) == n}


def judged(value, goal):
    return "-" if value is None else f"**{value:.0f}**" if goal and round(value) < goal else f"{value:.0f}"


def share_of(row, key, floor):
    """Returns a speed in percent of the memory's; the speed of eight frames counts the elements of all."""
    frames = 8 if row and row["what"].startswith("8 frames") else 1
    return 100 * float(row[f"{key}_gbps"]) / frames / float(row[f"{floor}_gbps"]) if row else None


def against_goals(wanted, *elsewhere):
    """A row a goal of GOALS: percentages reached with AVX-512 and AVX2, and on other CPUs, each a name, an instruction
    set and a file."""
    by, more = made_up(), [(name, isa, made_up(file=file)) for name, isa, file in elsewhere]
    titles = {"avx512": "AVX-512", "avx2": "AVX2"}

    def goal(percent):
        return "-" if percent is None else f"{percent}"

    lines = []
    for what, key, floor, wide, narrow in wanted:
        goals_of = {"avx512": wide, "avx2": narrow}

        def reached(isa, rows):
            return judged(share_of(rows.get((what, isa)), key, floor), goals_of[isa])

        lines.append([what if " " in what else f"`{what}`", key.replace("_", ", "), FLOORS[floor],
                      goal(wide), reached("avx512", by), goal(narrow), reached("avx2", by),
                      *(reached(isa, rows) for _, isa, rows in more)])
    return table(["codec", "what", "percent of", "goal, AVX-512", "AVX-512", "goal, AVX2", "AVX2",
                  *(f"{titles[isa]}, {name}" for name, isa, _ in more)], lines)


def goals():
    return against_goals(GOALS, *((name, isa, f"codecs-{name.lower().replace(' ', '')}.csv")
                                  for name in ("Xeon", "Zen 4") for isa in ("avx512", "avx2")))


def others():
    """A row a codec without a goal: packing and adding, in percent of memory's speed."""
    by, lines = made_up(), []

    def cells(what, key, floor):
        return [judged(share_of(by.get((what, isa)), key, floor), None) for isa in ("avx512", "avx2")]

    for what, floor in OTHERS.items():
        adds = "floor" if floor == "copy" else "scale"
        lines.append([f"`{what}`", FLOORS[floor], *cells(what, "pack", floor),
                      FLOORS[adds], *cells(what, "unpack", adds)])
    return table(["codec", "pack, percent of", "AVX-512", "AVX2", "unpack, percent of", "AVX-512", "AVX2"], lines)


PACKS = {what: floor for what, key, floor, *_ in GOALS if key == "pack"} | OTHERS


def cached():
    """A row a codec: GB/s of packing and adding a gradient that fits L2."""
    by = made_up(L2_ELEMENTS)
    lines = [[f"`{what}`", *(f"{float(by[what, isa][key]):.0f}" if (what, isa) in by else "-"
                             for key in ("pack_gbps", "unpack_gbps") for isa in ("avx512", "avx2"))] for what in PACKS]
    return table(["codec", "pack, AVX-512", "AVX2", "unpack, AVX-512", "AVX2"], lines)


def safe_goal(what, goal):
    """Returns a pack's goal if it reads its input once more to check it: reading takes 0.48 of the time of r += g."""
    if what.split(":")[0] in ("twobit", "strom", "sign"):
        return 60
    return None if goal is None else round(100 / (100 / goal + 0.48))


def safe():
    """A row a codec: packing with the check for NaN, in percent of memory's speed."""
    packs = [(what, floor, wide, narrow) for what, key, floor, wide, narrow in GOALS if key == "pack"]
    packs += [(what, floor, None, None) for what, floor in OTHERS.items()]
    return against_goals([(what, "pack_safe", floor, safe_goal(what, wide), safe_goal(what, narrow))
                          for what, floor, wide, narrow in packs])


def gains(row, other, key, floor):
    """Returns one thread's and two threads' speed, and their gain in percent of the memory's gain."""
    one, two = float(row[f"{key}_gbps"]), float(other[f"{key}_gbps"])
    share = 100 * two / one / (float(other[f"{floor}_gbps"]) / float(row[f"{floor}_gbps"]))
    return [f"{one:.1f}", f"{two:.1f}", f"{share:.0f}" if round(share) >= 90 else f"**{share:.0f}**"]


THREADED = {"pack": "pack", "unpack": "unpack", "shared": "one frame shared", "shared_8": "eight shared"}


def threaded(file):
    """Returns by codec and kernel the gains of a second thread on the longest gradient."""
    rows = read(file, "bench")
    longest = max((int(row["n"]) for row in rows), default=0)
    by = {(row["what"], row["threads"]): row for row in rows if int(row["n"]) == longest}
    owes = {what.split(":")[0] for what, floor in PACKS.items() if floor == "floor"}

    def floor_of(what, key):
        return "scale" if key != "pack" else "floor" if what.split(":")[0] in owes else "read"

    return {(what, key): gains(by[what, "1"], by[what, "2"], key, floor_of(what, key))
            for what in distinct(rows, "what") for key in THREADED}


def threads():
    """A row a codec: GB/s with one thread and with two on the longest gradient, beside what the memory gains."""
    by = threaded("scaling.csv")
    lines = [[f"`{what}`"] + [cell for key in THREADED for cell in by[what, key]]
             for what in dict.fromkeys(what for what, _ in by)]
    titles = ((f"{name}, 1 thread", "2 threads", "of memory's gain, %") for name in THREADED.values())
    return table(["codec", *(title for three in titles for title in three)], lines)


def threads_again():
    """A row for each kernel with too small a gain by a second thread in any of three runs: all three gains."""
    runs = [threaded(f"scaling{run}.csv") for run in ("", "-2", "-3")]
    lines = [[f"`{what}`", THREADED[key]] + [by[what, key][-1] for by in runs] for what, key in runs[0]]
    return table(["codec", "what", *(f"of memory's gain, %, run {run}" for run in (1, 2, 3))],
                 [line for line in lines if any("**" in cell for cell in line)])


LINEAR = 10  # most percent between costs by element


def linear():
    """The memory's rows, medians of all codecs' runs, and a row a codec: nanoseconds an element on one thread by
    length, and their spread."""
    rows = [row for row in read("scaling.csv", "bench") if row["threads"] == "1"]
    sizes = sorted({int(row["n"]) for row in rows})
    by = {(row["what"], int(row["n"])): row for row in rows}

    def cells(cost):
        spread = 100 * (max(cost) / min(cost) - 1)
        return [f"{ns:.3f}" for ns in cost] + [f"{spread:.0f}" if round(spread) <= LINEAR else f"**{spread:.0f}**"]

    def costs(key, what):
        return cells([4 / float(by[what, n][f"{key}_gbps"]) for n in sizes])

    def memory(key):
        return cells([median(4 / float(row[f"{key}_gbps"]) for row in rows if int(row["n"]) == n) for n in sizes])

    head = ["codec"]
    for key in ("pack", "unpack"):
        head += [*(f"{key}, {n >> 20} Mi" for n in sizes), "differ by, %"]
    return table(head,
                 [["none: `r += g`; `acc *= s`"] + memory("floor") + memory("scale"),
                  ["none: `r += g`, then `r *= s`"] + memory("twice") + ["-"] * (len(sizes) + 1)] * bool(rows) +
                 [[f"`{what}`"] + costs("pack", what) + costs("unpack", what) for what in distinct(rows, "what")])


def share():
    """A row a network and codec: milliseconds of a learner's step, and crumb's in percent of the computation's."""
    lines = []
    for row in read("share.csv", "bench"):
        crumb = float(row["crumb_s"])
        percent = 100 * crumb / float(row["compute_s"]) if row["compute_s"] else None
        lines.append([row["model"], f"`{row['codec']}`",
                      str(int(row["batch"]) // int(row["learners"])) if row["batch"] else "-",
                      f"{1000 * float(row['compute_s']):.1f}" if row["compute_s"] else "-", f"{1000 * crumb:.2f}",
                      "-" if percent is None else f"{percent:.1f}"])
    return table(["network", "codec", "batch of a learner", "compute, ms", "crumb, ms", "share, %"], lines,
                 left=("codec",))


def coders():
    """A row a source of symbols: GB/s of f32 of both coders, and percent of reading from memory."""
    rows = [row for row in read("codecs.csv", "bench") if row["what"] in ("rANS", "Huffman")]
    by = {(row["data"], row["what"], row["isa"]): row for row in rows}
    reading = median(float(row["read_gbps"]) for row in made_up().values())
    columns = [(coder, key, isa)
               for isa in ("avx512", "avx2") for coder in ("rANS", "Huffman") for key in ("pack", "unpack")]

    def cell(row, key):
        return f"{float(row[key + '_gbps']):.1f} ({100 * float(row[key + '_gbps']) / reading:.0f} %)" if row else "-"

    return table(["symbols"] + [f"{coder} {'en' if key == 'pack' else 'de'}code, {isa}" for coder, key, isa in columns],
                 [[data] + [cell(by.get((data, coder, isa)), key) for coder, key, isa in columns]
                  for data in distinct(rows, "data")])


def rules():
    """A row a rule: its speed, the codec's of that rule, and their ratio."""
    by = {what: row for (what, isa), row in made_up().items() if isa in ("plain", "avx512")}
    pairs = [("the rule of MXNet 2-bit in plain C", "twobit:threshold=0.01"),
             ("the rule of BytePS onebit in plain C", "sign"),
             ("plain top-k of 0.3 % in plain C", "topk:value=exact"), ("the rule of QSGD in plain C", "qsgd")]
    lines = []
    for plain, codec in pairs:
        speeds = [float(by[what][key]) for key in ("pack_gbps", "unpack_gbps") for what in (plain, codec)]
        lines.append([plain, f"`{codec}`"] + [cell for slow, fast in (speeds[:2], speeds[2:]) for cell in
                                              (f"{slow:.2f}", f"{fast:.2f}", f"{fast / slow:.1f}")])
    return table(["in plain C", "codec", "pack, GB/s", "the codec's", "times", "unpack, GB/s", "the codec's", "times"],
                 lines, left=("codec",))
