"""Published works: their printed numbers and statements, and computed numbers for comparison.

work = pqchain.works.get("pqdpol")
side_by_side = work.printed(pqchain.measure())
verdicts = work.claims()
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
