"""Changes to a Dask worker, which imports this module first: what $PQCHAIN_TEST_WORKER says."""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

KIND, _, VALUE = os.environ.get("PQCHAIN_TEST_WORKER", "").partition(":")

if KIND == "without":
    # Import nothing of a package, as if it were not installed.
    sys.modules[VALUE] = None  # type: ignore[assignment]
elif KIND == "clock":
    from pqchain.wire.drivers import cluster

    # The whole worker's clock would break Dask's own timers.
    cluster.time = SimpleNamespace(time=lambda: time.time() + 300)  # type: ignore[assignment]
elif KIND == "hostile":
    from pqchain import scheduler
    from pqchain.wire.drivers.cluster import WorkerNode

    class _Pickled:
        def __reduce__(self) -> Any:
            return (Path.touch, (Path(VALUE),))

    async def _files(self: Any) -> dict[str, bytes]:
        return {VALUE: b""}

    as_json = scheduler.as_json
    scheduler.as_json = lambda function, *arguments: (  # type: ignore[assignment]
        _Pickled() if function.__name__ == "run_batch" else as_json(function, *arguments)
    )
    WorkerNode.files = _files  # type: ignore[method-assign]
