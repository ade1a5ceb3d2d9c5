"""The vocabulary of release names: what a word inside a tag can be, as patterns over lower-case text.

Only two kinds of words need an entry: those that hold a number (`cu130`, `mi35x`: without one they would read as
the name of a model or a branch, `glm5`), and those that may stand before the version (`cpu-1.5`). Any other plain
word behind a version is a variant without being known here.
"""

from __future__ import annotations

import re

_YEAR, _MONTH, _DAY = "20[1-4][0-9]", "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"

# A release number in the spellings of PEP 440 and SemVer. One letter behind a dash is a pre-release only where it
# cannot be a GPU (`-b1` is a beta, `-b200` and `-a3` are machines), and a number behind a dash only when short.
_NUMBER = r"(?:\.?[0-9]+|[-_][0-9]{1,3}(?![0-9]|\.[0-9]))?+"
VERSION = re.compile(
    r"(?P<prefix>[vr])?"
    r"(?P<base>(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*+)"
    r"(?P<marks>"
    rf"(?:[-_.]?(?:alpha|beta|preview|pre|rc){_NUMBER}|\.?(?:a|b|c)[0-9]*|[-_](?:a[014-9]|b[0-9])(?![0-9]))?"
    rf"(?:[-_.]?(?:post|patch|hotfix|rev){_NUMBER}|[-_.]?r[0-9]{{1,3}}|-(?:0|[1-9][0-9]{{0,2}})(?!\.?[0-9]))?"
    rf"(?:[-_.]?(?:dev|snapshot)(?:[-_]{_YEAR}{_MONTH}{_DAY}(?![0-9])|{_NUMBER}))?"
    r")"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
    r"(?![a-z0-9!+]|\.[0-9.])"
)
BETTER_NUMBER = re.compile(r"[-_]v?[0-9]+\.[0-9]")
BUILD_NUMBER = re.compile(r"b(?P<base>[0-9]{4,6})(?P<marks>)(?P<local>)(?![a-z0-9.])")

# The same marks standing apart from their number: `1.2.0-cuda13-rc1`, `1.3.0-some-branch-dev.1`.
MARK = re.compile(rf"(?P<kind>alpha|beta|rc|post|dev|snapshot)(?P<number>{_NUMBER})(?![a-z0-9]|\.[0-9])")

# A day, with the time or the counter of builds that may follow: 20250801, 2025-08-01, 20250801-1230, 20250801.2
DATE = re.compile(
    rf"v?(?P<year>{_YEAR})(?P<between>[-_]?)(?P<month>{_MONTH})(?P=between)(?P<day>{_DAY})"
    r"(?P<time>t?(?:[0-9]{2}){1,3}|[-_t](?:[0-9]{2}[-_:]?){2,3})?z?"
    r"(?:[-.](?P<counter>[0-9]{1,3}))?"
    r"(?![a-z0-9]|\.[0-9])"
)
MONTH_AND_DAY = re.compile(rf"{_MONTH}{_DAY}")

COMMIT = re.compile(r"(?:g|git)?(?=[a-f]*[0-9])[0-9a-f]{7,40}")
COMMIT_WORDS = frozenset({"sha", "git", "commit"})

MOVING = frozenset(
    {
        "latest", "main", "master", "edge", "canary", "head", "trunk", "develop", "rolling", "current", "unstable",
        "tip", "x",
    }
)  # fmt: skip
NIGHTLY = frozenset({"nightly", "nightlies", "daily", "weekly"})
PREFIXES = frozenset({"release", "releases", "rel", "version", "ver", "v", "r"})

# Software that runs or is run: before the version it says whose version follows, behind it it is a variant.
PRODUCTS = frozenset(
    {
        "vllm", "sglang", "sgl", "trtllm", "tritonserver", "triton", "onnxruntime", "ort", "lmdeploy", "ollama",
        "tgi", "llamacpp", "dynamo", "openai",
    }
)  # fmt: skip
PRODUCT = re.compile(rf"(?:{'|'.join(sorted(PRODUCTS))})(?=v?[0-9])")

