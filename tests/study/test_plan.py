"""Plans: inputs, defaults, sources, files, and problems reported together."""

from dataclasses import MISSING
from datetime import date, datetime

import pytest

from pqchain.consensus import named
from pqchain.costs import Costs
from pqchain.errors import UnknownName, UsageError
from pqchain.study import Plan, load, provers, ready, ready_names
from pqchain.study.files import input_help, input_rows, parse, toml
from pqchain.study.inputs import PARAMETERS
from pqchain.study.plan import INPUTS, ImpossiblePlan
from pqchain.study.text import status
from tests.study.plans import GOOD, plan


def refused(text):
    """Return the lines of the error."""
    with pytest.raises(UsageError) as caught:
        parse(text, "my.toml")
    return str(caught.value).split("\n")


@pytest.mark.parametrize("name", ready_names())
def test_ready_plans_cite_every_input_and_are_dated(name):
    plan = load(name)
    told = {key: source for key, _, _, _, source in input_rows(plan)}
    uncited = [key for key, source in told.items() if source == "set for this study"]
    assert uncited in ([], ["algorithms"])
    unset = [key for key, source in told.items() if source == "default"]
    assert unset
    assert not [key for key in unset if f"\n{key} = " in ready(name)]
    assert ("peers" in told) == (plan.network.law == "gossip")
    assert ("rate_bits_per_second" in told) == (plan.network.rate_bits_per_second is not None)
    text = ready(name)
    undated = "\n".join(line for line in text.splitlines() if not line.startswith("checked = "))
    with pytest.raises(UsageError, match="checked must be the date on which the sources were read"):
        parse(undated, f"{name}.toml")


@pytest.mark.parametrize("name", ready_names())
def test_written_plans_read_back_unchanged(name):
    start = load(name)
    # Schemes that a plan defines are always compared, after the others.
    defined = (row.algorithm for row in start.own_schemes)
    algorithms = (*start.chain.algorithms[:2], "Ed25519", *defined)
    moved = start.with_(nodes=start.network.nodes * 2, algorithms=algorithms)
    for one in (start, moved):
        assert parse(toml(one), name) == one


def test_unusual_text_and_user_schemes_round_trip():
    mine = Costs.given(
        'My "own"', public_key_bytes=3, signature_bytes=4, sign_seconds=1e-3,
        verify_seconds=1e-9, source="tab\t, and a backslash \\",
    )  # fmt: skip
    one = plan(title="a \x7f b # é", own_schemes=(mine,), algorithms=("Falcon-512", 'My "own"'))
    one = one.with_(checked=date(2026, 11, 23), valid_until=date(2027, 1, 1))
    one = one.with_(sources={"nodes": "[a] = b"}, law="mesh", link_latency_seconds=0.25)
    assert parse(toml(one), "plan.toml") == one


def test_changed_input_loses_its_source():
    plan = load("bitcoin")
    changed = plan.with_(nodes=64, peers=4)
    assert (changed.source("nodes"), changed.source("peers")) == ("set for this study",) * 2
    assert changed.network.model.peers == 4
    assert changed.source("block_bytes") == plan.source("block_bytes")
    assert plan.with_(nodes=plan.network.nodes, sources={"nodes": "me"}).source("nodes") == "me"
    assert load("bitcoin").with_(law="mesh").network.model == named("mesh")


def test_schemes_may_be_a_list_and_baseline_may_be_empty():
    plan = load("pqdpol").with_(algorithms=["Falcon-512"])
    assert plan.chain.algorithms == ("Falcon-512",)
    assert {key: value for key, value, *_ in input_rows(plan)}["baseline"] == "none"


def test_each_input_is_declared_once_with_meaning_unit_and_default():
    rows = {name: (table, unit, default) for table, name, unit, _, default in input_help()}
    assert rows["block_bytes"] == ("chain", "B", "needed")
    assert rows["block_seconds"][1] == "s"
    assert rows["rate_bits_per_second"] == ("network", "bit/s", "the law's")
    mappings = ("gas_prices", "implementations")
    assert {key for key, *_ in input_rows(load("ethereum"))} <= {*rows, *mappings}
    assert {name for name, row in INPUTS.items() if row.field.default is MISSING} == {
        "algorithms", "transactions_per_second", "block_bytes", "block_seconds", "nodes", "law",
    }  # fmt: skip
    assert all(row.field.help for row in INPUTS.values())


