"""Reproduction of the published works: one measurement, frames, executed notebooks, an index.

done = pqchain.reproduce.run("results")        # all works, as `pqchain reproduce`
work = pqchain.reproduce.results("pqdpol")     # one work, as its notebook reads it
work.frames["table5-6"], work.claims, work.printed
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
