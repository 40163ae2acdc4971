"""pqchain: post-quantum cryptography in blockchains, measured, modelled and compared.

Importing this package loads nothing heavy: every name below is fetched at first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pqchain import (
        algorithms,
        bench,
        chain,
        compare,
        consensus,
        costs,
        crypto,
        errors,
        falcon,
        machine,
        papers,
        plots,
        reencode,
        report,
        results,
        study,
    )
    from pqchain.bench import measure, preset
    from pqchain.blockbench import measure_blocks
    from pqchain.crypto import open_kem, open_signer
    from pqchain.errors import PqchainError

_HOME = {
    "PqchainError": "pqchain.errors",
    "measure": "pqchain.bench",
    "measure_blocks": "pqchain.blockbench",
    "open_kem": "pqchain.crypto",
    "open_signer": "pqchain.crypto",
    "preset": "pqchain.bench",
}
"""Functions and classes offered here, and the module that each comes from."""

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
]


def __getattr__(name: str) -> Any:
    """Fetch a public name at first use."""
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in __all__:
        value = importlib.import_module(f"pqchain.{name}")
    else:
        raise AttributeError(f"module 'pqchain' has no attribute {name!r}; see pqchain.__all__")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, fetched or not."""
    return sorted({*globals(), *__all__})
