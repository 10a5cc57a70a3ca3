"""The tables of bench/results/codecs.csv, codecs-xeon.csv, codecs-zen4.csv, operations.csv, scaling.csv, scaling-2.csv, scaling-3.csv and
share.csv: how fast codecs are, against the roofline and the goals. SPDX-License-Identifier: MIT"""
from functools import cache
from statistics import median

from markdown import distinct, read, table

# What, which of its speeds, of which of the memory's, and the goals in percent on AVX-512 and AVX2; None: none is stated.
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
         ("topk:fraction=0.001", "pack", "floor", 65, None)]
# Where no goal is stated: half of what the roofline allows. The memory's side; of a frame as long as the gradient a copy.
OTHERS = {"sign": "floor", "onebit": "floor", "seide": "floor", "local": "floor", "strom": "floor", "strom:threshold=0.01": "floor",
          "topk": "floor", "topk:value=exact": "floor", "qsgd": "read", "nuqsgd": "read", "natural": "read", "amq": "read", "zipml": "read",
          "terngrad:coding=bits": "read", "terngrad:coding=entropy": "read", "raw": "copy", "half": "copy"}
# The arithmetic's side, of what reads and computes: its loops, as bench/operations has them. What needs something of the whole gradient before it
# packs an element, a scaler or levels, reads twice. Counting in a histogram, no matter of vectors, is left out.
LOOPS = {"qsgd": ["levels: L2 norm", "levels: evenly spaced, up to four bits"], "nuqsgd": ["levels: L2 norm", "levels: 0 and powers of 1/2"],
         "natural": ["levels: max norm", "levels: 0 and powers of 1/2"], "amq": ["levels: L2 norm", "levels: a table"],
         "zipml": ["levels: L2 norm", "zipml: bins", "levels: L2 norm", "levels: a table"],
         "terngrad:coding=bits": ["terngrad: scale", "terngrad: bits"],
         "terngrad:coding=entropy": ["terngrad: scale", "terngrad: bits", "rANS: encode"]}
TWICE = ("zipml", "terngrad:coding=bits", "terngrad:coding=entropy")
# The same from the second cache, and of codecs that have a goal from memory only; and what goes over its residual again, for a scale or a threshold.
LOOPS_CACHED = LOOPS | {"terngrad:bucket=16384": ["terngrad: scale", "terngrad: trits"],
                        "qsgd:bucket=8192,norm=max": ["levels: max norm", "levels: evenly spaced, up to four bits"],
                        "nuqsgd:bucket=8192": ["levels: L2 norm", "levels: 0 and powers of 1/2"], "alq": ["levels: L2 norm", "levels: a table"],
                        "qsgd:bucket=8192,coding=entropy,norm=max": ["levels: max norm", "levels: evenly spaced, up to four bits", "rANS: encode"],
                        "alq:coding=entropy": ["levels: L2 norm", "levels: a table", "rANS: encode"],
                        "strom:threshold=0.01": ["strom: drawn"], "half": ["half: rounding"], "seide": ["seide: sums", "seide: sides"]}
# What adding computes, where that is more than a look at a table.
ADDS = {"terngrad:bucket=16384": "trits: adding", "seide": "seide: adding"} | dict.fromkeys(("alq", "amq", "zipml"), "levels: adding") | dict.fromkeys(
    ("qsgd", "nuqsgd", "natural", "qsgd:bucket=8192,norm=max", "nuqsgd:bucket=8192"), "levels: adding four bits")
AGAIN = ("sign", "seide", "topk", "topk:value=exact", "topk:fraction=0.001")
# Bytes of a frame for an element, where these take long enough to check; a coded one's are its symbols.
FRAME = {"raw": 4, "half": 2, "qsgd": 0.5, "nuqsgd": 0.5, "natural": 0.5, "alq": 0.375, "amq": 0.375, "zipml": 0.375, "terngrad": 0.2,
         "terngrad:coding=bits": 0.25, "strom:threshold=0.01": 0.25, "sign": 0.125, "onebit": 0.125, "seide": 0.125}
