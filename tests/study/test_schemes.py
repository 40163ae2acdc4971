"""User-defined schemes from a file, the command line and Python."""

import dataclasses

import pytest

from pqchain import schemes
from pqchain.costs import Costs, CostTable
from pqchain.errors import UsageError
from pqchain.study import files, sampling, text
from pqchain.study.text import warnings
from tests import frames
from tests.study import plans

MINE = Costs.given(
    "Mine", public_key_bytes=1000, signature_bytes=300, sign_seconds=1e-3, verify_seconds=1e-4,
    source="my thesis, table 2",
)  # fmt: skip

TABLE = """
[[scheme]]
name = "Mine"
public_key_bytes = 1000
signature_bytes = 300
sign_seconds = 1e-3
verify_seconds = 1e-4
source = "my thesis, table 2"
"""


def costs(*own: Costs) -> CostTable:
    return CostTable((*plans.COSTS.rows, *own), plans.COSTS.source)


def test_table_of_a_file_is_compared_and_labelled():
    plan = files.parse(files.ready("ethereum") + TABLE, "mine.toml").with_(
        algorithms=("Mine", "Falcon-512"), nodes=64, delegates=16, observed=()
    )
    found = plans.found(plan, costs(MINE), draws=2)
    own = found.values["Mine"]
    assert (own["public_key_bytes"], own["signature_bytes"]) == (1000, 300)
    assert own["transaction_bytes"] == 51 + 294 + 2 + 1000 + 300
    rows = found.frame[found.frame["algorithm"] == "Mine"].set_index("quantity")
    for name in ("public_key_bytes", "signature_bytes", "sign_seconds", "verify_seconds"):
        assert tuple(rows.loc[name, ["kind", "source"]]) == ("given", "given: my thesis, table 2")
    assert "given: my thesis, table 2" in rows.loc["final_seconds", "source"]
    assert ">given<" in text.figures_table(found).html()


def test_user_scheme_uses_its_numbers():
    """The same bytes and seconds under two names give the same figures."""
    row = plans.COSTS["ML-DSA-44"]
    twin = Costs.given(
        "Twin", public_key_bytes=row.public_key_bytes, signature_bytes=row.signature_bytes,
        sign_seconds=row.sign_seconds, verify_seconds=row.verify_seconds, source="copied",
    )  # fmt: skip
    plan = plans.plan(algorithms=("ML-DSA-44", "Twin"), own_schemes=(twin,))
    found = plans.found(plan, costs(twin))
    assert found.values["Twin"] == pytest.approx(found.values["ML-DSA-44"], nan_ok=True)


def test_named_scheme_is_not_compared_twice():
    file = files.ready("ethereum").replace('algorithms = ["ML-DSA-44"', 'algorithms = ["Mine"')
    plan = files.parse(file + TABLE, "mine.toml")
    assert plan.chain.algorithms.count("Mine") == 1
    assert plan.with_(algorithms=("mine",)).chain.algorithms == ("Mine",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "Mine"', 'name = "falcon-512"', "Falcon-512 in the registry"),
        ("sign_seconds = 1e-3\n", "", "Mine lacks sign_seconds"),
        ("sign_seconds = 1e-3", "sign_seconds = -1.0", "sign_seconds of Mine"),
        ("signature_bytes = 300", "signature_bytes = 0", "signature_bytes of Mine"),
        ("signature_bytes", "signature_kb", "has the unknown field 'signature_kb'"),
        ('source = "my thesis, table 2"', "source = 2", "source = 2; expected a text"),
    ],
)
def test_invalid_scheme_table_is_rejected_with_the_reason(old, new, message):
    file = files.ready("ethereum") + TABLE.replace(old, new)
    with pytest.raises(UsageError, match=message):
        files.parse(file, "mine.toml")


def test_scheme_from_the_command_line():
    row = schemes.parse("Mine, public_key=1000, signature=300B, sign=1ms, verify=0.1 ms, source=me")
    assert row.source == "given: me"
    assert (row.public_key_bytes, row.signature_bytes) == (1000, 300)
    assert (row.sign_seconds, row.verify_seconds) == pytest.approx((1e-3, 1e-4))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mine", "lacks public_key, signature, sign, verify"),
        ("Mine,key=3", "expected one of public_key"),
        ("Mine,sign=1", "expected a time in s, ms"),
        ("Mine,sign=fast", "expected a time in s, ms"),
        ("Mine,signature=1.5", "expected a whole number of bytes"),
        ("Mine,signature=1kB", "expected a whole number of bytes"),
    ],
)
def test_unreadable_scheme_is_rejected_with_an_example(text, message):
    with pytest.raises(UsageError, match=message):
        schemes.parse(text)


def test_measurements_are_joined_with_given_costs():
    plan = plans.plan(algorithms=("Mine", "Falcon-512"), own_schemes=(MINE,))
    found = sampling.times(plan, frames.measurements(["ECDSA-secp256k1", "Falcon-512"]))
    assert list(found.middle) == ["Falcon-512", "ECDSA-secp256k1", "Mine"]
    assert found.drawn(1)["Mine"] == MINE


def test_study_without_measurable_schemes_is_reported():
    plan = plans.plan(algorithms=("Mine",), baseline="", own_schemes=(MINE,))
    with pytest.raises(UsageError, match="algorithms must include a scheme of the registry"):
        sampling.times(plan)


def test_given_time_is_priced_by_the_anchor_given_with_it():
    plan = plans.plan(
        algorithms=("Mine",), own_schemes=(MINE,), block_gas=1e9, verification_gas=3000.0,
        intrinsic_gas=21_000.0, baseline="ECDSA-secp256k1",
    )  # fmt: skip
    warning = "Warning: Mine: given times are priced by the time of ECDSA-secp256k1 on this machine"
    assert any(line.startswith(warning) for line in warnings(plans.found(plan, costs(MINE))))
    anchored = dataclasses.replace(MINE, anchor_seconds=5e-5)
    fast = dataclasses.replace(plans.COSTS["ECDSA-secp256k1"], verify_seconds=1e-6)
    others = (row for row in costs(anchored).rows if row.algorithm != fast.algorithm)
    for times in (costs(anchored), CostTable((*others, fast), "measured:another")):
        found = plans.found(plan.with_(own_schemes=(anchored,)), times)
        assert found.values["Mine"]["transaction_gas"] == 21_000 + 2 * 3000
        assert not any(line.startswith(warning) for line in warnings(found))
    priced = plans.found(plan.with_(gas_prices={"Mine": 1.0}), costs(MINE))
    assert not any(line.startswith(warning) for line in warnings(priced))
