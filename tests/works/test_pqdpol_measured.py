"""Tables 5 and 6 executed: rows of runs, and verdicts on the paper's statements."""

import os
from dataclasses import replace

import numpy as np
import pytest

from pqchain.consensus.network import ServiceTimes, named
from pqchain.consensus.scenario import Scenario
from pqchain.costs import CostTable
from pqchain.delegates import modes, service_times
from pqchain.delegates.service_times import Computer
from pqchain.errors import Unsupported
from pqchain.works import papers, registry
from pqchain.works.pqdpol import judging, measured, plans, rebuilt
from tests.delegates.doubles import executed
from tests.works import studies

COSTS = papers.costs("pqdpol")
SIX = set(papers.table("pqdpol", "table5")["algorithm"])
HOLDS = "holds with this code"
SPACE = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def frames():
    return studies.runs(COSTS)


def computer(costs=COSTS):
    return Computer(service_times=ServiceTimes(), costs=costs, processors=2)


def judged(frames):
    """Return the verdicts by runs, indexed by statement and exchange."""
    claims = registry.get("pqdpol").claims(frames=frames | {"table5-6": rebuilt.tables(COSTS)})
    run = claims[claims["source"] == "run"]
    exchange = run["setting"].str.extract("exchange ([a-z-]+)", expand=False)
    return run.assign(exchange=exchange).set_index(["claim_id", "exchange"])


def run_of(latencies, transactions=1):
    scenario = next(plans.orders(COSTS, studies.PLAN))[1]
    return executed(scenario, latencies, transactions=transactions)


def test_every_cell_has_quantities_with_intervals_for_both_exchanges(frames):
    cells = judging.cells(frames["run"])
    assert set(cells["algorithm"]) == SIX
    assert set(cells["nodes"]) == {2, 4, 8}
    assert cells.groupby("exchange").size().to_dict() == {"all-to-all": 18, "broadcast": 18}
    assert (cells["heights"] == 6).all()
    for name in ("latency_seconds", "throughput_per_second", "cpu_seconds"):
        # Of six samples the interval goes from the least to the greatest, here 1 % from the median.
        share = cells[f"{name}_half_width"] / cells[name]
        assert share.to_numpy() == pytest.approx(0.01, rel=0.02)
    copies = cells[cells["exchange"] == plans.ALL_TO_ALL]
    assert (copies["messages"] == copies["nodes"] ** 2 - 1).all()
    assert (cells["prediction_error_percent"].abs() < 1).all()


def test_presets_have_at_least_ten_heights():
    for plan in plans.PLANS.values():
        orders = [(how, scenario) for _, scenario, how in plans.orders(COSTS, plan)]
        for how, scenario in orders:
            run = replace(run_of([1.0] * scenario.blocks), mode=how["mode"])
            run = replace(run, transport=how.get("transport", plans.PLAIN))
            assert len(plans.settled(run)) >= 10


def test_throughput_is_the_median_over_the_heights():
    row = measured.row("x", run_of([0.01] * 6 + [0.04], transactions=12))
    assert row["throughput_per_second"] == pytest.approx(12 / 0.01)
    assert row["throughput_per_second_half_width"] == pytest.approx(12 / 0.01 - 12 / 0.04)
    assert (row["transactions_per_block"], row["transactions_per_block_half_width"]) == (12, 0)
    few = measured.row("x", run_of([0.01] * 5, transactions=12))
    assert np.isnan(few["latency_seconds_half_width"])


def test_runs_over_different_transports_are_not_shared(monkeypatch):
    started = []

    def record(scenario, *, mode, transport=None, fork_server=None):
        started.append(transport)
        return studies.ran(scenario, computer(), mode=mode, transport=transport)

    monkeypatch.setattr(modes, "run", record)
    _, scenario, how = next(
        order for order in plans.orders(COSTS, studies.PLAN) if order[0].endswith(plans.VIRTUAL)
    )
    plain = {"mode": "virtual"}
    planned = [("over QUIC", scenario, how), ("plain", scenario, plain), ("again", scenario, how)]
    runs = measured.execute(planned, computer())
    assert started == ["native", None]
    assert [run.transport for _, run in runs] == ["native", "plain", "native"]


