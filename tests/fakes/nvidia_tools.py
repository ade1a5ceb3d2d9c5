"""Stand-ins for NVIDIA's tools: shell scripts that read the tools' own options and print what they print.

The figures are ours, the form is the tools'. They check what a real tool would: that files are there, that options go
together. Each says what it was called with, so that tests can look.
"""

from __future__ import annotations

NVIDIA_SMI = """\
#!/bin/sh
# In a container as many GPUs as the suite needs, which is an argument of the script that asks.
[ "$1" = -L ] || exit 0
wanted=$(busybox tr '\\0' ' ' < /proc/$PPID/cmdline | busybox cut -d' ' -f3)
number=0
while [ "$number" -lt "$wanted" ]; do
    echo "GPU $number: NVIDIA B200 (UUID: GPU-$number)"
    number=$((number + 1))
done
"""

TRTLLM_BENCH = """\
#!/bin/sh
set -e
tp=1 pp=1 ep=-1
while [ $# -gt 0 ]; do
    case $1 in
        throughput | latency) mode=$1; shift; continue ;;
        --model) model=$2 ;;
        --model_path) folder=$2 ;;
        --dataset) dataset=$2 ;;
        --report_json) report=$2 ;;
        --extra_llm_api_options) options=$2 ;;
        --tp) tp=$2 ;;
        --pp) pp=$2 ;;
        --ep) ep=$2 ;;
        --backend | --warmup | --concurrency) ;;
        *) echo "Error: No such option: $1"; exit 2 ;;
    esac
    shift 2
done
[ -f "$folder/config.json" ] || { echo "OSError: $folder does not appear to have a file named config.json"; exit 1; }
requests=$(busybox wc -l < "$dataset")
world=$((tp * pp))
[ "$mode" = latency ] || cat "$options"
streaming=
[ "$mode" = throughput ] || streaming='"streaming_metrics": {"avg_ttft_ms": 21.0, "avg_tpot_ms": 4.0,
    "ttft_percentiles": {"p50": 20.5, "p90": 22.0, "p95": 23.0, "p99": 24.0},
    "tpot_percentiles": {"p50": 3.9, "p90": 4.1, "p95": 4.2, "p99": 4.4}},'
cat > "$report" << END
{"engine": {"model": "$model", "model_path": "$folder", "engine_dir": null, "version": "1.2.0", "backend": "Pytorch",
   "dtype": "bfloat16", "kv_cache_dtype": "FP8", "quantization": null},
 "machine": {"name": "NVIDIA B200", "memory.total": 178.4, "clocks.mem": 3.996},
 "world_info": {"tp_size": $tp, "pp_size": $pp, "ep_size": $ep, "world_size": $world, "max_batch_size": 2048,
   "max_num_tokens": 8192, "scheduling_policy": "GUARANTEED_NO_EVICT", "kv_cache_percentage": 0.9, "issue_rate": 1e15},
 "request_info": {"num_requests": $requests, "avg_num_concurrent_requests": 900.5, "avg_input_length": 1000.0,
   "avg_output_length": 1000.0},
 "performance": {"total_latency_ms": 60000.5, "avg_request_latency_ms": 30000.5, "request_throughput_req_s": 50.5,
   "system_output_throughput_tok_s": $((55000 * world)).5, "system_total_throughput_tok_s": $((110000 * world)).0,
   "output_throughput_per_user_tok_s": 33.25, "output_throughput_per_gpu_tok_s": 55000.5,
   "request_latency_percentiles_ms": {"p50": 29000.5, "p90": 40000.5, "p95": 41000.5, "p99": 42000.5,
     "minimum": 1000.5, "maximum": 43000.5, "average": 30000.5}},
 $streaming
 "decoding_stats": null, "dataset": {"isl": 1000}}
END
echo "[TRT-LLM] [I] Benchmark done. Reporting results..."
"""

TRTLLM_SERVE = """\
#!/bin/sh
set -e
[ -f "$1/config.json" ] || { echo "no model in $1"; exit 1; }
mkdir -p /tmp/served
echo ok > /tmp/served/health
exec busybox httpd -f -p 127.0.0.1:8000 -h /tmp/served
"""