# Families of models: a build named after one is a branch for it, with or without a number in the name.
MODEL = re.compile("deepseek|gpt-?oss|qwen|llama|kimi|glm|minimax|gemma|mi[sx]tral|nemotron|grok")

# What a build is made for or with; these carry versions of their own, glued (`cu13.0.1`) or apart (`cuda-12`).
_TOOLS = (
    "cuda|cu|cudnn|cublas|nccl|rocm|hip|cann|musa|maca|dtk|oneapi|dpcpp|openvino|neuron|synapse|gaudi|habana|vulkan|"
    "trt|tensorrt|torch|pytorch|pyt|tf|tensorflow|jax|numpy|python|py|cp|pp|abi|opset|jp|jetpack|l4t|gcc|clang|nv|"
    "driver|ofed|efa|ucx|mpi|openmpi|ompi|mkl|glibc|ubuntu|debian|alpine|ubi|rhel|el|centos|rocky|almalinux|fedora|"
    "amzn|al|sles|openeuler|windows|servercore|nanoserver|macos|manylinux|musllinux"
)
TOOL = re.compile(rf"(?:{_TOOLS})")
TOOL_NUMBER = re.compile(r"[-_][0-9]{1,3}(?:\.[0-9]+)*(?![a-z0-9])")
_PROCESSORS = (
    r"x86_64|x64|x86|amd64|i386|arm64(?:v8)?|arm|aarch64|ppc64le|s390x|riscv64|sbsa|multiarch|"
    r"[abhv][0-9]{2,3}[a-z]{0,3}|gb[0-9]{3}|gh[0-9]{3}|rtx[0-9a-z]*|l40?s?|t4|a[23]|mi[0-9]{2,3}[xa]?|910[a-z]?|310p?|"
    r"gfx[0-9a-f]+|sm_?[0-9]{2,3}[a-z]?|avx[0-9a-z_]*|amx|sse[0-9.]*|dgx|hgx|igpu|dgpu|i?gpu|cpu|npu|xpu|tpu|hpu|"
    r"nvidia|amd|intel|hopper|blackwell|ampere|ada|turing|volta|grace|rubin|instinct|jetson|orin|thor|xavier|xeon"
)
_FLAVOURS = (
    r"fp[0-9]+|bf16|int[0-9]+|[mn][xv]fp[0-9]+|w[0-9]+a[0-9]+|pre[0-9]*|build[0-9]*|b[0-9]{4,6}|k8s|cxx11abi[a-z]*|r[0-9][0-9.]*|"
    r"linux|runtime|devel|base|slim|full|min|minimal|lite|light|sdk|client|server|framework|bookworm|bullseye|trixie|"
    r"focal|jammy|noble"
)
VARIANT = re.compile(
    rf"(?:cann[0-9.]+(?:rc[0-9]+|alpha[0-9]+|beta[0-9]+)|(?:{_TOOLS})(?:[0-9][0-9.]*(?:t|abi3)?)?|{_PROCESSORS}|{_FLAVOURS})"
)

# Words that hold a separator of their own: taken whole before the name is split.
WHOLE = re.compile(r"(?:x86[-_]64|cann[0-9.]+(?:rc|alpha|beta)[0-9]+|sm_[0-9]{2,3}[a-z]?)(?![a-z0-9])")
# A word ends at a separator; a dot between two digits is part of it.
WORD = re.compile(r"(?:[a-z0-9!+~]|(?<=[0-9])\.(?=[0-9]))+")
PLAIN_NUMBER = re.compile(r"[1-9][0-9]*|[0-9]+\.[0-9.]+")

LOCAL_SPLIT = re.compile(r"[-_]|\.(?=[a-z])")
LOCAL_NOISE = re.compile(rf"{COMMIT.pattern}|d?{_YEAR}{_MONTH}{_DAY}")

ATTACHMENT = re.compile(r"sha(?:256|512)-[0-9a-f]{6,}(?:\.[a-z0-9_-]+)*|.+\.(?:sig|att|sbom|sbom\.json|cosign|asc)")
DIGEST = re.compile(r"[a-z0-9]+:[0-9a-f]{8,}")
TAG_NAME = re.compile(r"[a-z0-9_][a-z0-9_.!+~-]{0,127}")
