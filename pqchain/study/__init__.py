"""One question, one page: what a chain gives and takes with each signature scheme.

    plan = pqchain.study.load("ethereum")          # a ready study, or the path of a TOML file
    found = pqchain.study.run(plan)
    found.frame                                    # every figure with its kind and its source
    pqchain.study.write(found, "study.html")

A plan describes schemes, load, blocks, network, storage and signer. `run` puts together what the
rooms know: costs of the schemes, exact bytes of the chain, the consensus model, an accelerator.
It measures nothing itself unless the plan asks for measured costs.
"""

from __future__ import annotations

from pqchain.study.model import QUANTITIES, Found, evaluate, run
from pqchain.study.plan import Plan
from pqchain.study.reading import load, ready
from pqchain.study.sensitivity import plane, tornado
from pqchain.study.sheet import conclusions, write

__all__ = [
    "QUANTITIES",
    "Found",
    "Plan",
    "conclusions",
    "evaluate",
    "load",
    "plane",
    "ready",
    "run",
    "tornado",
    "write",
]
