"""Measure how long `import pqchain` and the help of commands take, in new processes.

Exit code 1 if a median exceeds its bound.
"""

from __future__ import annotations

import subprocess
import sys
import time

from harness import spread, table

CASES = {
    "python -c 'import pqchain'": (["-c", "import pqchain"], 0.1),
    "pqchain --help": (["-m", "pqchain", "--help"], 0.3),
    "pqchain bench --help": (["-m", "pqchain", "bench", "--help"], 0.45),
    "pqchain reencode --help": (["-m", "pqchain", "reencode", "--help"], 0.45),
    "pqchain consensus --help": (["-m", "pqchain", "consensus", "--help"], 0.45),
}
"""Arguments of Python and the bound of the median in seconds, by command."""


def main() -> int:
    """Measure and print; return the exit code."""
    rows, good = [], True
    for name, (arguments, bound) in CASES.items():
        seconds = []
        for _ in range(11):
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
        low, middle, high = spread(seconds[1:])
        good = good and middle < bound
        rows.append([name, f"{middle:.3f}", f"{low:.3f}", f"{high:.3f}", f"{bound:.2f}"])
    print(table(["whole process, seconds", "median", "least", "greatest", "bound"], rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
