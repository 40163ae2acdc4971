"""Tables 5 and 6 executed: results of runs, and verdicts on the paper's statements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pqchain.consensus.network import ServiceTimes
from pqchain.costs import CostTable
from pqchain.delegates import service_times
from pqchain.delegates.service_times import Computer
from pqchain.errors import Unsupported
from pqchain.works import papers, registry
from pqchain.works.pqdpol import judging, measured, rebuilt
from tests.works import studies

COSTS = papers.costs("pqdpol")
SIX = set(papers.table("pqdpol", "table5")["algorithm"])


@pytest.fixture(scope="module")
def frames():
    return studies.runs(COSTS)


def test_every_cell_has_five_quantities_with_intervals(frames):
    cells = judging.cells(frames["run"])
    assert set(cells["algorithm"]) == SIX
    assert set(cells["nodes"]) == {2, 4, 8}
    assert (cells["heights"] == 3).all()
    for name in ("latency_seconds", "throughput_per_second", "cpu_seconds"):
        # Student's t of two degrees of freedom on samples 1 % apart.
        share = cells[f"{name}_half_width"] / cells[name]
        assert share.to_numpy() == pytest.approx(4.303 * 0.01 / np.sqrt(3), rel=0.01)
    assert (cells["messages"] == cells["nodes"] ** 2 - 1).all()
    assert (cells["prediction_error_percent"].abs() < 1).all()


def test_growth_on_one_computer_is_quadratic(frames):
    found = frames["growth"].set_index(["setting", "quantity"])
    one = found.loc[(measured.ONE, "latency")]
    assert one["exponent"] == pytest.approx(2, abs=0.15)
    assert found.loc[(measured.EACH, "latency"), "exponent"] < 1.5
    assert found.loc[(measured.TABLES, "processor time"), "cells"] == 18
    assert 0 < one["half_width"] < 0.2


def test_fit_recovers_processor_time_prices():
    price = dict(zip(measured.AMOUNTS, (3e-4, 4e-9, 6e-5, 1.25, 2e-3), strict=True))
    computer = Computer(service_times=ServiceTimes(), costs=COSTS, processors=2)
    runs = []
    for _, one, how in measured._orders(COSTS, studies.PLAN):
        if how["mode"] == "loopback":
            done = studies.ran(one, "loopback", computer)
            amounts = measured.amounts(one, done.final[0], COSTS)
            seconds = float(np.dot(amounts, list(price.values())))
            runs.append(replace(done, heights=(replace(done.final[0], cpu_seconds=seconds),) * 3))
    found = measured.shares(runs, COSTS).set_index("what")
    for what, value in price.items():
        assert found.loc[what, "price"] == pytest.approx(value, rel=1e-6)
        assert found.loc[what, "half_width"] < 1e-6 * value
    assert found["percent"].sum() == pytest.approx(100)
    assert measured.shares(runs[:3], COSTS).empty


def test_order_and_growth_are_judged_by_runs(frames):
    claims = registry.get("pqdpol").claims(frames=frames | {"table5-6": rebuilt.tables(COSTS)})
    run = claims[claims["source"] == "run"].set_index("claim_id")
    assert run.loc["throughput-falls-with-network", "verdict"] == "holds on this machine"
    assert "n = 4" not in run.loc["throughput-falls-with-network", "evidence"]
    # Another machine confirms and refutes nothing.
    assert set(run["verdict"]) <= {
        "holds on this machine", "not on this machine", "cannot be decided here",
    }  # fmt: skip
    assert "every signature made and verified" in run["setting"].iloc[0]
    assert "delegation-softens-the-fall" in run.index


def test_delegation_is_judged_by_the_last_delivery(frames):
    verdict = judging.judge_runs(frames["run"])
    assert verdict.word == "holds on this machine"
    assert "from 8 to 16 nodes" in verdict.evidence
    few = frames["run"][frames["run"]["nodes"] < 16]
    assert judging.judge_runs(few).word == "cannot be decided here"


def test_missing_size_leaves_a_statement_open(frames):
    run = frames["run"][frames["run"]["nodes"] < 4]
    claims = registry.get("pqdpol").claims(
        frames={"table5-6": rebuilt.tables(COSTS)} | {"run": run}
    )
    own = claims[claims["source"] == "run"].set_index("claim_id")
    assert own.loc["throughput-falls-with-network", "verdict"] == "cannot be decided here"
    assert own.loc["throughput-falls-with-network", "evidence"] == "too few sizes were run"


def test_runs_are_compared_with_published_cells(frames):
    both = measured.with_runs(rebuilt.tables(COSTS), frames["run"])
    assert len(both) == 30
    assert both["run_latency_seconds"].notna().sum() == 18
    assert set(both.loc[both["run_latency_seconds"].notna(), "n"]) == {1, 2, 3}


def test_facts_equal_the_runs(frames):
    facts = judging.facts(frames)
    assert facts["host_worst"] < 1
    assert (facts["run_nodes"], facts["slowest"]) == (8, "Falcon-512")
    wide = frames["run"].assign(latency_seconds_half_width=1.0)
    assert "slowest" not in judging.facts(frames | {"run": wide})
    assert facts["grows_one"].startswith(("1.9", "2.0"))
    assert facts["cause"].startswith("so the cause is that one computer")
    slow = frames["growth"].assign(exponent=2.0)
    facts = judging.facts(frames | {"growth": slow})
    assert facts["cause"] == "which does not decide the cause of the growth"


def test_without_cpu_affinity_nothing_runs(monkeypatch):
    def refuse(*_, **__):
        raise Unsupported("no")

    monkeypatch.setattr(service_times, "calibrate", refuse)
    assert measured.run(COSTS, studies.PLAN) == {}


@pytest.mark.native
def test_one_cell_runs(monkeypatch):
    costs = CostTable(rows=(COSTS["Dilithium2"],), source="test")
    computer = Computer(service_times=ServiceTimes(), costs=costs, processors=1)
    monkeypatch.setattr(service_times, "calibrate", lambda *_, **__: computer)
    plan = replace(studies.PLAN, exponents=(1,), heights=2, computers=(), delegation=(), mixed=())
    run = measured.run(costs, plan)["run"]
    assert len(run) == 1
    row = run.iloc[0]
    assert (row["messages"], row["heights"], row["kind"]) == (3, 2, "measured")
    assert row["bytes"] > 3 * 45_000
    assert row["latency_seconds"] > 0 and row["cpu_seconds"] > 0
    assert row["predicted_latency_seconds"] > 0