def test_order_and_growth_are_judged_by_runs_of_each_exchange(frames):
    run = judged(frames)
    falls = run.loc["throughput-falls-with-network"]
    assert set(falls.index) == set(plans.EXCHANGES)
    assert set(falls["verdict"]) == {HOLDS}
    assert not falls["evidence"].str.contains("n = 4").any()
    # Another machine and exchange confirm and refute nothing.
    assert set(run["verdict"]) <= {HOLDS, "not with this code", "cannot be decided here"}
    assert run["setting"].str.contains("every signature made and verified").all()
    assert run["setting"].str.contains("our choice: the paper states none").all()


def test_counted_transactions_are_judged_as_counts(frames):
    # Latencies that scatter by their own size must not blur a count.
    noisy = frames["run"].assign(
        latency_seconds_half_width=frames["run"]["latency_seconds"],
        throughput_per_second_half_width=frames["run"]["throughput_per_second"],
    )
    run = judged(frames | {"run": noisy})
    for claim in ("more-transactions-with-smaller-signatures", "sphincs-fewest-transactions"):
        assert set(run.loc[claim, "verdict"]) == {HOLDS}
    assert set(run.loc["throughput-follows-size", "verdict"]) == {"cannot be decided here"}


def test_latencies_of_a_busy_machine_decide_nothing(frames):
    run = judged(frames | {"run": frames["run"].assign(others_busy=0.5)})
    words = run.groupby(level="claim_id")["verdict"].agg(set)
    counted = ["more-transactions-with-smaller-signatures", "sphincs-fewest-transactions"]
    assert list(words[counted]) == [{HOLDS}] * 2
    assert set().union(*words.drop(counted)) == {"cannot be decided here"}
    reasons = run.drop(counted, level="claim_id")["evidence"]
    assert reasons.str.contains(f"other programs used 50{SPACE}% of the processors").all()
    idle = judged(frames | {"run": frames["run"].assign(others_busy=0.1)})
    assert list(idle["verdict"]) == list(judged(frames)["verdict"])
    copies = frames["run"][frames["run"]["exchange"] == plans.ALL_TO_ALL]
    facts = judging.facts(frames | {"run": copies.assign(others_busy=0.5)})
    assert "slowest" not in facts
    assert facts["cause"] == f"{reasons.iloc[0]}, so nothing follows"


def test_share_of_other_programs_excludes_the_delegates():
    run = replace(run_of([0.01, 0.01]), machine_busy=0.75)
    cpu = 0.01 * (os.cpu_count() or 1) / 2
    heights = tuple(replace(height, cpu_seconds=cpu) for height in run.heights)
    assert measured.others_busy(replace(run, heights=heights)) == pytest.approx(0.25)
    assert measured.others_busy(replace(run, heights=heights, machine_busy=0.3)) == 0
    assert np.isnan(measured.others_busy(run_of([0.01])))


def test_delegation_is_judged_by_the_last_delivery(frames):
    verdicts = list(judging.judge_runs(frames["run"]))
    assert [verdict.word for verdict in verdicts] == [HOLDS, HOLDS]
    assert all("from 8 to 16 nodes" in verdict.evidence for verdict in verdicts)
    few = frames["run"][frames["run"]["nodes"] < 16]
    assert {verdict.word for verdict in judging.judge_runs(few)} == {"cannot be decided here"}


@pytest.mark.parametrize("column", ["transport", "kind"])
def test_delegation_is_not_judged_over_different_transports(frames, column):
    run = frames["run"].copy()
    run.loc[run["setting"] == plans.FEW_VOTE, column] = "plain"
    verdicts = list(judging.judge_runs(run))
    assert {verdict.word for verdict in verdicts} == {"cannot be decided here"}
    assert "differ in their transport" in verdicts[0].evidence


def test_missing_size_leaves_a_statement_open(frames):
    run = judged({"run": frames["run"][frames["run"]["nodes"] < 4]})
    falls = run.xs("throughput-falls-with-network")
    assert set(falls["verdict"]) == {"cannot be decided here"}
    assert set(falls["evidence"]) == {"too few sizes were run"}


