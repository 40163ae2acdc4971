"""Units of prices and statements: each with its source, and consistent with each other."""

import pytest

from pqchain.bench.gas_units import CLIENTS, STATEMENTS, UNITS, statement
from pqchain.errors import UnknownName


def test_statements_and_units_name_their_source():
    assert all(row["source"] and row["date"] and row["gas"] > 0 for row in STATEMENTS)
    assert {row["unit"] for row in STATEMENTS} == set(UNITS)
    assert all(unit.source and unit.date and unit.rule for unit in UNITS.values())
    assert all(row["source"] and row["date"] for row in CLIENTS.values() if "chain" in row)


def test_gas_is_anchored_on_the_price_in_force():
    # EIP-7904 measures 841 gas for ecrecover and proposes no price; 3000 is charged.
    assert UNITS["evm"].anchor_price == statement("ecrecover", "evm", "yellow paper") == 3000
    assert UNITS["evm"].benchmark == statement("ecrecover", "evm", "EIP-7904") == 841
    assert UNITS["near"].anchor_price == statement("Ed25519", "near", "near/nearcore")
    assert UNITS["tron"].anchor_price == statement("ecrecover", "tron", "tronprotocol")
    with pytest.raises(UnknownName):
        statement("Ed25519", "evm", "none")
