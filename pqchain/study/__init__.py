"""Model of a whole chain with each signature scheme: throughput, latency, bytes and storage.

    plan = pqchain.study.load("ethereum")          # a ready study, or the path of a TOML file
    findings = pqchain.study.run(plan)
    findings.frame                                 # every figure with its kind and its source
    findings.calibration                           # the model compared with the existing chain
    analysis = pqchain.study.analyse(findings)     # sensitivity, published outcomes
    pqchain.study.write(analysis, "study.html")
    pqchain.study.explore(plan)                    # in a notebook: sliders with live figures

A plan describes schemes, load, limits, votes, network, storage and signer. `run` evaluates it over
several network seeds and measurement passes, so that every figure has an interval. It
measures only if the plan asks for measured costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain import installation
from pqchain.errors import UnknownName
from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.study.analysis import Analysis, analyse
    from pqchain.study.answer import Answer, whatif
    from pqchain.study.certificate import CERTIFICATES, certificates
    from pqchain.study.comparison import cost_on_chains
    from pqchain.study.explorer import Explorer, explore
    from pqchain.study.figures import QUANTITIES, evaluate
    from pqchain.study.inputs import Plan
    from pqchain.study.page import write
    from pqchain.study.reading import load
    from pqchain.study.sampling import Findings, run
    from pqchain.study.sensitivity import plane, tornado
    from pqchain.study.text import conclusions

__all__ = [
    "CERTIFICATES",
    "QUANTITIES",
    "READY",
    "Analysis",
    "Answer",
    "Explorer",
    "Findings",
    "Plan",
    "analyse",
    "certificates",
    "conclusions",
    "cost_on_chains",
    "evaluate",
    "explore",
    "load",
    "plane",
    "ready",
    "run",
    "titles",
    "tornado",
    "whatif",
    "write",
]

READY = tuple(sorted(path.stem for path in installation.data("chains").glob("*.toml")))
"""Studies that come with the package: the files of data/chains."""


OTHER_NAMES = {"bsc": "bnb", "cosmos": "cometbft"}
"""Other names of chains that have a plan."""


def ready(name: str) -> str:
    """Return the TOML text of a study that pqchain includes. Raises UnknownName."""
    folded = name.casefold() if isinstance(name, str) else name
    folded = OTHER_NAMES.get(folded, folded)
    if folded not in READY:
        raise UnknownName("ready study", name, READY, f"the ready studies {', '.join(READY)}.")
    return (installation.data("chains") / f"{folded}.toml").read_text(encoding="utf-8")


def titles() -> dict[str, str]:
    """Return the title of each study that pqchain includes, by name."""
    return {name: str(installation.parse_toml(ready(name))["title"]) for name in READY}


__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "analysis": "Analysis analyse",
        "answer": "Answer whatif",
        "certificate": "CERTIFICATES certificates",
        "comparison": "cost_on_chains",
        "explorer": "Explorer explore",
        "figures": "QUANTITIES evaluate",
        "inputs": "Plan",
        "page": "write",
        "reading": "load",
        "sampling": "Findings run",
        "sensitivity": "plane tornado",
        "text": "conclusions",
    },
)
