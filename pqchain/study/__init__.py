"""One plan, one page: throughput, latency, bandwidth and storage of a chain by signature scheme.

    plan = pqchain.study.load("ethereum")          # a ready study, or the path of a TOML file
    findings = pqchain.study.run(plan)
    findings.frame                                 # every figure with its kind and its source
    findings.calibration                           # the model against the chain of today
    pqchain.study.write(findings, "study.html")
    pqchain.study.explore(plan)                    # in a notebook: sliders, figures that follow

A plan describes schemes, load, limits, votes, network, storage and signer. `run` puts together
what the rooms know: costs of the schemes, exact bytes of the chain, the consensus model, an
accelerator; over several seeds and passes of measurement, so that every figure has an interval.
It measures nothing itself unless the plan asks for measured costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import late
from pqchain.study.ready import ready

if TYPE_CHECKING:
    from pqchain.study.answer import conclusions
    from pqchain.study.explorer import Explorer, explore
    from pqchain.study.findings import Findings, run
    from pqchain.study.model import evaluate
    from pqchain.study.page import write
    from pqchain.study.plan import Plan
    from pqchain.study.quantities import QUANTITIES
    from pqchain.study.reading import load
    from pqchain.study.sensitivity import plane, tornado

__all__ = [
    "QUANTITIES",
    "Explorer",
    "Findings",
    "Plan",
    "conclusions",
    "evaluate",
    "explore",
    "load",
    "plane",
    "ready",
    "run",
    "tornado",
    "write",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "answer": "conclusions",
        "explorer": "Explorer explore",
        "findings": "Findings run",
        "model": "evaluate",
        "page": "write",
        "plan": "Plan",
        "quantities": "QUANTITIES",
        "reading": "load",
        "sensitivity": "plane tornado",
    },
)
