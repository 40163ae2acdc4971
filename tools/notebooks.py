"""Execute notebooks and write them with outputs: `make notebooks` (N, OUT, OTHERS)."""

import argparse
import os
import sys
import time
from pathlib import Path

import nbformat

from pqchain.reproduce import notebooks
from pqchain.works import registry

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def main() -> int:
    """Execute the chosen notebooks; return 1 if one raised an error, which is not written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of names, such as 04; default: all")
    parser.add_argument("--output", type=Path, default=FOLDER, help="default: in place")
    parser.add_argument("--others", action="store_true", help="not those of `pqchain reproduce`")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    of_works = {work.paper.notebook for work in registry.works()}
    failed = False
    for file in sorted(FOLDER.glob("*.ipynb")):
        is_chosen = not arguments.names or file.name.startswith(tuple(arguments.names))
        if not is_chosen or (arguments.others and file.stem in of_works):
            continue
        begin, notebook = time.monotonic(), notebooks.read(file)
        preset = os.environ.get("PQCHAIN_PRESET") or "quick"
        error = notebooks.execute(notebook, preset=preset)
        print(f"{time.monotonic() - begin:6.0f} s  {file.name}  {error}", flush=True)
        failed = failed or bool(error)
        if not error:
            nbformat.write(notebook, arguments.output / file.name)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
