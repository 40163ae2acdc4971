"""The works, in the order of the report. The only module that names those with a computation."""

from __future__ import annotations

from pqchain.works import papers
from pqchain.works.falcon_hls.work import FalconHls
from pqchain.works.mini_blockchain.work import MiniBlockchain
from pqchain.works.pqdpol.work import PqDpol
from pqchain.works.quic_reencoding.work import QuicReencoding
from pqchain.works.round3.work import Round3
from pqchain.works.work import Work

_COMPUTED = {each.key: each for each in (FalconHls, MiniBlockchain, PqDpol, QuicReencoding, Round3)}


def get(key: str) -> Work:
    """Return a work; one without a computation is only data. Raises UnknownPaper."""
    source = papers.paper(key)
    return _COMPUTED.get(source.key, Work)(source.folder)


def works() -> list[Work]:
    """Return all works, in the order of the report: most reproduced first."""
    return sorted(map(get, papers.keys()), key=lambda work: (work.paper.place, work.key))
