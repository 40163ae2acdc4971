"""Measure blocks: wallets, sizes, signing and validation on several threads."""

from __future__ import annotations

from typing import Annotated, Any

from pqchain import algorithms
from pqchain.chain.encoding import KeyMode
from pqchain.commands import console, values


def chain(
    *,
    algorithm: values.Names = (),
    scheme: values.Schemes = (),
    transactions: values.Whole = 1000,
    threads: values.Integers = (1, 2, 4),
    key_mode: Annotated[KeyMode, values.CHOICE] = "inline",
    data_bytes: values.Whole = 0,
    implementation: str | None = None,
    preset: values.Preset | None = None,
    resume: bool = False,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Measure blocks: wallets, sizes, signing and validation on several threads.

    One scheme is shown as text, several as a table. The preset quick takes some seconds for one
    scheme and about 2 minutes for all.

    Args:
        algorithm: signature schemes; several joined by + all sign; all: every scheme;
            default: Falcon-512
        transactions: number of transactions in the block
        threads: numbers of validation threads
        key_mode: public key inline in each transaction, registered by the sender's first
            transaction, or recovered from the signature; default: inline
        data_bytes: payload bytes in each transaction
        implementation: default: the fastest that runs here
        resume: go on with the last run of the same command, which was interrupted

    Examples:
      pqchain chain --algorithm Falcon-512 --transactions 1000 --threads 1,2,4
      pqchain chain --algorithm ECDSA-secp256k1+ML-DSA-44      both must sign
      pqchain chain --algorithm Falcon-512 --key-mode registered
      pqchain chain --scheme ./libmine.so
      pqchain chain --algorithm all --output blocks.csv
    """
    wants_all = [name.casefold() for name in algorithm] == ["all"]
    added = console.register_schemes(scheme)
    # Unknown names are rejected before the slower imports.
    for name in () if wants_all else algorithm:
        algorithms.split_hybrid(name)
    from pqchain.bench import blocks, tables

    names = None if wants_all else [*algorithm, *added] or ["Falcon-512"]
    settings: dict[str, Any] = {"transactions": transactions, "threads": list(threads)}
    settings |= {"key_mode": key_mode, "implementation": implementation, "data_bytes": data_bytes}
    asked: dict[str, Any] = {"preset": preset, "scheme": scheme, "resume": resume}
    asked["algorithm"] = algorithm
    with console.resumable("chain", **asked, **settings) as options:
        # The warnings are shown with the table, and in --json.
        frame = blocks.measure_blocks(names, **settings, **options, warn=False)
        frame.attrs.pop("rounds", None)
        console.save(frame, output)
    # LaTeX and Markdown are for tables, also of a single algorithm.
    is_single = frame["algorithm"].nunique() == 1 and not (form.latex or form.markdown)
    shown = tables.block_summary(frame) if is_single else tables.block_table(frame)
    return console.show_measurements(form, "blocks", frame, shown)
