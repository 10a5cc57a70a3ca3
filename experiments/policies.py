"""The codecs that the experiments name, and short names for them. SPDX-License-Identifier: MIT"""


def adacomp(conv=50, fc=500, more=""):
    return f"conv=adacomp:bin={conv}{more};fc,last=adacomp:bin={fc}{more};bias=raw"


def local(conv=50, fc=500):
    return f"conv=local:bin={conv};fc,last=local:bin={fc}"


ADACOMP = adacomp()
ADACOMP_LSTM = "fc,lstm,last=adacomp:bin=500;bias=raw"
FC_TOP, CONV_ONE_BIT = "conv=raw;fc,last=topk:fraction=0.003;bias=raw", "conv=seide;fc,last=raw;bias=raw"
BOTH = "conv=seide;fc,last=topk:fraction=0.003;bias=raw"
NAMES = {ADACOMP: "AdaComp", ADACOMP_LSTM: "AdaComp, LSTM", FC_TOP: "FC top 0.3 %",
         CONV_ONE_BIT: "one-bit conv", BOTH: "FC top 0.3 %, one-bit conv",
         adacomp(more=",factor=3"): "AdaComp, factor 3", adacomp(more=",factor=1.5"): "AdaComp, factor 1.5",
         "conv,fc,last=terngrad": "TernGrad, last layer too", "terngrad": "TernGrad", "terngrad:clip=0": "no clipping"}
NAMES |= {adacomp(*bins): f"AdaComp {bins[0]}/{bins[1]}" for bins in (
    (200, 2000), (500, 500), (500, 5000), (800, 8000), (5000, 5000), (16000, 16000))}
NAMES |= {local(*bins): f"LS {bins[0]}/{bins[1]}" for bins in (
    (50, 500), (100, 100), (200, 2000), (500, 5000), (1000, 1000))}
NAMES |= {f"topk:fraction={fraction}": f"top-k {100 * fraction:g} %"
          for fraction in (0.01, 0.005, 0.003, 0.001, 0.0005)}
NAMES |= {f"terngrad:clip={clip:g}": f"TernGrad, clip {clip:g}" for clip in (1.5, 2, 3, 4)}


def fc_alone(codec):
    """The policy that compresses fully connected layers alone."""
    return f"conv=raw;fc,last={codec};bias=raw"


NAMES |= {fc_alone(f"{codec}:bin={size}"): f"FC {name} {size}"
          for codec, name, size in (("local", "LS", 200), ("local", "LS", 300), ("adacomp", "AdaComp", 5000))}

# The ALQ paper's methods, at its 3 bits and buckets of 8192; TRN has three levels, the others no level of zero.
NUQSGD, QSGD_INF = "nuqsgd:bits=3,bucket=8192,zero=0", "qsgd:bits=3,bucket=8192,zero=0,norm=max"
TRN = "qsgd:bits=2,bucket=8192,norm=max"
ALQ, ALQ_N, AMQ, AMQ_N = (f"{name}:bits=3,bucket=8192{more}" for name in ("alq", "amq")
                          for more in ("", ",normalized=1"))
ALQ_NORMAL, ALQ_FROZEN = f"{ALQ},model=normal", f"{ALQ},every=16777216"
NAMES |= {NUQSGD: "NUQSGD", QSGD_INF: "QSGDinf", TRN: "TRN", ALQ: "ALQ", ALQ_N: "ALQ-N", AMQ: "AMQ", AMQ_N: "AMQ-N",
          ALQ_NORMAL: "ALQ, normal law", ALQ_FROZEN: "ALQ, frozen levels"}

# A transformer's matrices, embeddings and head included.
GPT_SPECS = {"half": "half", "adacomp 50": "adacomp:bin=50", "adacomp 500": "adacomp:bin=500",
             "topk": "topk:fraction=0.01", "strom": "strom:threshold=auto", "twobit": "twobit:threshold=auto"}
GPT_SPECS |= {name: name for name in ("terngrad", "qsgd", "alq", "sign", "onebit", "chunk", "block")}
DGC = "dgc:fraction=0.01,warmup=100"
GPT_SPECS["dgc"] = f"{DGC},momentum=0"
GPT_CODECS = {name: f"embedding,fc,last={spec}" for name, spec in GPT_SPECS.items()}
GPT_DGC_MOMENTUM = f"embedding,fc,last={DGC}"
GPT_DGC_LESS = GPT_DGC_MOMENTUM.replace("0.01", "0.005")
# Top-k of other shares, and with a residual that decays.
GPT_TOP = {text: f"embedding,fc,last=topk:{text}" for text in ("fraction=0.1", "fraction=0.01,decay=0.95",
                                                               "fraction=0.01,decay=0", "fraction=0.01,value=exact")}
NAMES |= {codec: f"matrices: topk:{text}" for text, codec in GPT_TOP.items()}
GPT_SPARSELOCO = "embedding,fc,last=chunk:decay=0.95"
NAMES[GPT_SPARSELOCO] = "matrices: chunk:decay=0.95"
GPT_ADACOMP = [GPT_CODECS["adacomp 50"], GPT_CODECS["adacomp 500"]]
NAMES |= {GPT_CODECS[name]: f"matrices: {spec}" for name, spec in GPT_SPECS.items()}
NAMES |= {GPT_DGC_MOMENTUM: f"matrices: {DGC}, its own momentum",
          GPT_DGC_LESS: f"matrices: {DGC.replace('0.01', '0.005')}, its own momentum"}


def name_of(codec):
    return NAMES.get(codec, f"`{codec}`")