def test_runs_are_compared_with_published_cells(frames):
    both = measured.with_runs(rebuilt.tables(COSTS), frames["run"])
    assert len(both) == 30
    assert both["run_latency_seconds"].notna().sum() == 18
    assert set(both.loc[both["run_latency_seconds"].notna(), "n"]) == {1, 2, 3}
    votes = measured.with_runs(rebuilt.tables(COSTS), frames["run"], plans.BROADCAST)
    assert (votes["run_latency_seconds"] < both["run_latency_seconds"]).sum() > 9


def test_facts_equal_the_runs(frames):
    facts = judging.facts(frames)
    assert (facts["run_most"], facts["run_schemes"]) == (8, 6)
    assert "slowest" not in facts  # the exchanges disagree
    copies = frames["run"][frames["run"]["exchange"] == plans.ALL_TO_ALL]
    assert judging.facts(frames | {"run": copies})["slowest"] == "Falcon-512"
    wide = frames["run"].assign(latency_seconds_half_width=1.0)
    assert "slowest" not in judging.facts(frames | {"run": wide})
    assert facts["grows_one_all"].startswith(("1.9", "2.0"))


def test_error_of_the_law_is_over_all_predicted_runs(frames):
    run = frames["run"].copy()
    predicted = run["prediction_error_percent"].notna()
    is_one = predicted & (run["processors"] == 1)
    run["prediction_error_percent"] = run["prediction_error_percent"].where(~predicted, -5.0)
    run.loc[is_one, "prediction_error_percent"] = 17.0
    worst = run[is_one].index[-1]
    run.loc[worst, "prediction_error_percent"] = 69.0
    facts = judging.facts(frames | {"run": run})
    assert (facts["host_low"], facts["host_high"]) == (-5.0, 69.0)
    assert (facts["host_one_low"], facts["host_one_high"]) == (17.0, 69.0)
    # Settings that coincide are one run.
    assert facts["host_runs"] == run.loc[predicted, "scenario"].nunique()


def test_without_cpu_affinity_nothing_runs(monkeypatch):
    def refuse(*_, **__):
        raise Unsupported("no")

    monkeypatch.setattr(service_times, "calibrate", refuse)
    assert measured.run(COSTS, studies.PLAN) == {}


@pytest.mark.native
def test_one_cell_runs(monkeypatch):
    costs = CostTable(rows=(COSTS["Dilithium2"],), source="test")
    monkeypatch.setattr(service_times, "calibrate", lambda *_, **__: computer(costs))
    plan = replace(studies.PLAN, exponents=(1,), heights=2, computers=(), delegation=(), mixed=())
    run = measured.run(costs, plan)["run"].set_index("exchange")
    assert run["messages"].to_dict() == {"all-to-all": 3, "broadcast": 3}
    assert set(run["heights"]) == {2} and set(run["kind"]) == {"measured"}
    assert run.loc["all-to-all", "bytes"] > 3 * 45_000 > run.loc["broadcast", "bytes"]
    assert (run["latency_seconds"] > 0).all() and (run["cpu_seconds"] > 0).all()
    assert (run["predicted_latency_seconds"] > 0).all()
    assert run["others_busy"].between(0, 1).all()
    # The clock of uvloop has whole milliseconds; the sums of two heights must not.
    assert (run["latency_seconds"].mul(2e9).round() % 1e6 > 0).any()


def runs_of(exponent, sizes, *, noise=(0.0,), heights=3):
    """Return runs on one processor whose latency is a power of N, up to noise of each run."""
    runs = []
    for index, nodes in enumerate(sizes):
        scenario = Scenario(
            algorithm=plans.SINGLE, costs=COSTS, nodes=nodes, network=named("host"),
            exchange=plans.ALL_TO_ALL,
        )  # fmt: skip
        latency = 0.01 * nodes**exponent * (1 + noise[index % len(noise)])
        run = executed(scenario, [latency] * heights, cpu_seconds=lambda seconds: seconds)
        runs.append((plans.ONE, run))
    return runs


def test_growth_on_one_computer_is_quadratic(frames):
    found = frames["growth"].set_index(["setting", "exchange", "quantity"])
    one = found.loc[(plans.ONE, plans.ALL_TO_ALL, "latency")]
    assert one["exponent"] == pytest.approx(2, abs=0.15)
    assert found.loc[(plans.ONE, plans.BROADCAST, "latency"), "exponent"] < 1.5
    assert found.loc[(plans.EACH, plans.ALL_TO_ALL, "latency"), "exponent"] < 1.5
    tables = found.loc[(plans.TABLES, plans.ALL_TO_ALL, "processor time")]
    assert (tables["runs"], tables["schemes"], tables["largest"]) == (18, 6, 8)


