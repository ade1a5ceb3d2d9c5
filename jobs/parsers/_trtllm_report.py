"""The `--report_json` of trtllm-bench (0.18 to 1.3): one object with one result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.errors import Failed, Refused
from jobs.measurements import ParsedRun
from jobs.metrics import Key, statistic_keys
from jobs.run_builder import NOT_MEASURED, RunBuilder, number_label
from jobs.strict_json import Number, shown

_PERCENTILES = {name: name for name in ("p50", "p90", "p95", "p99")}
REPORT: Mapping[str, Key] = {
    "performance.request_throughput_req_s": Key("req_s", "req/s"),
    "performance.system_output_throughput_tok_s": Key("output_tok_s", "tok/s"),
    "performance.system_total_throughput_tok_s": Key("total_tok_s", "tok/s"),
    "performance.output_throughput_per_user_tok_s": Key("tok_s_user", "tok/s/user"),
    "performance.output_throughput_per_gpu_tok_s": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "performance.avg_request_latency_ms": Key("e2e_mean_ms", "ms"),
    **statistic_keys("performance.request_latency_percentiles_ms.{}", "e2e", "ms", _PERCENTILES),
    "streaming_metrics.avg_ttft_ms": Key("ttft_mean_ms", "ms"),
    "streaming_metrics.avg_tpot_ms": Key("tpot_mean_ms", "ms"),
    **statistic_keys("streaming_metrics.ttft_percentiles.{}", "ttft", "ms", _PERCENTILES),
    **statistic_keys("streaming_metrics.tpot_percentiles.{}", "tpot", "ms", _PERCENTILES),
    "energy.total_energy_j": Key("energy_j", "J"),
    "energy.average_gpu_power": Key("power_w", "W"),
}
_LABELS = {
    "engine.model": "model",
    "engine.dtype": "dtype",
    "engine.kv_cache_dtype": "kv_cache_dtype",
    "engine.quantization": "quantization",
    "engine.backend": "backend",
    "machine.name": "gpu",
    "world_info.tp_size": "tp",
    "world_info.pp_size": "pp",
    "world_info.ep_size": "ep",
    "world_info.world_size": "gpu_count",
    "decoding_stats.mode": "spec_decoding",
}
_FACTS = {
    "request_info.num_requests": "requests",
    "request_info.avg_num_concurrent_requests": "concurrency",
    "request_info.avg_input_length": "isl_mean",
    "request_info.avg_output_length": "osl_mean",
}
OTHER_KEYS = frozenset(
    {
        *("performance.total_latency_ms", "streaming_metrics.token_output_speed_tok_s", "energy.output_tps_per_w"),
        *(
            f"{part}.{statistic}"
            for part in (
                *("performance.request_latency_percentiles_ms", "streaming_metrics.ttft_percentiles"),
                *("streaming_metrics.tpot_percentiles", "streaming_metrics.gen_tps_percentiles"),
            )
            for statistic in ("minimum", "maximum", "average")
        ),
        *(f"streaming_metrics.gen_tps_percentiles.{name}" for name in _PERCENTILES),
    }
)
_DESCRIBING = ("engine", "machine", "world_info", "request_info", "decoding_stats", "dataset")
"""Parts that describe the run; none of their numbers is a result (`memory.total` is the size of the card)."""


def is_report(outline: object) -> bool:
    """Return whether a JSON value is a report, or the beginning of one."""
    if not isinstance(outline, dict):
        return False
    performance, engine = outline.get("performance"), outline.get("engine")
    if isinstance(performance, dict) and performance.keys() & {key.rpartition(".")[2] for key in REPORT}:
        return True
    return isinstance(engine, dict) and bool(
        outline.keys() & {"world_info", "request_info", "performance"} or {"model_path", "version"} <= engine.keys()
    )


def read_report(document: Any) -> tuple[ParsedRun, str | None]:
    """Return the result and the version that the report states; raise Refused or Failed where it holds no value."""
    if not isinstance(document.get("performance"), dict):
        raise Refused(f"expected the object 'performance', found {shown(document.get('performance'))}")
    stated = dict(_flat(document))
    run = RunBuilder()
    for own, name in _LABELS.items():
        value = stated.get(own)
        if str(value).strip().lower() not in NOT_MEASURED and value != "-1":
            run.label(name, value)
    for own, name in _FACTS.items():
        value = stated.get(own)
        run.fact(name, _measured(value) if name != "requests" else value)
    for own, key in REPORT.items():
        run.take(own, key, stated.get(own))
    for own, value in stated.items():
        known = own in REPORT or own in OTHER_KEYS or own.partition(".")[0] in _DESCRIBING
        if isinstance(value, Number) and not known:
            run.unknown(own, value, "trtllm-bench")
    if not run.metrics:
        raise Failed("the report has no usable value under 'performance'")
    version = stated.get("engine.version")
    return run.build(), None if str(version).strip().lower() in NOT_MEASURED else str(version).strip()


def _measured(value: object) -> float | None:
    number = number_label(value) if isinstance(value, Number) else None
    return float(number) if isinstance(number, int | float) else None


def _flat(part: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested objects under dotted names."""
    for name, value in part.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        elif not isinstance(value, list):
            yield f"{before}{name}", value
