"""A ledger of three blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from pqchain.chain import Ledger, Rules
from tests.chain.ledgers import ALICE, BOB, append_blocks


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "chain.pqc"
    balances = {ALICE.address: 1000, BOB.address: 0}
    with Ledger.create(path, balances, Rules(limit_bytes=5000)) as ledger:
        append_blocks(ledger, 3)
    return path
