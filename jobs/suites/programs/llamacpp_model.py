"""Writes a small llama-architecture GGUF with random Q8_0 weights: `python llamacpp_model.py OUTPUT`.

Eight layers, 512 wide, 8 heads (4 for keys and values), about 26 MB, from a fixed seed. The vocabulary is byte-level
with some letter pairs. What it generates is noise; how fast it does so is not. It only ever chooses letter pairs:
half a UTF-8 character makes some releases of llama.cpp end the request with an error.
"""

from __future__ import annotations

import string
import sys

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, KV_HEADS, FEED_FORWARD, CONTEXT = 512, 8, 8, 4, 1408, 2048
PAIRS = range(256, 256 + 26 * 10)
"""Token ids of the letter pairs, behind the 256 single bytes."""
BEGIN, END = "<|begin|>", "<|end|>"


def byte_tokens() -> list[str]:
    """Return the 256 byte tokens as GPT-2 spells them: printable bytes as themselves, the rest from U+0100 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    spelt = {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}
    return [spelt[byte] for byte in range(256)]


def add_vocabulary(writer: gguf.GGUFWriter) -> int:
    """Add the tokenizer and return the size of its vocabulary, filled up to a multiple of 32."""
    pairs = [(first, second) for first in string.ascii_lowercase for second in "aeioustrnl"]
    normal = byte_tokens() + [first + second for first, second in pairs]
    special = [BEGIN, END]
    special += [f"<|unused{i}|>" for i in range(-(len(normal) + len(special)) % 32)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(normal + special)
    writer.add_token_types(
        [gguf.TokenType.NORMAL] * len(normal) + [gguf.TokenType.CONTROL] * len(special),
    )
    writer.add_token_merges([f"{first} {second}" for first, second in pairs])
    writer.add_bos_token_id(len(normal))
    writer.add_eos_token_id(len(normal) + 1)
    return len(normal) + len(special)


def add_shape(writer: gguf.GGUFWriter, vocabulary: int) -> None:
    """Add the numbers that describe the architecture."""
    writer.add_name("random-llama-8x512")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)


def add_weights(writer: gguf.GGUFWriter, vocabulary: int) -> None:
    """Add every tensor: norms as ones, matrices random and quantized to Q8_0."""
    random = np.random.default_rng(0)
    quantized = gguf.GGMLQuantizationType.Q8_0

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))

    def matrix(name: str, rows: int, columns: int, chosen: range | None = None) -> None:
        values = (random.standard_normal((rows, columns)) * 0.02).astype(np.float32)
        if chosen is not None:
            values[: chosen.start] = values[chosen.stop :] = 0
        writer.add_tensor(f"{name}.weight", gguf.quantize(values, quantized), raw_dtype=quantized)

    matrix("token_embd", vocabulary, WIDTH)
    matrix("output", vocabulary, WIDTH, chosen=PAIRS)
    norm("output_norm")
    kv_width = KV_HEADS * WIDTH // HEADS
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        norm(f"{block}.attn_norm")
        norm(f"{block}.ffn_norm")
        matrix(f"{block}.attn_q", WIDTH, WIDTH)
        matrix(f"{block}.attn_k", kv_width, WIDTH)
        matrix(f"{block}.attn_v", kv_width, WIDTH)
        matrix(f"{block}.attn_output", WIDTH, WIDTH)
        matrix(f"{block}.ffn_gate", FEED_FORWARD, WIDTH)
        matrix(f"{block}.ffn_up", FEED_FORWARD, WIDTH)
        matrix(f"{block}.ffn_down", WIDTH, FEED_FORWARD)


def main(output: str) -> None:
    writer = gguf.GGUFWriter(output, "llama")
    vocabulary = add_vocabulary(writer)
    add_shape(writer, vocabulary)
    add_weights(writer, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
