"""A part of `make fuzz-delegates`."""

from __future__ import annotations

import pytest

from tests.consensus.delegate.fuzz import fuzz
from tests.consensus.delegate.trials import make_setting

pytestmark = pytest.mark.native


def test_damaged_messages_do_no_harm():
    refused, cast = fuzz(make_setting(), 5000)
    assert cast > 0
    assert {"malformed", "stranger", "bad signature", "wrong root", "no quorum"} <= set(refused)
