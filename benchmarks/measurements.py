"""Measure every scheme with preset paper and store the run for notebooks and pages."""

from __future__ import annotations

import sys

import pqchain as pq
from pqchain.bench import stored


def main() -> None:
    """Measure, and store the run under the identifier of this machine."""
    print(
        "Every scheme in every implementation, preset paper: 12 to 25 minutes on an idle machine."
    )
    measured = pq.measure(preset="paper", progress=sys.stderr.isatty())
    folder = stored.folder() / measured.attrs["provenance"]["machine_id"]
    folder.mkdir(parents=True, exist_ok=True)
    print(pq.results.save(measured, folder / stored.FILE))


if __name__ == "__main__":
    main()