AIPERF = """\
#!/bin/sh
set -e
[ "$1" = profile ]
shift
while [ $# -gt 0 ]; do
    case $1 in
        --streaming) shift; continue ;;
        --model) model=$2 ;;
        --concurrency) concurrency=$2 ;;
        --request-count) requests=$2 ;;
        --output-artifact-dir) folder=$2 ;;
        --url) busybox wget -q -O - "http://$2/health" ;;
    esac
    shift 2
done
mkdir -p "$folder/run"
cat > "$folder/run/profile_export_aiperf.json" << END
{"schema_version": "1.4", "aiperf_version": "0.13.0",
 "input_config": {"endpoint": {"model_names": ["$model"], "type": "chat", "streaming": true},
   "loadgen": {"concurrency": $concurrency, "request_count": $requests}},
 "request_throughput": {"unit": "requests/sec", "avg": 2.5},
 "request_count": {"unit": "requests", "avg": $requests.0},
 "output_token_throughput": {"unit": "tokens/sec", "avg": 2500.5},
 "output_token_throughput_per_user": {"unit": "tokens/sec/user", "avg": 160.5},
 "request_latency": {"unit": "ms", "avg": 6200.0, "p50": 6100.0, "p90": 6600.0, "p95": 6700.0, "p99": 6900.0},
 "time_to_first_token": {"unit": "ms", "avg": 55.0, "p50": 52.0, "p90": 77.0, "p95": 83.0, "p99": 96.0},
 "inter_token_latency": {"unit": "ms", "avg": 6.2, "p50": 6.1, "p90": 6.5, "p95": 6.6, "p99": 6.8},
 "was_cancelled": false, "error_summary": []}
END
"""

TRTEXEC = """\
#!/bin/sh
call="TensorRT.trtexec [TensorRT v101501] [b29] # trtexec $*"
echo "&&&& RUNNING $call"
shapes=
for word in "$@"; do
    case $word in
        --onnx=*) model=${word#--onnx=} ;;
        --shapes=*) shapes=${word#--shapes=} ;;
    esac
done
at='[12/01/2026-10:00:00]'
if [ ! -f "$model" ]; then
    echo "$at [E] [TRT] ModelImporter.cpp: Could not open file $model"
    echo "&&&& FAILED $call"
    exit 1
fi
echo "$at [I] === Model Options ==="
echo "$at [I] Format: ONNX"
echo "$at [I] Model: $model"
echo "$at [I] === Build Options ==="
echo "$at [I] Precision: FP32"
echo "$at [I] === Inference Options ==="
echo "$at [I] Batch: Explicit"
if [ -z "$shapes" ]; then
    echo "$at [I] Input inference shapes: model"
else
    echo "$shapes" | busybox tr ',' '\\n' | while IFS=: read -r name shape; do
        echo "$at [I] Input inference shape : $name=$shape"
    done
fi
echo "$at [I] === Device Information ==="
echo "$at [I] Selected Device: NVIDIA B200"
echo "$at [I] TensorRT version: 10.15.1"
echo "$at [I] Timing trace has 9800 queries over 10.0 s"
echo "$at [I] "
echo "$at [I] === Performance summary ==="
echo "$at [I] Throughput: 40.5 qps"
echo "$at [I] Latency: min = 24.1 ms, max = 27 ms, mean = 24.69 ms, median = 24.6 ms, percentile(90%) = 25 ms," \\
    "percentile(95%) = 25.3 ms, percentile(99%) = 26.1 ms"
echo "$at [I] Total Host Walltime: 10.0 s"
echo "$at [I] Total GPU Compute Time: 9.9 s"
echo "&&&& PASSED $call"
"""

FILES = {
    "bin/nvidia-smi": NVIDIA_SMI,
    "bin/trtllm-bench": TRTLLM_BENCH,
    "bin/trtllm-serve": TRTLLM_SERVE,
    "bin/aiperf": AIPERF,
    "bin/trtexec": TRTEXEC,
}


def host_nvidia_smi(count: int, product: str = "NVIDIA B200") -> str:
    """Return an nvidia-smi for the machine itself, with so many GPUs."""
    gpus = "".join(
        f'<gpu id="00000000:{number:02X}:00.0"><product_name>{product}</product_name><uuid>GPU-{number}</uuid>'
        "<fb_memory_usage><total>183359 MiB</total></fb_memory_usage></gpu>"
        for number in range(count)
    )
    head = '<?xml version="1.0" ?><nvidia_smi_log><driver_version>595.10.01</driver_version>'
    return f"#!/bin/sh\n[ \"$1\" = topo ] && exit 0\necho '{head}{gpus}</nvidia_smi_log>'\n"
