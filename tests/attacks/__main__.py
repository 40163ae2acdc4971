"""Run every attack with many inputs, and write a table of the outcomes.

python -m tests.attacks                      all attacks, into docs/robustness.md
python -m tests.attacks --only ledger        attacks whose surface or name contains the word
python -m tests.attacks --inputs 1000        number of inputs per attack
python -m tests.attacks --seed 2             different inputs

Each attack runs in a separate process, because its memory is measured. Rows of attacks that were
not run are kept. The exit code is 1 if an outcome is not permitted.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.attacks.harness import ALLOWED, Tally
from tests.attacks.registry import ATTACKS, run_listed

TABLE = Path(__file__).resolve().parents[2] / "docs" / "robustness.md"

_OUTCOMES = ("inputs", "fine", "refused", "unfinished", "defects", "memory (MB)")
_HEADINGS = ("surface", "attack", *_OUTCOMES)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the attacks that the command line selects."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", default="", help="text that the surface or the name must contain")
    parser.add_argument("--inputs", type=int, help="number of inputs per attack")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=TABLE)
    arguments = parser.parse_args(argv)
    failed = 0
    for index, attack in enumerate(ATTACKS):
        if arguments.only not in f"{attack.surface}, {attack.name}":
            continue
        began = time.monotonic()
        inputs = arguments.inputs or attack.large
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            tally = pool.submit(run_listed, index, inputs, arguments.seed).result()
        failed += tally.failed
        outcomes = ", ".join(f"{count} {outcome.value}" for outcome, count in tally.counts.items())
        seconds = time.monotonic() - began
        title = f"{attack.surface}, {attack.name}: {outcomes} ({seconds:.0f} s)"
        print(title, *tally.defects, sep="\n    ", flush=True)  # noqa: T201 - the result
        _write(arguments.output, attack.surface, attack.name, tally)
    return 1 if failed else 0


def _write(path: Path, surface: str, name: str, tally: Tally) -> None:
    """Replace the row of one attack in the table."""
    rows = _rows(path)
    known = [f"{attack.surface}, {attack.name}" for attack in ATTACKS]
    counts = [tally.counts[outcome] for outcome in ALLOWED]
    cells = (tally.inputs, *counts, tally.failed)
    texts = [f"{cell:,}" for cell in cells] + [f"{tally.memory_mb:.0f}"]
    rows[f"{surface}, {name}"] = f"| {surface} | {name} | {' | '.join(texts)} |"
    table = [f"| {' | '.join(_HEADINGS)} |", f"|---|---|{'---:|' * (len(_HEADINGS) - 2)}"]
    table += [rows[key] for key in known if key in rows]
    introduction = TABLE.read_text(encoding="utf-8").partition("| surface |")[0]
    path.write_text(introduction + "\n".join(table) + "\n", encoding="utf-8")


def _rows(path: Path) -> dict[str, str]:
    """Return the existing rows by surface and name."""
    if not path.exists():
        return {}
    rows = path.read_text(encoding="utf-8").splitlines()
    rows = [line for line in rows if line.startswith("| ") and not line.startswith("| surface |")]
    return {", ".join(line[2:].split(" | ")[:2]): line for line in rows}


if __name__ == "__main__":
    sys.exit(main())
