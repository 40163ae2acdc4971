"""Executed runs with chosen times."""

from __future__ import annotations

import numpy as np

from pqchain.consensus.builder import ModelBlock
from pqchain.consensus.network import SECOND
from pqchain.consensus.runs import Height, Run


def executed(scenario, latencies, *, mode="loopback", transactions=1, **quantities):
    """A run whose heights follow each other and take `latencies`.

    `quantities` are functions of the latency, by field of a height.
    """
    heights, now = [], 0
    for number, seconds in enumerate(latencies):
        ended = now + round(seconds * SECOND)
        block = ModelBlock(
            height=number, starts_ns=now, transactions=transactions, size_bytes=0,
            appeared_ns=float(now),
        )  # fmt: skip
        height = Height(
            block=block,
            ended_ns=ended,
            final_ns=np.full(scenario.delegate_count, ended),
            blocks=frozenset(),
            views=1,
            **{name: value(seconds) for name, value in quantities.items()},
        )
        heights.append(height)
        now = ended
    return Run(scenario=scenario, heights=tuple(heights), mode=mode, transport="native")
