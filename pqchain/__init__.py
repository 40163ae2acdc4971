"""pqchain: post-quantum cryptography in blockchains, measured, modelled and compared.

Measure: `measure`, `measure_blocks`, `machine`, `bench`. Sign: `open_signer`, `open_kem`,
`crypto`, `falcon`, `chain`. Model: `study`, `whatif`, `consensus`, `delegates`, `engines`,
`reencode`. Compare with works: `papers`, `works`, `report`. Schemes: `algorithms`, `schemes`,
`register`, `costs`. Files, figures and tables: `results`, `plots`, `show`, `sentence`. Verifiers:
`conform`.

Importing this package is fast: every name of `__all__` is imported at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain import installation

__version__ = installation.VERSION

# For type checkers only; at run time `lazy_exports` imports each name at first use.
if TYPE_CHECKING:
    from pqchain import (
        algorithms,
        bench,
        chain,
        conform,
        consensus,
        costs,
        crypto,
        delegates,
        engines,
        errors,
        falcon,
        machine,
        plots,
        reencode,
        report,
        results,
        schemes,
        study,
        works,
    )
    from pqchain.bench import header, measure, measure_blocks, preset
    from pqchain.costs import Costs
    from pqchain.crypto import open_kem, open_signer
    from pqchain.errors import PqchainError
    from pqchain.render import sentence, show
    from pqchain.schemes import register
    from pqchain.study import whatif
    from pqchain.works import papers

__all__ = [
    "Costs", "PqchainError", "__version__", "algorithms", "bench", "chain", "conform",
    "consensus", "costs", "crypto", "delegates", "engines", "errors", "falcon", "header",
    "machine", "measure", "measure_blocks", "open_kem", "open_signer", "papers", "plots",
    "preset", "reencode", "register", "report", "results", "schemes", "sentence", "show", "study",
    "whatif", "works",
]  # fmt: skip

_MODULES = (
    "algorithms chain conform consensus delegates engines falcon machine plots reencode report "
    "results"
)

__getattr__, __dir__ = installation.lazy_exports(
    __name__,
    {
        **dict.fromkeys(_MODULES.split(), ""),
        "bench": "header measure measure_blocks preset",
        "costs": "Costs",
        "crypto": "open_kem open_signer",
        "errors": "PqchainError",
        "render": "sentence show",
        "schemes": "register",
        "study": "whatif",
        "works": "papers",
    },
)
