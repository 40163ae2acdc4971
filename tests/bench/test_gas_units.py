"""Units of prices and statements: each with its source, and consistent with each other."""

import pytest

from pqchain.bench.gas_units import clients, statement, statements, units
from pqchain.errors import UnknownName


def test_statements_and_units_name_their_source():
    assert all(row["source"] and row["date"] and row["gas"] > 0 for row in statements())
    assert {row["unit"] for row in statements()} == set(units())
    assert all(unit.source and unit.date and unit.rule for unit in units().values())
    assert all(row["source"] and row["date"] for row in clients().values() if "chain" in row)


def test_gas_is_anchored_on_the_price_in_force():
    # EIP-7904 measures 841 gas for ecrecover and proposes no price; 3000 is charged.
    assert units()["evm"].anchor_price == statement("ecrecover", "evm", "yellow paper") == 3000
    assert units()["evm"].benchmark == statement("ecrecover", "evm", "EIP-7904") == 841
    assert units()["near"].anchor_price == statement("Ed25519", "near", "near/nearcore")
    assert units()["tron"].anchor_price == statement("ecrecover", "tron", "tronprotocol")
    with pytest.raises(UnknownName):
        statement("Ed25519", "evm", "none")
