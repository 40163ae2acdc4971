"""Draws of a study: the figures of a plan with one network seed and one table of costs each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from tqdm import tqdm

from pqchain.costs import CostTable
from pqchain.errors import DataError
from pqchain.figures import Figure
from pqchain.scheduler import run_tasks
from pqchain.study.figures import QUANTITIES, models
from pqchain.study.inputs import Plan


@dataclass(frozen=True, slots=True)
class Draw:
    """Result of one scheme in one draw."""

    figures: Mapping[str, Figure]
    limit: str
    """The limit that binds."""


def draw(plan: Plan, number: int, costs: CostTable) -> dict[str, Draw]:
    """Return the results of each scheme; the number seeds the network."""
    return {
        algorithm: Draw({name: model.figure(name) for name in QUANTITIES}, model.limit)
        for algorithm, model in models(plan, costs, seed=number).items()
    }


def draws(
    plan: Plan,
    tables: Iterable[CostTable],
    *,
    scheduler: str | None = None,
    progress: bool = False,
) -> list[dict[str, Draw]]:
    """Return a draw for each table of costs, on the workers of a Dask `scheduler` if there is one.

    Equal arguments give equal draws, wherever they are computed.
    """
    tasks = list(enumerate(tables))
    results: Iterable[tuple[int, dict[str, Draw]]]
    if scheduler is None:
        results = ((number, draw(plan, number, costs)) for number, costs in tasks)
    else:
        check = partial(_check_complete, plan)
        results = run_tasks(draw, tasks, address=scheduler, shared=(plan,), check=check)
    by_number = dict(tqdm(results, total=len(tasks), disable=not progress, unit="draw"))
    return [by_number[number] for number, _ in tasks]


def _check_complete(plan: Plan, task: tuple[int, CostTable], drawn: Mapping[str, Draw]) -> None:
    names = {tuple(result.figures) for result in drawn.values()}
    if list(drawn) != list(models(plan, task[1])) or names != {tuple(QUANTITIES)}:
        raise DataError("every scheme must have every figure")
