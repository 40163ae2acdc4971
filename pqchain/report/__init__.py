"""Report on all published works, reproduced in one run and written as HTML pages and files."""

from __future__ import annotations

from pqchain.report.reproduction import reproduce
from pqchain.report.run import Reproduction

__all__ = ["Reproduction", "reproduce"]


def __dir__() -> list[str]:
    return __all__
