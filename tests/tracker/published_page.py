"""A small page of published figures, in two copies."""

from __future__ import annotations

PAGE = """
| Model | Parallelism | Input Length | Output Length | Throughput | GPU | Server | Precision | Framework |
|---|---|---|---|---|---|---|---|---|
| Borealis 70B | TP2 | 1024 | 1024 | 4,200 output tokens/sec | 2x H200 | DGX H200 | FP8 | TensorRT-LLM 1.1 |
| Borealis 70B | TP2 | 2048 | 128 | 640 output tokens/sec | 2x H200 | DGX H200 | FP8 | TensorRT-LLM 1.1 |
| Quartz 8B | TP1 | 1024 | 1024 | output tokens/sec | 1x H100 | DGX H200 | FP8 | TensorRT-LLM 1.1 |
"""
NEWER = PAGE.replace("4,200", "5,040").replace("TensorRT-LLM 1.1 |\n| Quartz", "TensorRT-LLM 1.2 |\n| Quartz")


def as_html(text: str) -> str:
    """Return the same table as a browser saves it."""
    lines = [line.strip("|").split("|") for line in text.strip().splitlines()]
    head = "".join(f"<th>{cell.strip()}</th>" for cell in lines[0])
    body = "".join("<tr>" + "".join(f"<td>{cell.strip()}</td>" for cell in row) + "</tr>" for row in lines[2:])
    address = "<!-- saved from url=(0040)https://www.example.test/inference/figures -->"
    return f"<!DOCTYPE html>\n{address}\n<html><body><table><tr>{head}</tr>{body}</table></body></html>"
