"""Written plans read back unchanged."""

from datetime import date

import pytest

from pqchain.costs import Costs
from pqchain.study import READY
from pqchain.study.reading import load, parse
from pqchain.study.writing import changes, options, python, toml
from tests.study.plans import plan


@pytest.mark.parametrize("name", READY)
def test_every_preset_round_trips_through_its_file(name):
    start = load(name)
    # Schemes that a plan defines are always compared, after the others.
    defined = (row.algorithm for row in start.own_schemes)
    algorithms = (*start.algorithms[:2], "Ed25519", *defined)
    moved = start.with_(nodes=start.nodes * 2, algorithms=algorithms)
    for one in (start, moved):
        assert parse(toml(one), name) == one
    assert changes(moved, start) == {"algorithms": moved.algorithms, "nodes": moved.nodes}
    assert options(start, start) == []


def test_unusual_text_and_user_schemes_round_trip():
    mine = Costs.given(
        'My "own"', public_key_bytes=3, signature_bytes=4, sign_seconds=1e-3,
        verify_seconds=1e-9, source="tab\t, and a backslash \\",
    )  # fmt: skip
    one = plan(title="a \x7f b # é", own_schemes=(mine,), algorithms=("Falcon-512", 'My "own"'))
    one = one.with_(checked=date(2026, 11, 23), valid_until=date(2027, 1, 1))
    one = one.with_(sources={"nodes": "[a] = b"}, law="mesh", link_latency_seconds=0.25)
    assert parse(toml(one), "plan.toml") == one


def test_python_code_recreates_the_plan():
    start = load("algorand")
    mine = Costs.given(
        "Mine", public_key_bytes=3, signature_bytes=4, sign_seconds=1e-3, verify_seconds=1e-4,
        source="me",
    )  # fmt: skip
    moved = start.with_(law="star", own_schemes=(mine,), algorithms=("Mine",), block_seconds=1.5)
    import pqchain as pq

    assert eval(python(moved, start, "algorand"), {"pq": pq}) == moved
