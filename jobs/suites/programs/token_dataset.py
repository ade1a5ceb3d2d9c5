"""Writes requests of fixed lengths for trtllm-bench: `python token_dataset.py tokens-ISL-OSL-COUNT.jsonl`.

One line a request, random token ids from a fixed seed, so that every release gets the same work.
"""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

LOWEST_TOKEN, HIGHEST_TOKEN = 1000, 30_000
"""Ordinary words in the vocabularies of the common models; special tokens lie outside."""


def main(output: str) -> None:
    lengths = re.fullmatch(r"tokens-(\d+)-(\d+)-(\d+)\.jsonl", Path(output).name)
    if lengths is None:
        sys.exit(f"expected an output named tokens-ISL-OSL-COUNT.jsonl, found {Path(output).name}")
    isl, osl, count = map(int, lengths.groups())
    source = random.Random(0)
    with Path(output).open("w", encoding="utf-8") as file:
        for task in range(count):
            tokens = [source.randint(LOWEST_TOKEN, HIGHEST_TOKEN) for _ in range(isl)]
            file.write(json.dumps({"task_id": task, "input_ids": tokens, "output_tokens": osl}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
