"""Measure every scheme with preset paper and store the run for notebooks and pages."""

from __future__ import annotations

import sys

import pqchain as pq
from pqchain.bench import stored
from pqchain.errors import DataError


def main() -> None:
    """Measure, and store the run under the identifier of this machine unless it was busy."""
    print(
        "Every scheme in every implementation, preset paper: 12 to 25 minutes on an idle machine."
    )
    measured = pq.measure(preset="paper", progress=sys.stderr.isatty())
    try:
        print(stored.save(measured))
    except DataError as error:
        sys.exit(f"make measurements: {error}")


if __name__ == "__main__":
    main()
