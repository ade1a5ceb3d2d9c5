"""Which column of a table is meant by its heading, and how well a cell's content fits under it.

Headings name the fields; contents are looked at only to tell where a row has lost a cell. To read another heading,
add its words to `_HEADINGS`; to read another kind of column, add its field there, its fit to `_FITS`, and its use in
`rows`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from baselines.references.figures import NUMBER, is_bare_number, is_figure, is_nothing, is_rate, names_unit
from baselines.references.grids import Grid

OTHER = "other"
MISFIT = 10.0
"""Cost of a cell that cannot stand in its column."""

_HEADINGS: tuple[tuple[str, str], ...] = (
    ("constraints", r"constraint"),
    ("target_accuracy", r"accuracy"),
    ("qsl", r"\bqsl\b"),
    ("gpu_version", r"^(gpu|accelerator) (version|type|model|name|variant)$"),
    ("gpus", r"^(number of |num |no\.? of |# ?)(gpus?|accelerators?)$|^(gpus?|accelerators?) (count|number)$"),
    ("gpu", r"^(gpus?|accelerators?)$"),
    ("efficiency", r"efficien|per watt"),
    ("value", r"throughput|performance|tokens?/s|^result$"),
    ("isl", r"^(isl|(input|prompt|context)( sequence| token)? ?(length|len|size|tokens?))\b"),
    ("osl", r"^(osl|(output|generation)( sequence| token)? ?(length|len|size|tokens?))\b(?!.*\b(per|sec|s)\b)"),
    ("batch", r"^batch"),
    ("latency", r"latency"),
    ("model", r"^(network|model)s?( name)?$"),
    ("tp", r"^tp( size)?$|^tensor parallel"),
    ("pp", r"^pp( size)?$|^pipeline parallel"),
    ("ep", r"^ep( size)?$|^expert parallel"),
    ("dp", r"^dp( size)?$|^data parallel"),
    ("parallelism", r"parallel"),
    ("precision", r"precision|^data ?type$|^dtype$|^quanti[sz]ation$"),
    ("framework", r"^(framework|software|library|engine|backend)( version)?$"),
    ("container", r"^container|^image( tag)?$"),
    ("dataset", r"data ?set"),
    ("scenario", r"^(mlperf )?scenario$"),
    ("system", r"^(server|system|platform|host|node)s?( name)?$"),
)
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _HEADINGS)

GPU_COUNT = re.compile(r"^(\d{1,6})\s*[x×]\s*(\S.*)$", re.IGNORECASE)
WHOLE = re.compile(r"^[1-9]\d{0,2}(?:,\d{3})+$|^[1-9]\d{0,11}$")
_SECOND_COUNT = re.compile(r"^\d+\s*[x×]\s|^\d+[x×]|\s[x×]\s*\d+\)?$|\(\d+[x×]\)$", re.IGNORECASE)
_GPU_NAME = re.compile(r"\b(?:GB|GH|VR|MI|[BHARVLT])\d{1,3}[A-Z]?\b|\bRTX\b|\bGPU\b", re.IGNORECASE)
_PARALLELISM = re.compile(r"^(?:(?:TP|PP|EP|DP|DEP|TEP|CP|ADP)\s*[-=]?\s*\d+[\s,+/x]*)+$", re.IGNORECASE)
_PRECISION = re.compile(
    r"^(?:mixed|(?:nv|mx)?fp\d{1,2}(?:[_ ]\w+)?|bf16|tf32|int\d{1,2}|w\d+a\d+\w*|e\dm\d)$", re.IGNORECASE
)
_FRAMEWORK = re.compile(r"^[A-Za-z][\w.+\- ]*?[ :=v-]+\d+\.\d[\w.+\-]*$")
_CONTAINER = re.compile(r"^(?:\S+[:/])?\d{2}\.\d{1,2}(?:-\S+)?$|^\S+/\S+:\S+$")
_ACCURACY = re.compile(r"\d ?%|\brange\b|=\s*\d|>=|≥|\b(?:WER|AUC|ROUGE|FID|mAP|F1)\b", re.IGNORECASE)
_CONSTRAINT = re.compile(r"TTFT|TPOT|^[\d.,]+\s*(?:ms|s|sec|seconds?)\b", re.IGNORECASE)
_PER_WATT = re.compile(r"/\s*(?:watt|w|joule|j)\b", re.IGNORECASE)
LATENCY = re.compile(rf"^({NUMBER})\s*(ms|s|sec|us)?$", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


def find_field(heading: str) -> str:
    """Return the field that a heading names, `other` for one that is not read."""
    if len(heading) > _LONGEST_NAME:
        return OTHER
    words = " ".join(re.sub(r"[*_`]|\(.*?\)", " ", heading.casefold()).split())
    return next((name for name, pattern in _PATTERNS if pattern.search(words)), OTHER)


def find_fields(header: Sequence[str]) -> tuple[str, ...]:
    """Return the field of each column; of two columns that name one field the first has it.

    Of `GPU` and `GPUs` the latter is their number; a number of GPUs alone may name them too (`8x H200`).
    """
    named = [find_field(heading) for heading in header]
    if named.count("gpu") > 1 and "gpus" not in named:
        several = [
            place for place, name in enumerate(named) if name == "gpu" and header[place].strip("* ")[-1:] in "sS"
        ]
        named = ["gpus" if place in several[:1] else name for place, name in enumerate(named)]
    if "gpus" in named and "gpu" not in named:
        named[named.index("gpus")] = "gpu"
    fields: list[str] = []
    for name in named:
        fields.append(name if name not in fields else OTHER)
    return tuple(fields)


def names_model(line: str) -> bool:
    """Return whether a line may be the header of a table of figures: a look that costs little."""
    low = line[:20_000].casefold()
    return "model" in low or "network" in low


def is_header(cells: Sequence[str]) -> bool:
    """Return whether the cells are the header of a table of figures: a model, a figure, and two columns more."""
    cells = [cell for cell in cells if len(cell) <= _LONGEST_NAME]
    if not any(names_model(cell) for cell in cells) or any(is_figure(cell) for cell in cells):
        return False
    known = set(find_fields(cells)) - {OTHER}
    return {"model", "value"} <= known and len(known) >= 4


def holds_figures(grid: Grid) -> bool:
    """Return whether a table prints rates, under whatever headings."""
    return any(is_rate(cell) for row in grid.rows for cell in row.cells)


def fit(field: str, cell: str) -> float:
    """Return how badly a cell stands under a field: 0 is its own kind, `MISFIT` is impossible."""
    if is_nothing(cell):
        return _NOTHING_FITS.get(field, 0.4)
    if len(cell) > _LONGEST_NAME and field not in _LONG:
        return MISFIT
    return _FITS[field](cell)


def price_of_absence(field: str) -> float:
    """Return how unlikely it is that a row has no cell of this field at all."""
    return _ABSENCE.get(field, 1.2)


_LONGEST_NAME = 200
_LONG = ("target_accuracy", "dataset", OTHER)
_NOTHING_FITS = {"value": 0.5, "model": 0.3, "efficiency": 0.0}
_ABSENCE = {"model": 0.6, "value": 1.5} | dict.fromkeys(
    ("efficiency", "dataset", "gpu_version", "container", "target_accuracy", "constraints", "qsl", "scenario", OTHER),
    1.0,
)


def _must(pattern: re.Pattern[str]) -> Callable[[str], float]:
    return lambda cell: 0.0 if pattern.search(cell) else MISFIT


def _fit_value(cell: str) -> float:
    if _PER_WATT.search(cell) or GPU_COUNT.match(cell):
        return MISFIT
    if is_figure(cell) or names_unit(cell):
        return 0.0
    return 1.5 if is_bare_number(cell) else MISFIT


def _fit_text(cell: str, *, unlike: Sequence[re.Pattern[str]] = ()) -> float:
    """Return the fit of a name: letters, and the look of no other column."""
    if not _LETTER.search(cell) or is_figure(cell) or names_unit(cell) or GPU_COUNT.match(cell):
        return MISFIT
    return 3.0 if any(pattern.search(cell) for pattern in unlike) else 0.5


_OTHER_LOOKS = (_PARALLELISM, _PRECISION, _CONTAINER)


def _fit_system(cell: str) -> float:
    plain_gpu = re.fullmatch(r"(?:NVIDIA |AMD )?(?:GB|GH|[BHAL])\d{1,3}S?", cell)
    return 2.0 if plain_gpu else _fit_text(cell, unlike=(*_OTHER_LOOKS, re.compile(r"^\d[\d.]* ?%")))


def _fit_gpu_version(cell: str) -> float:
    if not _GPU_NAME.search(cell) or GPU_COUNT.match(cell):
        return MISFIT
    return 0.0 if len(cell) < 60 and "(" not in cell and not cell.startswith("DGX") else 2.0


def _fit_gpu(cell: str) -> float:
    if count := GPU_COUNT.match(cell):
        return MISFIT if is_figure(cell) or not int(count[1]) or _SECOND_COUNT.search(count[2]) else 0.0
    if _SECOND_COUNT.search(cell):
        return MISFIT
    return 1.0 if _GPU_NAME.search(cell) and len(cell) < 30 else MISFIT


def _fit_target(cell: str) -> float:
    return 0.0 if _ACCURACY.search(cell) and not is_figure(cell) else MISFIT


def _fit_efficiency(cell: str) -> float:
    return 0.0 if _PER_WATT.search(cell) else MISFIT


def _fit_dataset(cell: str) -> float:
    if len(cell) > _LONGEST_NAME:
        return 1.0
    if re.search(r"\d ?% of\b", cell) or _GPU_NAME.fullmatch(cell.removeprefix("NVIDIA ")):
        return 3.0
    return _fit_text(cell, unlike=(*_OTHER_LOOKS, _FRAMEWORK, _CONSTRAINT))


_FITS: Mapping[str, Callable[[str], float]] = {
    "model": lambda cell: _fit_text(cell, unlike=(*_OTHER_LOOKS, _CONSTRAINT)),
    "value": _fit_value,
    "gpu": _fit_gpu,
    "gpus": _must(WHOLE),
    "tp": _must(WHOLE),
    "pp": _must(WHOLE),
    "ep": _must(WHOLE),
    "dp": _must(WHOLE),
    "gpu_version": _fit_gpu_version,
    "system": _fit_system,
    "qsl": _must(WHOLE),
    "isl": _must(WHOLE),
    "osl": _must(WHOLE),
    "batch": _must(WHOLE),
    "target_accuracy": _fit_target,
    "constraints": _must(_CONSTRAINT),
    "dataset": _fit_dataset,
    "scenario": _fit_text,
    "efficiency": _fit_efficiency,
    "latency": _must(LATENCY),
    "container": _must(_CONTAINER),
    "precision": _must(_PRECISION),
    "framework": _must(_FRAMEWORK),
    "parallelism": _must(_PARALLELISM),
    OTHER: lambda cell: 1.0,
}
