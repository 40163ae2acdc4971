"""The report: all works in one run, one folder and one page."""

from __future__ import annotations

from pqchain.report.reproduction import reproduce
from pqchain.report.run import Reproduction

__all__ = ["Reproduction", "reproduce"]
