from __future__ import annotations

import pickle

import pytest

from alerts.secret import Secret


def test_a_secret_is_never_shown() -> None:
    secret = Secret("xoxb-1")
    assert f"{secret} {secret!r} {[secret]}" == "*** *** [***]"
    assert secret.reveal() == "xoxb-1"


def test_a_secret_is_never_written() -> None:
    with pytest.raises(TypeError, match="never written"):
        pickle.dumps(Secret("xoxb-1"))