HALF = 50
# From the second cache, where memory does not count, goals are GB/s, on AVX-512.
CACHED = [("twobit:threshold=0.01", 70), ("terngrad", 35), ("adacomp:bin=50", 18), ("adacomp", 22), ("topk:fraction=0.01", 10)]
CACHED_N = 1 << 14
FLOORS = {"floor": "`r += g`", "read": "reading", "scale": "`acc *= s`", "copy": "copying"}


@cache
def made_up(n=None, file="codecs.csv"):
    """What was measured of the codecs on gradients of n elements, or the longest ones, by spec and instruction set."""
    rows = [row for row in read(file, "bench") if row["data"] == "made up"]
    n = n or max(int(row["n"]) for row in rows)
    return {(row["what"], row["isa"]): row for row in rows if int(row["n"]) == n}


def judged(value, goal):
    return "-" if value is None else f"**{value:.0f}**" if goal and round(value) < goal else f"{value:.0f}"


def share_of(row, key, floor):
    """In percent; of eight frames, whose elements are all counted, of what they are added to."""
    frames = 8 if row and row["what"].startswith("8 frames") else 1
    return 100 * float(row[f"{key}_gbps"]) / frames / float(row[f"{floor}_gbps"]) if row else None


def against_goals(wanted, *elsewhere):
    """A row a goal, as GOALS has them: reached with AVX-512 and AVX2, in percent of one of the memory's speeds; and on other CPUs,
    each a name, an instruction set and a file."""
    by, more = made_up(), [(name, isa, made_up(file=file)) for name, isa, file in elsewhere]
    titles = {"avx512": "AVX-512", "avx2": "AVX2"}

    def goal(percent):
        return "-" if percent is None else f"{percent}"

    lines = []
    for what, key, floor, wide, narrow in wanted:
        goals_of = {"avx512": wide, "avx2": narrow}

        def reached(isa, rows):
            return judged(share_of(rows.get((what, isa)), key, floor), goals_of[isa])

        lines.append([what if " " in what else f"`{what}`", key.replace("_", ", "), FLOORS[floor], goal(wide), reached("avx512", by),
                      goal(narrow), reached("avx2", by), *(reached(isa, rows) for _, isa, rows in more)])
    return table(["codec", "what", "percent of", "goal, AVX-512", "AVX-512", "goal, AVX2", "AVX2",
                  *(f"{titles[isa]}, {name}" for name, isa, _ in more)], lines)


def goals():
    return against_goals(GOALS, *((name, isa, f"codecs-{name.lower().replace(' ', '')}.csv") for name in ("Xeon", "Zen 4")
                                  for isa in ("avx512", "avx2")))


def operations_for_sixteen():
    return {(row["isa"], row["loop"]): float(row["operations_for_sixteen"]) for row in read("operations.csv", "bench")}


def allowed(what, isa):
    """What the roofline allows of packing, in percent of OTHERS' speed of memory: the lesser of its two sides."""
    memory = 50 if what in TWICE else 100
    if what not in LOOPS:
        return memory
    operations = operations_for_sixteen()
    peak = made_up(1 << 20).get(("one operation", isa))
    if not peak or not operations:
        return memory
    reading = median(float(row["read_gbps"]) for row in made_up().values())
    return min(memory, 100 * float(peak["pack_gbps"]) / sum(operations[isa, loop] for loop in LOOPS[what]) / reading)


def half_of(what, isa):
    return round(HALF / 100 * allowed(what, isa))


