"""The command line: what can be asked, and which exit code answers."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.commands import (
    consensus as consensus_commands,
)
from pqchain.commands import (
    console as commands,
)
from pqchain.commands import (
    falcon as falcon_commands,
)
from pqchain.commands import (
    reencode as reencode_commands,
)
from pqchain.commands import (
    study as study_commands,
)
from pqchain.errors import PqchainError, UsageError
from pqchain.installation import VERSION

WRONG_USE = 2
"""Exit code beside those of `pqchain.commands`; Ctrl-C ends with 130, as in shells."""

_INTERRUPTED = 128 + signal.SIGINT

PRESETS = ("quick", "paper")
"""Those of `pqchain.bench`, repeated here because importing it would slow `--help` down."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 a check failed, 2 wrong use."""
    if threading.current_thread() is not threading.main_thread():
        return _run(argv)  # Python hears signals in the main thread only
    told: list[int] = []

    def end(number: int, frame: object) -> None:
        told.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    # A SIGTERM ends a run as Ctrl-C does, so that its folders and processes are not left behind.
    before = signal.signal(signal.SIGTERM, end)
    try:
        code = _run(argv)
    finally:
        signal.signal(signal.SIGTERM, before)
    return 128 + told[0] if told and code == _INTERRUPTED else code


def _run(argv: Sequence[str] | None) -> int:
    """Run one command; whatever goes wrong becomes a line and an exit code."""
    if sys.stderr is None:  # closed by the caller; nobody listens
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        commands.talk("pqchain: stdout is closed; leave it open, or send it to /dev/null")
        return WRONG_USE
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as end:  # argparse has written its message or help
        return end.code if isinstance(end.code, int) else WRONG_USE
    except UsageError as error:
        commands.talk(f"pqchain: {error}")
        return WRONG_USE
    except PqchainError as error:
        commands.talk(f"pqchain: {error}")
        return commands.CHECK_FAILED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return commands.FINE
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        commands.talk(f"pqchain: cannot read or write{where}: {error.strerror or error}")
        return commands.CHECK_FAILED
    except MemoryError as error:
        commands.talk(f"pqchain: out of memory ({error}); ask for less at a time")
        return commands.CHECK_FAILED
    except KeyboardInterrupt:
        commands.talk("pqchain: interrupted")
        return _INTERRUPTED
    return code


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks of examples and gives every command one line."""

    def __init__(self, prog: str) -> None:
        """Leave room for the longest command and its indentation."""
        super().__init__(prog, max_help_position=16)


def _parser() -> argparse.ArgumentParser:
    """Describe the commands."""
    parser = argparse.ArgumentParser(
        prog="pqchain",
        description="Post-quantum cryptography in blockchains: measure it, and set the numbers\n"
        "of published works beside those of this machine.",
        epilog="""examples:
  pqchain doctor                        what works here, and how to mend what does not
  pqchain bench --algorithm Falcon-512  time one scheme
  pqchain papers pqdpol table4          a table as printed
  pqchain reproduce                     everything side by side, in results/index.html
  pqchain study ethereum --page a.html  what a whole chain gives and takes, on one page