def test_interval_of_an_exponent_is_that_of_runs_and_not_of_heights():
    noise = (0.1, -0.1, 0.05)
    few, many = (
        measured.growth(runs_of(1.5, (2, 3, 4, 6, 8), noise=noise, heights=heights))
        for heights in (3, 100)
    )
    assert list(few["half_width"]) == pytest.approx(list(many["half_width"]))
    assert few["half_width"].iloc[0] > 0.1
    assert few["exponent"].iloc[0] == pytest.approx(1.5, abs=few["half_width"].iloc[0])
    exact = measured.growth(runs_of(1.5, (2, 4, 8)))
    assert list(exact["exponent"]) == pytest.approx([1.5, 1.5])
    assert list(exact["half_width"]) == pytest.approx([0, 0], abs=1e-6)


def test_two_sizes_give_no_interval_and_one_no_exponent():
    two = measured.growth(runs_of(2.0, (2, 4)))
    assert list(two["exponent"]) == pytest.approx([2.0, 2.0])
    assert two["half_width"].isna().all()
    assert measured.growth(runs_of(2.0, (2,))).empty


def growth_of(**exponents):
    """Return a frame of exponents of latency with half-widths of 0.1."""
    cases = {"one": plans.ONE, "each": plans.EACH}
    return measured.GROWTH.frame(
        [cases[place], exchange, "latency", exponents[place][index], 0.1, 5, 1, 8]
        for place in cases
        for index, exchange in enumerate(plans.EXCHANGES)
    )


def test_cause_is_stated_only_as_far_as_the_exchanges_decide_it():
    both = judging.explain_growth(growth_of(one=(2.1, 1.6), each=(1.3, 0.5)))
    assert both == (
        "sharing one processor raises the exponent with all-to-all and broadcast, and all-to-all "
        "raises it compared with broadcast on one processor and with a computer each; the cause "
        "of the published growth remains open"
    )
    shared = judging.explain_growth(growth_of(one=(1.6, 1.6), each=(1.3, 1.5)))
    assert shared.startswith("sharing one processor raises the exponent with all-to-all;")
    none = judging.explain_growth(growth_of(one=(2.0, 1.9), each=(1.9, 1.9)))
    assert none.startswith("the intervals overlap, so neither effect is shown;")
    without = growth_of(one=(2.1, 1.6), each=(1.3, 0.5))
    unknown = judging.explain_growth(without.assign(half_width=np.nan))
    assert unknown.startswith("the intervals overlap")
    few = judging.explain_growth(without[without["exchange"] == plans.BROADCAST])
    assert "are missing" in few


def test_fit_recovers_processor_time_prices():
    price = dict(zip(measured.AMOUNTS, (3e-4, 4e-9, 6e-5, 1.25, 2e-3), strict=True))
    computer = Computer(service_times=ServiceTimes(), costs=COSTS, processors=2)
    runs = []
    for _, one, how in plans.orders(COSTS, studies.PLAN):
        if how["mode"] == "loopback":
            done = studies.ran(one, computer, **how)
            amounts = measured.amounts(one, done.final[0], COSTS)
            seconds = float(np.dot(amounts, list(price.values())))
            runs.append(replace(done, heights=(replace(done.final[0], cpu_seconds=seconds),) * 3))
    found = measured.shares(runs, COSTS).set_index("what")
    for what, value in price.items():
        for name in ("price", "price_low", "price_high"):
            assert found.loc[what, name] == pytest.approx(value, rel=1e-6)
    assert found["percent"].sum() == pytest.approx(100)
    assert list(found["percent_low"]) == pytest.approx(list(found["percent_high"]))
    assert set(found["nodes"]) == {16}
    assert measured.shares(runs[:3], COSTS).empty


def test_noise_of_the_runs_widens_the_ranges_of_shares(frames):
    rows = frames["shares"]
    assert (rows["percent_low"] <= rows["percent"]).all()
    assert (rows["percent"] <= rows["percent_high"]).all()
    assert (rows["percent_high"] > rows["percent_low"]).any()
