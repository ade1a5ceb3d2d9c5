"""Checks of `[run.nodes]`: what starts the ranks of one run on several nodes, and whether the GPUs can be shared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from jobs.suite.document import Document, Nodes
from jobs.suite.matrix import combinations, problems_of_matrix

_Problem = tuple[str, str]
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
COUNTS = ("nodes", "ranks", "ranks_per_node")
"""What is filled into any text of a launcher."""
OF_A_RANK = ("rank", "local_rank", "node", "first_host", *COUNTS)
"""What is filled into a variable of a rank, where it runs."""
LARGEST_RANKS = 16_384


def problems_of_nodes(document: Document, nodes: Nodes) -> Iterator[_Problem]:
    """Yield what is wrong with the table and with what stands beside it."""
    ranks = nodes.count * nodes.ranks_per_node
    if ranks > LARGEST_RANKS:
        yield "run.nodes", f"{ranks} ranks are more than {LARGEST_RANKS}; give fewer nodes or ranks_per_node"
    if nodes.result_rank >= ranks:
        yield "run.nodes.result_rank", f"expected a rank from 0 to {ranks - 1}, found {nodes.result_rank}"
    if document.run.pin_cores:
        yield "run.pin_cores", "cores are pinned for one process, not for ranks; remove it and let the launcher bind"
    yield from _launcher_problems(document, nodes)
    for name, text in nodes.environment.items():
        yield from _unfilled(f"run.nodes.environment.{name}", text, OF_A_RANK)
    yield from _gpu_problems(document, nodes)


def _launcher_problems(document: Document, nodes: Nodes) -> Iterator[_Problem]:
    key, words = "run.nodes.launcher", nodes.launcher
    if words.count("{program}") != 1 or words[-1] != "{program}":
        yield key, f'the last text must be "{{program}}", which is the program with its arguments, found {words[-1]!r}'
    if "{srun}" in words[1:]:
        yield key, '"{srun}" must be the first text: it starts what follows once a rank'
    if words[0] == "{program}":
        yield key, 'nothing starts the ranks; write for instance ["{srun}", "{program}"]'
    if document.source.kind == "oci_registry" and words[0] != "{srun}":
        yield key, f'only "{{srun}}" starts ranks in containers of an image; write it in place of {words[0]!r}'
    for word in words:
        if word not in ("{srun}", "{program}"):
            yield from _unfilled(key, word, COUNTS)


def _unfilled(key: str, text: str, known: tuple[str, ...]) -> Iterator[_Problem]:
    for name in _PLACEHOLDER.findall(text):
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {{{near[0]}}}?" if near else f"known: {', '.join(f'{{{n}}}' for n in known)}"
            yield key, f"nothing fills {{{name}}} in {text!r}; {hint}"
    if re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        yield key, f"a brace without its partner in {text!r}"
    if "\0" in text or "\n" in text:
        yield key, f"expected one line of text, found {text!r}"


def _gpu_problems(document: Document, nodes: Nodes) -> Iterator[_Problem]:
    """Yield numbers of GPUs that the nodes cannot share evenly, and a matrix that says the nodes once more."""
    if any(problems_of_matrix(document.matrix, gpus=document.hardware.gpus)):
        return
    made = combinations(document.matrix)
    if any("node_count" in labels for labels in made):
        yield "matrix.node_count", f"run.nodes.count = {nodes.count} says it; remove the label"
    for gpus in dict.fromkeys(labels.get("gpu_count", document.hardware.gpus) for labels in made):
        if isinstance(gpus, int) and gpus % nodes.count:
            key = "hardware.gpus" if document.hardware.gpus else "matrix.gpu_count"
            yield key, f"{gpus} GPUs cannot be shared evenly by {nodes.count} nodes; it is counted over all nodes"
