"""Small landscapes and runs, so that a test of the report neither models a million nodes nor starts
a process.
"""

from dataclasses import replace

import pytest

from pqchain.consensus import landscape, model
from pqchain.consensus.network import ServiceTimes
from pqchain.delegates.plain_network import PLAIN
from pqchain.delegates.service_times import Computer
from pqchain.works.pqdpol import measured, plans
from tests.delegates.doubles import executed

PLAN = plans.RunPlan(
    exponents=(1, 2, 3), heights=6, computers=(2, 4, 8), delegation=(8, 16), voters=8,
    mixed=(("Dilithium2", 2), ("Falcon-512", 4)),
)  # fmt: skip


def ran(one, computer, *, mode, transport=None):
    """Return a run with the predicted times, slightly later each time."""
    hosted = computer.hosts(one) if mode == "loopback" else one
    same = {"exchange": one.exchange, "vote_phases": one.vote_phases}
    seconds = model.run(hosted.with_(blocks=1, **same)).latency_seconds
    watched = one.nodes - one.delegate_count
    transport = transport or (PLAIN if mode == "virtual" else "native")
    is_slow_start = mode == "virtual" and transport != PLAIN
    late = [3.0] * plans.WARM_UP * is_slow_start + [1.0, 1.01, 0.99] * 2
    run = executed(
        one, [seconds * factor for factor in late], mode=mode,
        transactions=int(one.transactions_per_block()),
        spread_seconds=lambda latency: latency * (1 + 0.2 * watched / one.nodes),
        sent_messages=lambda _: one.messages(),
        sent_bytes=lambda _: one.messages() * (one.block_bytes + 16),
        cpu_seconds=lambda latency: 2 * latency if mode == "loopback" else float("nan"),
    )  # fmt: skip
    return replace(run, transport=transport)


def runs(costs, plan=None, *, progress=False):
    """Replace `measured.run`."""
    computer = Computer(service_times=ServiceTimes(), costs=costs, processors=2)
    done = [
        (setting, computer.predicted(ran(one, computer, **how)))
        for setting, one, how in plans.orders(costs, PLAN)
    ]
    return measured.frames(done, costs)


def small(patch: pytest.MonkeyPatch) -> None:
    """Limit the report's models to 64 nodes and skip runs."""
    laws, contest = landscape.laws, landscape.contest

    def few_nodes(costs, *, progress=False):
        return laws(costs, exponents=(1, 3, 6), all_vote_exponent=3, seeds=(0,), progress=progress)

    def few_contests(costs, *, algorithms, exponents, progress=False):
        return contest(
            costs, algorithms=algorithms, exponents=(2, 4), rates=(1e7, 1e10),
            capacities=(50_000,), loads=(30,), progress=progress,
        )  # fmt: skip

    patch.setattr(landscape, "laws", few_nodes)
    patch.setattr(landscape, "contest", few_contests)
    patch.setattr(measured, "run", runs)