def others():
    """A row a codec without a stated goal: packing, in percent of one of the memory's speeds, beside what the roofline allows and half
    of it; and adding."""
    by, lines = made_up(), []
    for what, floor in OTHERS.items():
        adds = "floor" if floor == "copy" else "scale"
        packed = [cell for isa in ("avx512", "avx2") for cell in (
            f"{allowed(what, isa):.0f}", half_of(what, isa), judged(share_of(by.get((what, isa)), "pack", floor), half_of(what, isa)))]
        added = [judged(share_of(by.get((what, isa)), "unpack", adds), HALF) for isa in ("avx512", "avx2")]
        lines.append([f"`{what}`", FLOORS[floor], *packed, FLOORS[adds], *added])
    return table(["codec", "pack, percent of", "roofline, AVX-512", "goal", "reached", "roofline, AVX2", "goal", "reached", "unpack, percent of",
                  "AVX-512", "AVX2"], lines)


def cached():
    """A row a codec: GB/s of packing and adding from the second cache."""
    by = made_up(CACHED_N)
    lines = []
    for what, goal in CACHED:
        own = {isa: by.get((what, isa)) for isa in ("avx512", "avx2")}
        lines.append([f"`{what}`", str(goal), judged(float(own["avx512"]["pack_gbps"]) if own["avx512"] else None, goal)] +
                     [f"{float(own[isa][key]):.0f}" if own[isa] else "-" for isa, key in
                      (("avx2", "pack_gbps"), ("avx512", "unpack_gbps"), ("avx2", "unpack_gbps"))])
    return table(["codec", "goal, AVX-512", "pack, AVX-512", "AVX2", "unpack, AVX-512", "AVX2"], lines)


def tenths(value, goal):
    return f"**{value:.1f}**" if round(value, 1) < round(goal, 1) else f"{value:.1f}"


PACK_FLOORS = {what: floor for what, key, floor, *_ in GOALS if key == "pack"} | OTHERS


def frame_bytes(what):
    return FRAME.get(what, 0 if what.startswith(("terngrad:coding=e", "strom")) else FRAME.get(what.split(":")[0], 0))


def checksum(isa):
    """GB/s of frames if the CPU did nothing but a checksum's instructions, of both kinds side by side."""
    return sum(float(made_up(1 << 20)[what, isa]["pack_gbps"]) for what in ("folding", "CRC"))


def adding_cached(what, isa):
    """What the roofline allows of adding from the second cache, in GB/s: a frame is checked before any of it is added."""
    row = made_up(CACHED_N)[what, isa]
    floor = float(row["floor_gbps" if PACK_FLOORS[what] == "copy" else "scale_gbps"])
    if what in ADDS:
        operations = operations_for_sixteen() # four bits have a loop of their own with AVX2
        count = operations.get((isa, ADDS[what])) or operations[isa, "levels: adding"]
        floor = min(floor, float(made_up(1 << 20)["one operation", isa]["pack_gbps"]) / count)
    return 4 / (4 / floor + frame_bytes(what) / checksum(isa))


def allowed_cached(what, isa):
    """What the roofline allows of packing from the second cache, in GB/s: the lesser of its two sides."""
    row = {key: float(made_up(CACHED_N)[what, isa][f"{key}_gbps"]) for key in ("floor", "read", "copy", "scale")}
    floor = row[PACK_FLOORS[what]]
    memory = floor / 2 if what in TWICE else 1 / (1 / row["floor"] + 1 / row["scale"]) if what in AGAIN else floor
    if frame_bytes(what):
        memory = min(memory, 4 / frame_bytes(what) * checksum(isa))
    if what not in LOOPS_CACHED:
        return memory
    operations = operations_for_sixteen()
    return min(memory, float(made_up(1 << 20)["one operation", isa]["pack_gbps"]) / sum(operations[isa, loop] for loop in LOOPS_CACHED[what]))


