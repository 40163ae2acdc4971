"""Growth of latency with the number of nodes, and shares of processor time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pqchain.consensus.network import ServiceTimes, named
from pqchain.consensus.scenario import Scenario
from pqchain.delegates.service_times import Computer
from pqchain.works import papers
from pqchain.works.pqdpol import judging, measured, plans
from tests.delegates.doubles import executed
from tests.works import studies

COSTS = papers.costs("pqdpol")


@pytest.fixture(scope="module")
def frames():
    return studies.runs(COSTS)


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
