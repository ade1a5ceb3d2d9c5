"""Writes a small deterministic transformer as one .onnx file: `python onnxruntime_model.py OUTPUT`.

Four layers, 256 wide, 8 heads, 2000 tokens, random weights from a fixed seed, about 17 MB. The file also carries,
as metadata, the tokens of a short prompt and the answer a reference implementation (plain NumPy operators of the
`onnx` package, no runtime under test) gives for each position, so that a benchmark can check what it measures.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

WIDTH, HEADS, LAYERS, VOCABULARY = 256, 8, 4, 2000
HEAD_WIDTH = WIDTH // HEADS
OPSET, IR_VERSION = 17, 8
CHECK_LENGTH = 64
LEAST_MARGIN = 1e-3
"""A position whose two best answers lie closer than this says nothing about a runtime, only about rounding."""


class Graph:
    """Collects the nodes and weights of one model; every method returns the name of what it added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(0)

    def constant(self, name: str, value: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, name: str, rows: int, columns: int) -> str:
        values = self._random.standard_normal((rows, columns)) * rows**-0.5
        return self.constant(name, values.astype(np.float32))

    def node(self, operator: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def linear(self, x: str, name: str, rows: int, columns: int) -> str:
        return self.node("MatMul", [x, self.weight(f"{name}_weight", rows, columns)], name)

    def layer_norm(self, x: str, name: str) -> str:
        scale = self.constant(f"{name}_scale", np.ones(WIDTH, np.float32))
        bias = self.constant(f"{name}_bias", np.zeros(WIDTH, np.float32))
        return self.node("LayerNormalization", [x, scale, bias], name, axis=-1)


def add_shared_constants(graph: Graph) -> None:
    """Add the constants that every layer uses."""
    graph.constant("split_heads", np.array([0, 0, HEADS, HEAD_WIDTH], np.int64))
    graph.constant("join_heads", np.array([0, 0, WIDTH], np.int64))
    for name, value in {
        "attention_scale": HEAD_WIDTH**-0.5,
        "half": 0.5,
        "one": 1.0,
        "three": 3.0,
        "gelu_cubic": 0.044715,
        "gelu_scale": (2 / np.pi) ** 0.5,
    }.items():
        graph.constant(name, np.array(value, np.float32))


def add_heads(graph: Graph, x: str, name: str, order: list[int]) -> str:
    """Return x through a projection, split into heads, its axes put in `order`."""
    split = graph.node("Reshape", [graph.linear(x, name, WIDTH, WIDTH), "split_heads"], f"{name}_split")
    return graph.node("Transpose", [split], f"{name}_heads", perm=order)


def add_attention(graph: Graph, x: str, prefix: str) -> str:
    """Return masked self-attention over x."""
    query = add_heads(graph, x, f"{prefix}_query", [0, 2, 1, 3])
    key = add_heads(graph, x, f"{prefix}_key", [0, 2, 3, 1])
    value = add_heads(graph, x, f"{prefix}_value", [0, 2, 1, 3])
    scores = graph.node("MatMul", [query, key], f"{prefix}_scores")
    scaled = graph.node("Mul", [scores, "attention_scale"], f"{prefix}_scaled")
    masked = graph.node("Add", [scaled, "mask"], f"{prefix}_masked")
    shares = graph.node("Softmax", [masked], f"{prefix}_shares", axis=-1)
    mixed = graph.node("MatMul", [shares, value], f"{prefix}_mixed")
    ordered = graph.node("Transpose", [mixed], f"{prefix}_ordered", perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", [ordered, "join_heads"], f"{prefix}_joined")
    return graph.linear(joined, f"{prefix}_output", WIDTH, WIDTH)


def add_gelu(graph: Graph, x: str, prefix: str) -> str:
    """Return GELU (tanh form) of x, spelt out in plain operators because opset 17 has no Gelu."""
    cube = graph.node("Pow", [x, "three"], f"{prefix}_cube")
    bent = graph.node("Add", [x, graph.node("Mul", ["gelu_cubic", cube], f"{prefix}_cubic")], f"{prefix}_bent")
    tanh = graph.node("Tanh", [graph.node("Mul", ["gelu_scale", bent], f"{prefix}_inner")], f"{prefix}_tanh")
    raised = graph.node("Add", [tanh, "one"], f"{prefix}_raised")
    return graph.node("Mul", [graph.node("Mul", [x, "half"], f"{prefix}_half"), raised], f"{prefix}_gelu")


def add_layer(graph: Graph, x: str, prefix: str) -> str:
    """Return x after one transformer layer: attention, then a feed-forward part, each with its residual."""
    attention = add_attention(graph, graph.layer_norm(x, f"{prefix}_norm1"), f"{prefix}_attention")
    x = graph.node("Add", [x, attention], f"{prefix}_after_attention")
    wide = graph.linear(graph.layer_norm(x, f"{prefix}_norm2"), f"{prefix}_wide", WIDTH, 4 * WIDTH)
    narrow = graph.linear(add_gelu(graph, wide, prefix), f"{prefix}_narrow", 4 * WIDTH, WIDTH)
    return graph.node("Add", [x, narrow], f"{prefix}_after_feed_forward")


def build_model() -> onnx.ModelProto:
    """Return the model: `ids` [batch, length] and `mask` [length, length] in, `logits` out."""
    graph = Graph()
    add_shared_constants(graph)
    x = graph.node("Gather", [graph.weight("embedding", VOCABULARY, WIDTH), "ids"], "embedded")
    for layer in range(LAYERS):
        x = add_layer(graph, x, f"layer{layer}")
    graph.linear(graph.layer_norm(x, "final_norm"), "logits", WIDTH, VOCABULARY)
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["length", "length"]),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "length", VOCABULARY])]
    made = helper.make_graph(graph.nodes, "transformer_4x256", inputs, outputs, graph.initializers)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model


def check_prompt() -> list[int]:
    """Return the tokens of the prompt that the quality check uses."""
    return [int(token) for token in np.random.default_rng(1).integers(0, VOCABULARY, CHECK_LENGTH)]


def reference_answers(model: onnx.ModelProto, tokens: list[int]) -> list[int]:
    """Return the best next token per position by the reference implementation; -1 where it is a near tie."""
    mask = np.triu(np.full((len(tokens), len(tokens)), -1e9, np.float32), 1)
    (logits,) = ReferenceEvaluator(model).run(None, {"ids": np.array([tokens], np.int64), "mask": mask})
    best_two = np.sort(logits[0], axis=-1)[:, -2:]
    clear = best_two[:, 1] - best_two[:, 0] >= LEAST_MARGIN
    return [int(token) for token in np.where(clear, logits[0].argmax(axis=-1), -1)]


def main(output: str) -> None:
    model = build_model()
    tokens = check_prompt()
    answers = reference_answers(model, tokens)
    helper.set_model_props(model, {"check_tokens": json.dumps(tokens), "check_answers": json.dumps(answers)})
    onnx.save(model, output)


if __name__ == "__main__":
    main(sys.argv[1])