def others_cached():
    """A row a codec without a stated goal from the second cache: GB/s of packing, beside the roofline's and half of it, and of adding."""
    by, lines = made_up(CACHED_N), []
    for what in PACK_FLOORS:
        if what in dict(CACHED):
            continue
        packed, added = [], []
        for isa in ("avx512", "avx2"):
            if (what, isa) not in by:
                packed += ["-"] * 3
                added += ["-"] * 2
                continue
            row = {key: float(by[what, isa][f"{key}_gbps"]) for key in ("pack", "unpack")}
            limit = allowed_cached(what, isa)
            packed += [f"{limit:.1f}", f"{HALF / 100 * limit:.1f}", tenths(row["pack"], HALF / 100 * limit)]
            goal = HALF / 100 * adding_cached(what, isa)
            added += [f"{goal:.1f}", tenths(row["unpack"], goal)]
        lines.append([f"`{what}`", *packed, *added])
    return table(["codec", "pack: roofline, AVX-512", "goal", "reached", "roofline, AVX2", "goal", "reached", "unpack: goal, AVX-512", "reached",
                  "goal, AVX2", "reached"], lines)


def safe_goal(what, goal):
    """Of a pack that checks its input, if it reads it once more for that: reading takes 0.48 of the time of r += g."""
    if what.split(":")[0] in ("twobit", "strom", "sign"):
        return 60
    return None if goal is None else round(100 / (100 / goal + 0.48))


def safe():
    packs = [(what, floor, wide, narrow) for what, key, floor, wide, narrow in GOALS if key == "pack"]
    packs += [(what, floor, half_of(what, "avx512"), half_of(what, "avx2")) for what, floor in OTHERS.items()]
    return against_goals([(what, "pack_safe", floor, safe_goal(what, wide), safe_goal(what, narrow))
                          for what, floor, wide, narrow in packs])


def safe_cached():
    """A row a codec: how much longer packing takes with the check, from the second cache, and how much longer it would take if the
    gradient were read once more at the cache's speed, in percent of packing."""
    by, lines = made_up(CACHED_N), []
    for what in [what for what, key, *_ in GOALS if key == "pack"] + list(OTHERS):
        cells = []
        for isa in ("avx512", "avx2"):
            if (what, isa) in by:
                pack, checked, reading = (float(by[what, isa][f"{key}_gbps"]) for key in ("pack", "pack_safe", "read"))
                cells += [f"{round(100 * (pack / checked - 1))}", f"{round(100 * pack / reading)}"]
            else:
                cells += ["-", "-"]
        lines.append([f"`{what}`", *cells])
    return table(["codec", "the check, AVX-512", "a reading", "the check, AVX2", "a reading"], lines)


def gains(row, other, key, floor):
    """One thread's and two threads' speed, and how much of what two threads gain for the memory alone this is."""
    one, two = float(row[f"{key}_gbps"]), float(other[f"{key}_gbps"])
    share = 100 * two / one / (float(other[f"{floor}_gbps"]) / float(row[f"{floor}_gbps"]))
    return [f"{one:.1f}", f"{two:.1f}", f"{share:.0f}" if round(share) >= 90 else f"**{share:.0f}**"]


THREADED = {"pack": "pack", "unpack": "unpack", "shared": "one frame shared", "shared_8": "eight shared"}


def threaded(file):
    """By codec and what it does, the gains of a second thread on the longest gradient."""
    rows = read(file, "bench")
    longest = max((int(row["n"]) for row in rows), default=0)
    by = {(row["what"], row["threads"]): row for row in rows if int(row["n"]) == longest}
    packs = [(what, floor) for what, key, floor, *_ in GOALS if key == "pack"] + list(OTHERS.items())
    owes = {what.split(":")[0] for what, floor in packs if floor == "floor"}

    def floor_of(what, key):
        return "scale" if key != "pack" else "floor" if what.split(":")[0] in owes else "read"

    return {(what, key): gains(by[what, "1"], by[what, "2"], key, floor_of(what, key)) for what in distinct(rows, "what") for key in THREADED}


def threads():
    """A row a codec: GB/s with one thread and with two on the longest gradient, beside what the memory gains."""
    by = threaded("scaling.csv")
    lines = [[f"`{what}`"] + [cell for key in THREADED for cell in by[what, key]] for what in dict.fromkeys(what for what, _ in by)]
    return table(["codec"] + [title for name in THREADED.values() for title in (f"{name}, 1 thread", "2 threads", "of memory's gain, %")], lines)


