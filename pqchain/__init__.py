"""pqchain: post-quantum cryptography in blockchains, measured, modelled and compared.

Importing this package loads nothing heavy: every name below is fetched at first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pqchain import installation

__version__ = installation.VERSION

if TYPE_CHECKING:
    from pqchain import (
        algorithms,
        bench,
        chain,
        consensus,
        costs,
        crypto,
        errors,
        falcon,
        machine,
        plots,
        reencode,
        report,
        results,
        study,
        works,
    )
    from pqchain.bench import measure, measure_blocks, preset
    from pqchain.crypto import open_kem, open_signer
    from pqchain.errors import PqchainError
    from pqchain.works import compare, papers

_HOME = {
    "PqchainError": "pqchain.errors",
    "compare": "pqchain.works",
    "measure": "pqchain.bench",
    "measure_blocks": "pqchain.bench",
    "open_kem": "pqchain.crypto",
    "open_signer": "pqchain.crypto",
    "papers": "pqchain.works",
    "preset": "pqchain.bench",
}
"""What is offered here, and the room that each comes from."""

__all__ = [
    "PqchainError",
    "__version__",
    "algorithms",
    "bench",
    "chain",
    "compare",
    "consensus",
    "costs",
    "crypto",
    "errors",
    "falcon",
    "machine",
    "measure",
    "measure_blocks",
    "open_kem",
    "open_signer",
    "papers",
    "plots",
    "preset",
    "reencode",
    "report",
    "results",
    "study",
    "works",
]


def __getattr__(name: str) -> Any:
    """Fetch a public name at first use."""
    if name in _HOME:
        home = importlib.import_module(_HOME[name])
        value = getattr(home, name)
    elif name in __all__:
        value = importlib.import_module(f"pqchain.{name}")
    else:
        raise AttributeError(f"module 'pqchain' has no attribute {name!r}; see pqchain.__all__")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, fetched or not."""
    return sorted({*globals(), *__all__})
