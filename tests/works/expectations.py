"""Expected contents of each work, from `tests/works/expected`."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPECTED = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "expected").glob("*.toml"))
}

KEYS = list(EXPECTED)
EVERY_TABLE = [(key, name) for key in KEYS for name in EXPECTED[key]["tables"]]
