"""The published works in the order of the report. Only this module names the packages of works."""

from __future__ import annotations

from pqchain.works import papers
from pqchain.works.falcon_hls.work import FalconHls
from pqchain.works.mini_blockchain.work import MiniBlockchain
from pqchain.works.pqdpol.work import PqDpol
from pqchain.works.quic_reencoding.work import QuicReencoding
from pqchain.works.round3.work import Round3
from pqchain.works.work import Work

_COMPUTED = {work.key: work for work in (FalconHls, MiniBlockchain, PqDpol, QuicReencoding, Round3)}


def get(key: str) -> Work:
    """Return a work by its key. Raises UnknownPaper."""
    # A folder without a package is a complete work: its tables and statements are data.
    source = papers.paper(key)
    return _COMPUTED.get(source.key, Work)(source.folder)


def works() -> list[Work]:
    """Return all works in the order of the report; those that are reproduced most come first."""
    return sorted(map(get, papers.keys()), key=lambda work: (work.paper.place, work.key))