def threads_again():
    """A row for what gained too little from a second thread in any of three runs: the gains of all three."""
    runs = [threaded(f"scaling{run}.csv") for run in ("", "-2", "-3")]
    lines = [[f"`{what}`", THREADED[key]] + [by[what, key][-1] for by in runs] for what, key in runs[0]]
    return table(["codec", "what", *(f"of memory's gain, %, run {run}" for run in (1, 2, 3))],
                 [line for line in lines if any("**" in cell for cell in line)])


LINEAR = 10  # percent that costs an element may differ by


def linear():
    """The memory's rows, medians of all codecs' runs, and a row a codec: nanoseconds an element on one thread by length, and by how
    much they differ."""
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

    return table(["codec"] + [title for key in ("pack", "unpack") for title in [f"{key}, {n >> 20} Mi" for n in sizes] + ["differ by, %"]],
                 [["none: `r += g`; `acc *= s`"] + memory("floor") + memory("scale"),
                  ["none: `r += g`, then `r *= s`"] + memory("twice") + ["-"] * (len(sizes) + 1)] * bool(rows) +
                 [[f"`{what}`"] + costs("pack", what) + costs("unpack", what) for what in distinct(rows, "what")])


def share():
    """A row a network and codec: milliseconds of a learner's step, and the share of crumb's in what it computes."""
    lines = []
    for row in read("share.csv", "bench"):
        crumb = float(row["crumb_s"])
        percent = 100 * crumb / float(row["compute_s"]) if row["compute_s"] else None
        lines.append([row["model"], f"`{row['codec']}`", str(int(row["batch"]) // int(row["learners"])) if row["batch"] else "-",
                      f"{1000 * float(row['compute_s']):.1f}" if row["compute_s"] else "-", f"{1000 * crumb:.2f}",
                      "-" if percent is None else f"{percent:.1f}"])
    return table(["network", "codec", "batch of a learner", "compute, ms", "crumb, ms", "share, %"], lines, left=("codec",))


def coders():
    """A row a source of symbols: GB/s of f32 of both coders, and what that is of reading from memory."""
    rows = [row for row in read("codecs.csv", "bench") if row["what"] in ("rANS", "Huffman")]
    by = {(row["data"], row["what"], row["isa"]): row for row in rows}
    reading = median(float(row["read_gbps"]) for row in made_up().values())
    columns = [(coder, key, isa) for isa in ("avx512", "avx2") for coder in ("rANS", "Huffman") for key in ("pack", "unpack")]

    def cell(row, key):
        return f"{float(row[key + '_gbps']):.1f} ({100 * float(row[key + '_gbps']) / reading:.0f} %)" if row else "-"

    return table(["symbols"] + [f"{coder} {'en' if key == 'pack' else 'de'}code, {isa}" for coder, key, isa in columns],
                 [[data] + [cell(by.get((data, coder, isa)), key) for coder, key, isa in columns] for data in distinct(rows, "data")])


def rules():
    """A row a rule: how often faster the codec of that rule is."""
    by = {what: row for (what, isa), row in made_up().items() if isa in ("plain", "avx512")}
    pairs = [("the rule of MXNet 2-bit in plain C", "twobit:threshold=0.01"), ("the rule of BytePS onebit in plain C", "sign"),
             ("plain top-k of 0.3 % in plain C", "topk:value=exact"), ("the rule of QSGD in plain C", "qsgd")]
    lines = []
    for plain, codec in pairs:
        speeds = [float(by[what][key]) for key in ("pack_gbps", "unpack_gbps") for what in (plain, codec)]
        lines.append([plain, f"`{codec}`"] + [cell for slow, fast in (speeds[:2], speeds[2:]) for cell in
                                              (f"{slow:.2f}", f"{fast:.2f}", f"{fast / slow:.1f}")])
    return table(["in plain C", "codec", "pack, GB/s", "the codec's", "times", "unpack, GB/s", "the codec's", "times"], lines,
                 left=("codec",))
