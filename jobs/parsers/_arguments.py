"""The arguments that Python benchmarks print before they start: `Namespace(model='...', num_prompts=200, ...)`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jobs.measurements import Label
from jobs.run_builder import number_label

_ARGUMENT = re.compile(r"(?P<name>\w+)=(?P<value>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[-+\w.]+)(?=[,)])")
_LONGEST = 20_000
_TEXTS = re.compile(r"model|backend|date|gpu|precision|quantization|kv_cache_dtype|image|driver|cuda|dataset")
_ENGINE = {
    "model": "model",
    "backend": "backend",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "dtype": "dtype",
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "dataset_name": "dataset",
}
_SERVING = {
    "model": "model",
    "endpoint_type": "backend",
    "backend": "backend",
    "num_prompts": "requests",
    "max_concurrency": "concurrency",
    "request_rate": "request_rate",
    "dataset_name": "dataset",
}


def find_arguments(line: str) -> dict[str, str]:
    """Return the arguments that a line prints, as texts without quotes; what is None, and lists, are left out."""
    start = line.find("Namespace(")
    if start < 0:
        return {}
    found = ((m["name"], m["value"]) for m in _ARGUMENT.finditer(line[start : start + _LONGEST]))
    return {name: value.strip("'\"") for name, value in found if value != "None" and value.strip("'\"")}


def serving_labels(arguments: Mapping[str, str]) -> dict[str, Label]:
    """Return what the arguments of a load generator say of its run; nothing for another program's arguments."""
    if "num_prompts" not in arguments or "tensor_parallel_size" in arguments:
        return {}
    labels = _labels(arguments, _SERVING)
    if str(labels.get("dataset", "")).startswith("random"):
        labels.update(_lengths(arguments, "random_input_len", "random_output_len"))
    return {**labels, **_lengths(arguments, "input_len", "output_len")}


def engine_labels(arguments: Mapping[str, str]) -> dict[str, Label]:
    """Return what the arguments of an offline benchmark say of its run: the engine's, and the work."""
    labels = _labels({name: value for name, value in arguments.items() if value != "auto"}, _ENGINE)
    labels.update(_labels(arguments, {"batch_size": "batch"}))
    return {**labels, **_lengths(arguments, "input_len", "output_len")}


def _labels(arguments: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Label]:
    labels: dict[str, Label] = {}
    for own, name in names.items():
        if own not in arguments:
            continue
        value = arguments[own]
        number = number_label(value)
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        labels[name] = value if number is None else number
    return labels


def _lengths(arguments: Mapping[str, str], isl: str, osl: str) -> dict[str, Label]:
    return _labels(arguments, {isl: "isl", osl: "osl"})


def printed_label(name: str, value: Label | None) -> dict[str, Label]:
    """Return a setting as these tools print it: numbers as numbers, `not set` as absent, an infinite rate as `inf`."""
    text = str(value).strip() if value is not None else ""
    if not text or text.lower() in ("none", "null", "trace") or text.startswith("not set"):
        return {}
    if _TEXTS.fullmatch(name):
        return {name: text}
    word = text.split()[0].rstrip(",;")
    if word.lower() in ("inf", "infinity"):
        return {name: "inf"}
    number = number_label(word)
    return {name: word if number is None else int(number) if number == int(number) else number}
