"""Plans: inputs, defaults, sources, and problems reported together."""

from datetime import date, datetime

import pytest

from pqchain.consensus import named
from pqchain.errors import UnknownName, UsageError
from pqchain.study import READY, Plan, load, ready
from pqchain.study.checking import NETWORK, REQUIRED, ImpossiblePlan
from pqchain.study.input_rows import input_help, input_rows
from pqchain.study.inputs import BY_SCHEME, INPUTS, NAMES
from pqchain.study.reading import parse
from pqchain.study.text import status
from tests.study.plans import GOOD


@pytest.mark.parametrize("name", READY)
def test_presets_cite_every_input(name):
    plan = load(name)
    told = {key: source for key, _, _, _, source in input_rows(plan)}
    unsaid = [key for key, source in told.items() if source == "set for this study"]
    assert unsaid in ([], ["algorithms"])
    unset = [key for key, source in told.items() if source == "default"]
    assert unset
    assert not [key for key in unset if f"\n{key} = " in ready(name)]
    assert ("peers" in told) == (plan.network.law == "gossip")
    assert ("rate_bits_per_second" in told) == (plan.rate_bits_per_second is not None)


def test_changed_input_loses_its_source():
    plan = load("bitcoin")
    changed = plan.with_(nodes=64, peers=4)
    assert (changed.source("nodes"), changed.source("peers")) == ("set for this study",) * 2
    assert changed.network.peers == 4
    assert changed.source("block_bytes") == plan.source("block_bytes")
    assert plan.with_(nodes=plan.nodes, sources={"nodes": "me"}).source("nodes") == "me"
    assert load("ethereum").with_(law="mesh").network == named("mesh")


def test_schemes_may_be_a_list_and_baseline_may_be_empty():
    plan = load("pqdpol").with_(algorithms=["Falcon-512"])
    assert plan.algorithms == ("Falcon-512",)
    assert {key: value for key, value, *_ in input_rows(plan)}["baseline"] == "none"


def test_every_input_is_described():
    rows = {name: (table, unit, default) for table, name, unit, _, default in input_help()}
    assert rows["block_bytes"] == ("chain", "B", "needed")
    assert rows["peers"] == ("network", "", "the law's")
    assert {key for key, *_ in input_rows(load("ethereum"))} <= {*rows, *BY_SCHEME}


def test_signer_needs_its_scheme_and_excludes_a_factor():
    plan = parse(GOOD, "my.toml")
    with pytest.raises(UsageError, match="without a Falcon scheme"):
        plan.with_(algorithms=("ML-DSA-44",), signer="m4")
    with pytest.raises(UsageError, match="signing_factor must be 1"):
        plan.with_(signer="m4", signing_factor=2.0)


def test_unknown_names_get_a_suggestion(tmp_path):
    with pytest.raises(UnknownName, match="'ethereum'"):
        load("etherium")
    with pytest.raises(UnknownName, match="'bitcoin'"):
        ready("bitcoins")
    with pytest.raises(UnknownName, match="'nodes'"):
        parse(GOOD, "my.toml").with_(node=3)
    with pytest.raises(UsageError, match="cannot read the study"):
        load(tmp_path / "none.toml")


def test_each_problem_names_its_input():
    with pytest.raises(ImpossiblePlan) as caught:
        load("bitcoin").with_(nodes=0, peers=0, block_bytes=-1)
    assert [problem.input for problem in caught.value.problems] == ["block_bytes", "nodes", "peers"]
    assert str(caught.value).count("\n") == 2


def test_plan_can_be_made_from_keywords():
    plan = Plan(
        algorithms=("Falcon-512",), transactions_per_second=1.0, block_bytes=50_000,
        block_seconds=0.0, nodes=32, law="paper-serial", costs="paper:pqdpol",
        baseline="",
    )  # fmt: skip
    assert plan.title == "A study"


def test_each_input_is_declared_once_with_meaning_unit_and_default():
    assert {*INPUTS} == {*NAMES} - {"own_schemes", "sources", "observed"}
    for name, row in INPUTS.items():
        assert row.about and row.least <= row.most
        assert (row.table == "") == (name == "title")
        if isinstance(row.default, (int, float)) and not isinstance(row.default, bool):
            assert row.least <= row.default <= row.most
    required = {name for name, row in INPUTS.items() if row.default is REQUIRED}
    assert required == {
        "algorithms", "transactions_per_second", "block_bytes", "block_seconds", "nodes", "law",
    }  # fmt: skip
    units = {name: INPUTS[name].unit for name in ("block_seconds", "rate_bits_per_second")}
    assert units == {"block_seconds": "s", "rate_bits_per_second": "bit/s"}


def test_changing_law_or_regions_resets_the_network():
    plan = load("algorand").with_(link_latency_seconds=0.5, peers=3)
    assert (plan.network.latency_seconds, plan.network.peers) == (0.5, 3)
    mesh = plan.with_(law="mesh")
    assert mesh.network == named("mesh") and mesh.peers is None
    world = plan.with_(world=True)
    assert world.peers == 3 and world.link_latency_seconds is None
    assert {*NETWORK} & world.unused == {"rate_bits_per_second", "link_latency_seconds"}
    assert world.region_table == world.network.region_table == "2026"
    before = world.with_(region_table="2019")
    assert before.network.region_table == "2019"
    assert before.with_(world=False).region_table is None
    with pytest.raises(UsageError, match="region_table is not an input of gossip; leave it out"):
        plan.with_(region_table="2019")
    with pytest.raises(UsageError, match="peers is not an input of mesh"):
        mesh.with_(peers=4)
    with pytest.raises(UsageError, match=r"link_latency_seconds must be .* got -1"):
        mesh.with_(link_latency_seconds=-1.0)


@pytest.mark.parametrize("name", READY)
def test_every_preset_is_dated(name):
    plan = load(name)
    assert plan.checked is not None
    text = ready(name)
    undated = "\n".join(line for line in text.splitlines() if not line.startswith("checked = "))
    with pytest.raises(UsageError, match="checked must be the date on which the sources were read"):
        parse(undated, f"{name}.toml")


def test_dates_are_dates_in_order():
    plan = load("bitcoin")
    for wrong in ("2026-11-23", datetime(2026, 11, 23), 2026):
        with pytest.raises(UsageError, match="checked must be a date such as 2026-11-23"):
            plan.with_(checked=wrong)
    undated = plan.with_(sources={}, checked=None, valid_until=None)
    with pytest.raises(UsageError, match="valid_until must be left out without checked"):
        undated.with_(valid_until=date(2026, 11, 22))
    assert status(undated) == "Inputs are not dated."
    dated = undated.with_(checked=date(2026, 11, 23))
    assert status(dated).endswith("read on 2026-11-23; status unknown after that date.")
    limited = dated.with_(valid_until=date(2026, 12, 31))
    assert status(limited).endswith("valid until 2026-12-31, status unknown after that date.")
    past = dated.with_(valid_until=date(2026, 8, 20))
    assert status(past).endswith("read on 2026-11-23; rules in force until 2026-08-20.")
