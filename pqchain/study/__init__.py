"""One plan, one page: throughput, latency, bandwidth and storage of a chain by signature scheme.

    plan = pqchain.study.load("ethereum")          # a ready study, or the path of a TOML file
    findings = pqchain.study.run(plan)
    findings.frame                                 # every figure with its kind and its source
    pqchain.study.write(findings, "study.html")

A plan describes schemes, load, blocks, network, storage and signer. `run` puts together what the
rooms know: costs of the schemes, exact bytes of the chain, the consensus model, an accelerator.
It measures nothing itself unless the plan asks for measured costs.
"""

from __future__ import annotations

from pqchain.study.model import Findings, evaluate, run
from pqchain.study.plan import Plan
from pqchain.study.quantities import QUANTITIES
from pqchain.study.reading import load, ready
from pqchain.study.sensitivity import plane, tornado
from pqchain.study.sheet import conclusions, write

__all__ = [
    "QUANTITIES",
    "Findings",
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
