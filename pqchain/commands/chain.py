"""`pqchain chain`: measured blocks, one in words, several in a table."""

from __future__ import annotations

import argparse
from typing import get_args

from pqchain.chain.encoding import KeyMode
from pqchain.commands import console
from pqchain.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.epilog = """examples:
  pqchain chain --algorithm Falcon-512 --transactions 1000 --threads 1,2,4
  pqchain chain --algorithm ECDSA-secp256k1+ML-DSA-44      both must sign
  pqchain chain --algorithm Falcon-512 --public-key registered
  pqchain chain --all --output blocks.csv"""
    console.add_json(parser)
    repeat = "repeat or separate by commas; default"
    schemes = f"a signature scheme, or several joined by +; {repeat}: Falcon-512"
    console.add_names(parser, "NAME", algorithm=schemes)
    console.add_flags(parser, all="every signature scheme, in a table")
    console.add_options(parser, "N", int, transactions="in the block; default: 1000")
    meaning = f"numbers of threads to validate with; {repeat}: 1,2,4"
    parser.add_argument(
        "--threads", action="extend", type=_whole_numbers, metavar="N", help=meaning
    )
    meaning = (
        "where verifiers find it: in each transaction (default), in the sender's first one, "
        "or in the signature"
    )
    parser.add_argument("--public-key", choices=get_args(KeyMode), help=meaning)
    console.add_options(parser, "N", int, data_bytes="free data in each transaction")
    parser.set_defaults(transactions=1000, public_key="inline", data_bytes=0)
    console.add_options(parser, "NAME", implementation="default: the fastest that runs here")
    console.add_measuring_preset(parser, "some seconds for one scheme, about 2 minutes for --all")
    console.add_output(parser)


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(name) for name in console.names(text)]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected whole numbers, as 1,2,4") from None


def run(arguments: argparse.Namespace) -> int:
    """Measure blocks and show them."""
    from pqchain.bench import blocks, presets, tables

    names: list[str] | None = arguments.algorithm
    if arguments.all and names is not None:
        raise UsageError(f"--all and --algorithm {','.join(names)} exclude each other; give one")
    console.check_output(arguments.output)
    measured = blocks.measure_blocks(
        None if arguments.all else names or ["Falcon-512"],
        transactions=arguments.transactions,
        threads=arguments.threads or [1, 2, 4],
        public_key=arguments.public_key,
        implementation=arguments.implementation,
        data_bytes=arguments.data_bytes,
        preset=arguments.preset or presets.preset(),
        progress=console.watched(),
    )
    measured.attrs.pop("rounds", None)
    console.save(measured, arguments.output)
    alone = measured["algorithm"].nunique() == 1
    shown = "\n".join(tables.lines(measured)) if alone else tables.block_table(measured)
    return console.measured(arguments, "blocks", measured, shown)
