"""Everything on the page of a study that is computed beyond its figures."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pqchain.study import migration, sensitivity, sliders, validation
from pqchain.study.sampling import Findings
from pqchain.study.sliders import Grid


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """Findings with sensitivity, sliders, load, migration and published outcomes."""

    findings: Findings
    scheme: str
    """The scheme that sensitivity, sliders and migration are about."""
    tornado: pd.DataFrame
    plane: pd.DataFrame | None
    """None without a post-quantum scheme."""
    grid: Grid
    load: pd.DataFrame
    migration: pd.DataFrame | None
    """None if no account can move to the scheme."""
    outcomes: pd.DataFrame


def analyse(findings: Findings, *, output: str = "capacity_per_second") -> Analysis:
    """Evaluate the model a few hundred times, for the sensitivity of `output` and for sliders.

    The scheme is the best of the study. Raises UnknownName for a figure without a sensitivity.
    """
    sensitivity.check_output(output)
    plan, costs, best = findings.plan, findings.costs, findings.best
    scheme = best or plan.schemes[0]
    swings = sensitivity.one_at_a_time(plan, costs, scheme)
    fits = swings.base["transactions_per_block"] or not plan.baseline
    # Nothing changes a scheme of which no transaction fits: the baseline says which inputs matter.
    ranking = swings if fits else sensitivity.one_at_a_time(plan, costs, plan.baseline)
    migrates = best and findings.figures[best]["migration_seconds"].value > 0
    return Analysis(
        findings=findings,
        scheme=scheme,
        tornado=sensitivity.ranked(swings, output),
        plane=sensitivity.plane(plan, costs) if plan.post_quantum else None,
        grid=sliders.grid(plan, costs, ranking, swings.base.limit),
        load=findings.load,
        migration=migration.series(migration.of_study(findings, scheme)) if migrates else None,
        outcomes=validation.predictions(costs),
    )
