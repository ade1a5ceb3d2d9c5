from __future__ import annotations

import pytest

from jobs.names import canonical_gpu, canonical_model, name_key


@pytest.mark.parametrize("name", ["gpt-oss 120B", "GPT-OSS-120B", "openai/gpt-oss-120b"])
def test_one_model_has_one_name_however_it_is_written(name: str) -> None:
    assert canonical_model(name) == canonical_model("gpt-oss-120b")


@pytest.mark.parametrize("name", ["H100 SXM5-80GB", "NVIDIA H100 80GB HBM3", "h100"])
def test_one_gpu_has_one_name_however_it_is_written(name: str) -> None:
    assert canonical_gpu(name) == canonical_gpu("H100")


def test_unknown_names_stay_and_are_compared_by_their_key() -> None:
    assert canonical_model(" Some-New Model ") == "Some-New Model"
    assert name_key("Some-New Model") == name_key("org/some_new-model")
    assert canonical_model("gpt-oss-20b") != canonical_model("gpt-oss-120b")