def test_unknown_names_get_a_suggestion(tmp_path):
    with pytest.raises(UnknownName, match="'ethereum'"):
        load("etherium")
    with pytest.raises(UnknownName, match="'nodes'"):
        parse(GOOD, "my.toml").with_(node=3)
    with pytest.raises(UsageError, match="cannot read the study"):
        load(tmp_path / "none.toml")
    (tmp_path / "my.toml").write_text(GOOD, encoding="utf-8")
    assert load(tmp_path / "my.toml") == parse(GOOD, "my.toml")


def test_every_problem_names_its_input():
    with pytest.raises(ImpossiblePlan) as caught:
        load("bitcoin").with_(nodes=0, peers=0, block_bytes=-1, vote_aggregation="trees")
    assert [problem.path for problem in caught.value.problems] == [
        ("chain", "block_bytes"), ("votes", "vote_aggregation"), ("network", "nodes"),
        ("network", "peers"),
    ]  # fmt: skip
    assert str(caught.value).count("\n") == 3


def test_changing_law_or_regions_resets_the_network():
    plan = load("algorand").with_(link_latency_seconds=0.5, peers=3)
    assert (plan.network.model.latency_seconds, plan.network.model.peers) == (0.5, 3)
    mesh = plan.with_(law="mesh")
    assert mesh.network.model == named("mesh") and mesh.network.peers is None
    world = plan.with_(world=True)
    assert world.network.peers == 3 and world.network.link_latency_seconds is None
    assert {*PARAMETERS} & world.unused == {"rate_bits_per_second", "link_latency_seconds"}
    with pytest.raises(UsageError, match="peers is not an input of mesh"):
        mesh.with_(peers=4)
    with pytest.raises(UsageError, match=r"link_latency_seconds must be .* got -1"):
        mesh.with_(link_latency_seconds=-1.0)


def test_dates_are_dates_in_order():
    plan = load("bitcoin")
    for wrong in ("2026-11-23", datetime(2026, 11, 23, 1), 2026):
        with pytest.raises(UsageError, match="checked must be"):
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


def test_plan_equals_its_file():
    plan = parse(GOOD, "my.toml")
    assert plan.chain.algorithms == ("Falcon-512",)
    assert (plan.network.nodes, plan.network.law, plan.chain.block_seconds) == (16, "star", 1.5)
    assert plan.names == ("ECDSA-secp256k1", "Falcon-512")
    assert Plan.of(plan.tables) == plan


