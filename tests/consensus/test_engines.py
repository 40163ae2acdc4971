import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

from pqchain.consensus import model
from pqchain.consensus.engines import fast, rows, simulate
from pqchain.consensus.faults import Faults
from pqchain.consensus.model import single_view
from pqchain.consensus.network import NAMES, named
from pqchain.consensus.scenario import Scenario
from pqchain.errors import PqchainError, UnknownName, UsageError
from tests.consensus.scenarios import pipelines, scenario, scenarios, table

QUIET = settings(suppress_health_check=list(HealthCheck))


# 2,100 scenarios in seven parts, so that they can run side by side: one in `make test`, the others
# in `make test-long`. Each part has every network, every rule and every fault, or fails.
@pytest.mark.parametrize(
    # Seeds of which 300 scenarios have every law.
    "part",
    [1, *(pytest.param(part, marks=pytest.mark.long) for part in (2, 3, 5, 6, 7, 8))],
)
def test_reference_and_fast_engine_agree_to_the_nanosecond(part: int) -> None:
    tried: dict[str, Scenario] = {}

    @seed(part)
    @settings(parent=QUIET, max_examples=300)
    @given(case=scenarios())
    def agree(case: Scenario) -> None:
        tried[case.identifier] = case
        assert model.run(case, engine="simpy") == model.run(case, engine="fast")

    agree()
    cases = tried.values()
    assert len(cases) >= 286  # of 300: 2,002 distinct scenarios in all parts
    assert {case.network.law for case in cases} == set(NAMES)
    assert {case.proposal for case in cases} == {"votes", "luck", "dpos"}
    assert {(case.exchange, case.phases) for case in cases} == {
        ("all-to-all", 0), ("broadcast", 0), ("broadcast", 1), ("broadcast", 2),
    }  # fmt: skip
    for field in Faults.__slots__:
        assert any(getattr(case.faults, field) for case in cases)
    assert {case.certificates for case in cases} == {"none", "broadcast", "next-block"}
    assert max(case.delegate_count for case in cases) >= 32


@settings(parent=QUIET, max_examples=60)
@given(case=pipelines())
def test_engines_agree_where_heights_overlap(case: Scenario) -> None:
    reference = model.run(case, engine="simpy")
    assert reference.is_live
    assert reference == model.run(case, engine="fast")


@pytest.mark.parametrize("law", [name for name in NAMES if name != "paper-serial"])
@pytest.mark.parametrize("phases", [1, 2])
def test_engines_agree_when_votes_precede_the_block(law: str, phases: int) -> None:
    # Slow verification and a fast network: votes queue before most delegates have the block.
    link = {} if law == "regions" else {"rate_bits_per_second": 1e8, "latency_seconds": 0.05}
    if law == "host":
        link = {"latency_seconds": 0.05, "processors": 3}
    crowded = scenario(
        nodes=48,
        network=named(law, jitter_fraction=2.0, **link),
        exchange="broadcast",
        vote_phases=phases,
        costs=table(verify=5e-3, sign=1e-3),
        faults=Faults(crashed=(3,), slow=(5, 6), equivocating=(9,), loss_probability=0.02),
        view_timeout_seconds=60.0,
    )
    reference = model.run(crowded, engine="simpy")
    assert reference == model.run(crowded, engine="fast")
    assert reference.is_live


def test_engines_agree_at_sizes_computed_in_parallel() -> None:
    large = scenario(nodes=300, network=named("regions"))
    assert large.nodes > rows._PARALLEL_ROWS
    assert model.run(large, engine="simpy") == model.run(large, engine="fast")


