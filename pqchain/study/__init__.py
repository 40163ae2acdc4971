"""Model of a whole chain with each signature scheme: throughput, latency, bytes and storage.

    plan = pqchain.study.load("ethereum")          # a ready study, or the path of a TOML file
    times = pqchain.study.times(plan)              # measured, kept from earlier, or published
    findings = pqchain.study.run(plan, times)
    findings.frame                                 # every figure with its kind and its source
    findings.calibration                           # the model compared with the existing chain
    analysis = pqchain.study.analyse(findings)     # sensitivity, load
    pqchain.study.write(analysis, "study.html")
    pqchain.study.explore(plan)                    # in a notebook: sliders with live figures

A plan describes schemes, load, limits, votes, network, storage and signer. `run` evaluates it over
several network seeds and measurement passes, so that every figure has an interval.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
