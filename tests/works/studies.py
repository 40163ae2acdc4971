"""Small landscapes, so that a test of the report does not model a million nodes."""

from __future__ import annotations

import pytest

from pqchain.consensus import landscape


def small(patch: pytest.MonkeyPatch) -> None:
    """Let the report's study end at 64 nodes."""
    laws, contest = landscape.laws, landscape.contest

    def few_nodes(costs, *, progress=False):
        return laws(costs, exponents=(1, 3, 6), everybody=3, seeds=(0,), progress=progress)

    def few_contests(costs, *, algorithms, exponents, progress=False):
        return contest(
            costs, algorithms=algorithms, exponents=(2, 4), rates=(1e7, 1e10),
            capacities=(50_000,), loads=(30,), progress=progress,
        )  # fmt: skip

    patch.setattr(landscape, "laws", few_nodes)
    patch.setattr(landscape, "contest", few_contests)