@pytest.mark.parametrize("world", [False, True])
def test_gossip_agrees_on_a_larger_graph_with_delays_and_a_partition(world: bool) -> None:
    wide = scenario(
        nodes=3000,
        delegates=16,
        network=named("gossip", world=world),
        faults=Faults(
            loss_probability=0.2, partition_fraction=0.4, heal_seconds=100.0
        ),
        view_timeout_seconds=1e4,
    )  # fmt: skip
    runs = [model.run(wide, engine=engine) for engine in model.ENGINES]
    reached = [run.heights[0].outcomes[0].reached_ns for run in runs]
    assert np.array_equal(reached[0], reached[1])
    assert reached[0].max() > 100e9


@pytest.mark.parametrize(
    "values",
    [
        np.arange(1000)[::-1].copy(),
        np.repeat(7, 500),
        np.array([2**61] + [1] * 200 + [5, 3] * 100),
        np.array([3, 1, 2]),
        np.zeros(0, dtype=np.int64),
    ],
    ids=["descending", "equal", "crowded", "few", "none"],
)
def test_bucket_sort_sorts(values: Any) -> None:
    mine = values.astype(np.int64)
    scratch, heads = np.empty(len(mine), dtype=np.int64), np.empty(len(mine) + 1, dtype=np.int64)
    rows.sort(mine, scratch, heads)
    assert np.array_equal(mine, np.sort(values))


def test_reference_engine_rejects_large_scenarios() -> None:
    large = scenario(nodes=2048, network=named("mesh"))
    with pytest.raises(UsageError, match=r"got 4194304\. Use engine='fast' \(--engine fast\)"):
        simulate.play(single_view(large))


def test_engine_is_interpreted_without_numba() -> None:
    # A separate process, because compilation is decided at import.
    program = (
        "import sys, warnings; sys.modules['numba'] = None; warnings.simplefilter('error')\n"
        "from pqchain.consensus.model import run\n"
        "from pqchain.consensus.network import named\n"
        "from tests.consensus.scenarios import scenario\n"
        "for law in ('regions', 'gossip', 'uplink'):\n"
        "    case = scenario(network=named(law, jitter_fraction=0.5))\n"
        "    print(run(case).heights[0].final_ns.sum())"
    )
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    runs = (
        model.run(scenario(network=named(law, jitter_fraction=0.5)), engine="simpy")
        for law in ("regions", "gossip", "uplink")
    )
    assert completed.stdout.split() == [str(run.heights[0].final_ns.sum()) for run in runs]


def test_missing_fixed_point_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_MAX_PASSES", 0)
    with pytest.raises(PqchainError, match=r"not stable after 0 passes\. Use engine='simpy'"):
        fast.play(single_view(scenario(network=named("mesh"))))


def test_unknown_engine_is_rejected() -> None:
    with pytest.raises(UnknownName, match=r"'simpi'; did you mean 'simpy'"):
        model.run(scenario(), engine="simpi")


@pytest.mark.parametrize("faults", [Faults(), Faults(partition_fraction=0.4, heal_seconds=0.05)])
def test_votes_that_are_sorted_once_give_the_times_of_each_receiver(faults: Faults) -> None:
    case = scenario(
        nodes=40, network=named("mesh"), exchange="broadcast", vote_phases=1,
        costs=table(verify=5e-3, sign=1e-3), faults=faults, view_timeout_seconds=60.0,
    )  # fmt: skip
    draw, never = np.random.default_rng(1), rows.NEVER
    for _ in range(40):
        receivers = rows.Rows(single_view(case))
        receivers.send_block(0, 0)
        sent = draw.integers(0, 10**8, 40) // draw.integers(1, 10**7)  # often equal
        sent[draw.random(40) < 0.1] = never
        bases = np.stack([sent, np.full(40, never)])
        for verified_only in (False, True):
            arguments = bases, sent, bases[1]
            quick = receivers.compute(*arguments, verified_only=verified_only)
            out = np.full((3, 40), never, dtype=np.int64)
            apart = np.empty((0, 0), dtype=np.int64)
            rows.compute_rows(0, 40, receivers.fields, *arguments, verified_only, apart, out)
            assert np.array_equal(quick, out)