def test_every_problem_has_its_line_number():
    text = GOOD.replace("block_seconds = 1.5", 'block_seconds = "1.5 s"\nblock_byte = 3')
    text = text.replace("nodes = 16", "nodes = 0\nrate_megabits = 5").replace(
        "paper:mini-blockchain", "guessed"
    )
    problems = refused(text + "[weather]\nrain = 1\n")
    told = {int(line.split()[2][:-1]): line for line in problems}
    assert {*told} == {2, 8, 9, 13, 14, 15}
    assert "costs must be one of measured, paper:mini-blockchain, paper:pqdpol" in told[2]
    assert "block_seconds must be a number from 0 to" in told[8]
    assert "unknown input 'block_byte'; did you mean block_bytes (B)" in told[9]
    assert "nodes must be a whole number from 1 to 4194304; got 0" in told[13]
    assert "rate_bits_per_second (bit/s)" in told[14]
    assert "unknown table or input weather; expected [chain], " in told[15]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("nodes = 16", "nodes = 16\ndelegates = 17"), "delegates must be at most nodes, 16"),
        (("nodes = 16", "nodes = 9"), "at most 9 together, .* got 7"),
        (("[network]", "[storage]\ndata_chunks = 200\nparity_chunks = 100\n[network]"), "255 tog"),
        (('"star"', '"paper-serial"\nvote_phases = 1'), "vote_phases must be 0 with paper-serial"),
        (("nodes = 16", "nodes = 16\npeers = 3"), "line 13: peers is not an input of star"),
        (("nodes = 16", "nodes = 16\nworld = 1"), "line 13: world must be True or False; got 1"),
        (('"star"', '"stars"'), "'stars'; did you mean 'star'"),
        (("block_bytes = 50_000\n", ""), r"line 4: block_bytes must be .* got nothing .*in B\)"),
        (('law = "star"\n', ""), "line 10: unknown law"),
        (('"Falcon-512", ', '"Falcon-500", '), "unknown algorithm 'Falcon-500'"),
        (('"Falcon-512", ', '"Kyber512", '), "algorithms must name signature schemes"),
        (('"Falcon-512", ', "3, "), "algorithms must be"),
        (("nodes = 16", "nodes = true"), "nodes must be a whole number .* got True"),
        (("[network]", "[sources]\nnode = \"me\"\n[network]"), "sources must name inputs; .*node"),
        (("[network]", "[sources]\nnodes = 3\n[network]"), "sources of nodes must be .* got 3"),
        (("[network]", "[limits]\nnodes = 3\n[network]"), r"nodes belongs in \[network\]"),
        (("[chain]", "[chain"), "invalid TOML"),
        (("[chain]", "limits = 3\n[chain]"), "line 4: limits must be a table; got 3"),
        (("[chain]", "scheme = 3\n[chain]"), r"line 4: \[\[scheme\]\] must be a table; got 3"),
    ],
)  # fmt: skip
def test_invalid_files_are_rejected(change, message):
    with pytest.raises(UsageError, match=message):
        parse(GOOD.replace(*change), "my.toml")


OBSERVED = """
[[observed]]
quantity = "transactions_per_block"
value = 5
source = "me"
date = "2026"
derived = "block_bytes"
"""


def test_observation_may_depend_on_the_inputs():
    (seen,) = parse(GOOD + OBSERVED, "my.toml").observed
    assert seen.derived == "block_bytes"
    for old, new, message in (
        ('"block_bytes"', "1", "derived must be a text; got 1"),
        ('"block_bytes"', '"block_byte"', "block_bytes"),
        ("value = 5", "value = 0", "value must be a number .*got 0"),
        ("transactions_per_block", "weather", "unknown figure 'weather'"),
        ('date = "2026"', "settings = { node = 1 }", "date must be a text; got nothing"),
    ):
        with pytest.raises(UsageError, match=message):
            parse(GOOD + OBSERVED.replace(old, new), "my.toml")


@pytest.fixture
def provers_of_another_machine(monkeypatch, tmp_path):
    """Measurements of a prover without a successful row, and a damaged published prover."""
    (tmp_path / "provers").mkdir()
    (tmp_path / "provers" / "labrador.toml").write_text("rates = [", encoding="utf-8")
    folder = tmp_path / "measurements" / "a-machine"
    folder.mkdir(parents=True)
    (folder / "proofs.csv").write_text("signatures,status\n", encoding="utf-8")
    (folder / "proofs.json").write_text('{"provenance": {}}', encoding="utf-8")
    data = provers.installation.data
    monkeypatch.setattr(
        provers.installation,
        "data",
        lambda name: tmp_path / name if name == "provers" else data(name),
    )
    for function in (provers._files, provers.prover):
        function.cache_clear()
    yield
    monkeypatch.undo()
    for function in (provers._files, provers.prover):
        function.cache_clear()


def test_damaged_prover_stops_only_the_plans_that_use_it(provers_of_another_machine):
    assert load("ethereum").votes.vote_aggregation == "bls"
    with pytest.raises(UsageError, match="vote_aggregation must be one of plain, bls, labrador"):
        load("ethereum").with_(vote_aggregation="leanmultisig")
    for name in provers.names():
        changed = load("ethereum").with_(vote_aggregation=name)
        with pytest.raises(
            provers.DataError, match=r"labrador\.toml|proofs\.csv must have a proof"
        ):
            provers.prover_of(changed.votes.vote_aggregation)
