from . import (
    algorithms as algorithms,
    bench as bench,
    chain as chain,
    consensus as consensus,
    costs as costs,
    crypto as crypto,
    delegates as delegates,
    errors as errors,
    falcon as falcon,
    plots as plots,
    reencode as reencode,
    reproduce as reproduce,
    results as results,
    schemes as schemes,
    study as study,
    works as works,
)
from .bench import (
    header as header,
    measure as measure,
    measure_blocks as measure_blocks,
    preset as preset,
)
from .costs import Costs as Costs
from .crypto import open_kem as open_kem, open_signer as open_signer
from .errors import PqchainError as PqchainError
from .render import sentence as sentence, show as show
from .results import machine as machine
from .schemes import register as register
from .study import whatif as whatif
from .works import papers as papers

__version__: str