exit codes: 0 fine, 1 a check failed, 2 wrong use.  Every command has --json.""",
        formatter_class=_Formatter,
    )
    parser.add_argument("--version", action="version", version=f"pqchain {VERSION}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Any, summary: str, examples: str) -> argparse.ArgumentParser:
        added = subparsers.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"examples:\n{examples}", formatter_class=_Formatter,
        )  # fmt: skip
        added.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")
        added.set_defaults(run=run)
        return added

    command(
        "doctor", commands.run_doctor,
        "say what is present, what is missing and the command that mends it",
        "  pqchain doctor\n  pqchain doctor --json | python -m json.tool",
    )  # fmt: skip

    listing = command(
        "algorithms", commands.list_algorithms,
        "list algorithms with sizes, status and implementations",
        "  pqchain algorithms --kind kem\n"
        "  pqchain algorithms --family Falcon --all\n"
        "  pqchain algorithms --implementations    who computes, and whether it runs here",
    )  # fmt: skip
    listing.add_argument("--kind", choices=("signature", "kem"), help="only these")
    listing.add_argument("--family", metavar="NAME", help="only this family, such as Falcon")
    listing.add_argument(
        "--all", action="store_true", help="also what only PQCHAIN_ALGORITHMS=all builds"
    )
    listing.add_argument(
        "--implementations", action="store_true", help="list implementations instead"
    )

    reading = command(
        "papers", commands.show_papers,
        "list the reproduced works, or show one, or one of its tables",
        "  pqchain papers\n  pqchain papers round3\n  pqchain papers pqdpol table4 --json",
    )  # fmt: skip
    reading.add_argument("key", nargs="?", metavar="KEY", help="a work, such as pqdpol")
    reading.add_argument("table", nargs="?", metavar="TABLE", help="one of its tables")
    reading.add_argument(
        "--findings", action="store_true",
        help="what of its statements holds and what does not, in Markdown; times nothing",
    )  # fmt: skip

    timing = command(
        "bench", commands.run_bench,
        "time operations on this machine",
        "  pqchain bench --algorithm Falcon-512,ML-DSA-44 --operation sign,verify\n"
        "  pqchain bench --algorithm Dilithium2 --implementation liboqs-0.13/avx2 "
        "--implementation liboqs-0.13/ref\n"
        "  pqchain bench --preset paper --output mine.csv --samples",
    )  # fmt: skip
    for option, what in (
        ("--algorithm", "names; default: every algorithm of the default build"),
        ("--operation", ", ".join(algorithms.OPERATIONS)),
        ("--implementation", "see `pqchain algorithms --implementations`"),
    ):
        timing.add_argument(
            option, action="append", metavar="NAME", help=f"repeat or separate by commas: {what}"
        )
    _add_preset(timing, "2 to 3 minutes for everything, seconds for one scheme")
    timing.add_argument(
        "--output", type=Path, metavar="FILE.csv", help="save, with its provenance in FILE.json"
    )
    timing.add_argument(
        "--samples", action="store_true", help="save every sample too, in FILE-samples.csv"
    )

    chaining = command(
        "chain", commands.run_chain,
        "measure a block: wallets, bytes, signatures, validation on several threads",
        "  pqchain chain --algorithm Falcon-512 --transactions 1000 --threads 1,2,4\n"
        "  pqchain chain --algorithm ECDSA-secp256k1+ML-DSA-44      both must sign\n"
        "  pqchain chain --algorithm Falcon-512 --public-key registered\n"
        "  pqchain chain --all --output blocks.csv",
    )  # fmt: skip
    chaining.add_argument(
        "--algorithm", action="append", metavar="NAME",
        help="a signature scheme, or several joined by +; repeat or separate by commas; "
        "default: Falcon-512",
    )  # fmt: skip
    chaining.add_argument("--all", action="store_true", help="every signature scheme, in a table")
    chaining.add_argument(
        "--transactions", type=int, default=1000, metavar="N", help="in the block; default: 1000"
    )
    chaining.add_argument(
        "--threads", action="append", metavar="N",
        help="numbers of threads to validate with; repeat or separate by commas; default: 1,2,4",
    )  # fmt: skip
    chaining.add_argument(
        "--public-key", choices=("inline", "registered", "recovered"), default="inline",
        help="where verifiers find it: in each transaction (default), in the sender's first one, "
        "or in the signature",
    )  # fmt: skip
    chaining.add_argument(
        "--data-bytes", type=int, default=0, metavar="N", help="free data in each transaction"
    )
    chaining.add_argument(
        "--implementation", metavar="NAME", help="default: the fastest that runs here"
    )
    _add_preset(chaining, "some seconds for one scheme, about 2 minutes for --all")
    chaining.add_argument(
        "--output", type=Path, metavar="FILE.csv", help="save, with its provenance in FILE.json"
    )

    reencode_commands.add(command)

    reproducing = command(
        "reproduce", commands.run_reproduce,
        "measure, compare with the published tables, write a report",
        "  pqchain reproduce\n  pqchain reproduce --preset paper --only pqdpol\n\n"
        "exits 1 only on a broken size or a failed computation, never on a timing",
    )  # fmt: skip
    _add_preset(reproducing, "2 to 3 minutes for all works on 4 idle cores")
    reproducing.add_argument(
        "--only", action="append", metavar="KEY", help="only this work; may be repeated"
    )
    reproducing.add_argument(
        "--output", type=Path, default=Path("results"), metavar="FOLDER", help="default: results"
    )
    falcon_commands.add(subparsers, _Formatter)
    consensus_commands.add(subparsers, _Formatter)
    study_commands.add(subparsers, _Formatter)
    return parser


def _add_preset(parser: argparse.ArgumentParser, quick: str) -> None:
    """Add --preset, with how long the quick one takes; without it the environment decides."""
    parser.add_argument(
        "--preset", choices=PRESETS,
        help=f"quick: {quick}; paper: numbers to quote (default: $PQCHAIN_PRESET, else quick)",
    )  # fmt: skip
