"""Changes to a Dask worker, which imports this module first: what $PQCHAIN_TEST_WORKER says."""

from __future__ import annotations

import os
import sys
import time
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

KIND = os.environ.get("PQCHAIN_TEST_WORKER", "")


class _Missing(MetaPathFinder):
    """Import nothing of one package, as if it were not installed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname.partition(".")[0] == self._name:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


if KIND.startswith("without:"):
    sys.meta_path.insert(0, _Missing(KIND.partition(":")[2]))
elif KIND == "version":
    from pqchain.wire.drivers import cluster_worker

    cluster_worker.VERSION = "0.0.9"
elif KIND == "libraries":
    from pqchain import installation

    nowhere = (Path("/nonexistent"),)
    installation.folders = lambda: nowhere  # type: ignore[assignment,return-value]
elif KIND == "clock":
    # The whole worker's clock would break Dask's own timers.
    from types import SimpleNamespace

    from pqchain.wire.drivers import cluster_worker

    cluster_worker.time = SimpleNamespace(time=lambda: time.time() + 300)  # type: ignore[assignment]
elif KIND.startswith("hostile:"):
    from pqchain import scheduler
    from pqchain.wire.drivers.cluster_worker import WorkerNodes

    PATH = KIND.partition(":")[2]

    class _Pickled:
        def __reduce__(self) -> Any:
            return (Path.touch, (Path(PATH),))

    async def _names(self: Any, index: int) -> list[str]:
        return [PATH]

    as_json = scheduler.as_json
    scheduler.as_json = lambda function, *arguments: (  # type: ignore[assignment]
        _Pickled() if function.__name__ == "run_batch" else as_json(function, *arguments)
    )
    WorkerNodes.file_names = _names  # type: ignore[method-assign]
