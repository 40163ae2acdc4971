"""Time operations and blocks on this machine, and price verifications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.chain.encoding import KeyMode
from pqchain.commands import console, values
from pqchain.errors import UsageError

if TYPE_CHECKING:
    from pqchain.bench.verification import Client


def bench(
    *,
    algorithm: values.Names = (),
    operation: values.Names = (),
    implementation: values.Names = (),
    scheme: values.Schemes = (),
    proofs: values.Names = (),
    preset: values.Preset | None = None,
    append: values.TableFile | None = None,
    submit: Path | None = None,
    resume: bool = False,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Time cryptographic operations on this machine.

    The preset quick takes 2 to 3 minutes for everything, and seconds for one scheme; paper gives
    numbers for publication.

    Args:
        algorithm: default: every algorithm of the default build
        operation: generate_keypair, sign, verify, encapsulate, decapsulate; default: all; also
            decode_key, the part of verify that keeping a key decoded saves
        implementation: see `pqchain algorithms --implementations`; default: all
        proofs: instead of operations, measure proofs of so many leanXMSS signatures, or merged
            ones (2x64), by py-lean-pq; signing takes a third of a second each
        append: append the run, with date and commit, to a history, which `pqchain compare`
            compares or plots over time
        submit: measure everything with preset paper and write FOLDER/MACHINE for
            data/measurements; refused on a busy machine or with uncommitted changes
        resume: use what was measured here in the last 30 days, such as by an interrupted run

    Examples:
      pqchain bench --algorithm Falcon-512,ML-DSA-44 --operation sign,verify
      pqchain bench --scheme ./libmine.so                       time your own code
      pqchain bench --proofs 16,64,256,2x64                     proofs that aggregate signatures
      pqchain bench --append history.csv                        history for `pqchain compare`
      pqchain bench --submit data/measurements                  for a pull request
    """
    asked = {
        "algorithm": algorithm, "operation": operation, "implementation": implementation,
        "scheme": scheme,
    }  # fmt: skip
    if proofs:
        others = {"append": append, "resume": resume, "submit": submit}
        _exclude("--proofs cannot be combined with", {**asked, **others})
        from pqchain.bench import proofs as proving
        from pqchain.bench import tables

        frame = proving.measure_proofs(proving.parse_sizes(proofs))
        console.save(frame, output)
        return console.show_measurements(form, "proofs", frame, tables.proof_table(frame))
    names = console.algorithm_names(algorithm, console.register_schemes(scheme)) or None
    # Imported after the names are checked, so that a wrong name is rejected quickly.
    from pqchain import results
    from pqchain.bench import operations, runs, stored, tables

    if submit is not None:
        _exclude("--submit measures everything; leave out", asked)
        stored.check_submission(submit, preset or "paper")
        preset = "paper"
    if output and output.is_file() and runs.is_history(results.load(output)):
        raise UsageError(f"{output} is a history; use --append, or name a new file")
    with console.resumable(preset=preset, resume=resume) as options:
        measurements = operations.measure(
            names,
            list(operation) or None,
            list(implementation) or None,
            warn=False,  # shown with the table, and in --json
            **options,
        )
        console.save(measurements, output)
        if submit is not None:
            console.print_stderr(f"Saved: {stored.save(measurements, submit).parent}")
        if append is not None:
            runs.append(measurements, append)
            console.print_stderr(f"Added to: {append}")
    table = tables.operation_table(measurements)
    return console.show_measurements(form, "measurements", measurements, table)


def _exclude(message: str, options: dict[str, Any]) -> None:
    if named := [f"--{name}" for name, value in options.items() if value]:
        raise UsageError(f"{message} {', '.join(named)}; leave those out")


def chain(
    *,
    algorithm: values.Names = (),
    scheme: values.Schemes = (),
    transactions: values.Whole = 1000,
    threads: values.Integers = (1, 2, 4),
    key_mode: KeyMode = "inline",
    implementation: str | None = None,
    preset: values.Preset | None = None,
    resume: bool = False,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Measure blocks: wallets, sizes, signing and validation on several threads.

    The preset quick takes some seconds for one scheme and about 2 minutes for all.

    Args:
        algorithm: signature schemes; several joined by + all sign; all: every scheme;
            default: Falcon-512
        transactions: number of transactions in the block
        threads: numbers of validation threads
        key_mode: public key inline in each transaction, registered by the sender's first
            transaction, or recovered from the signature
        implementation: default: the fastest that runs here
        resume: use what was measured here in the last 30 days, such as by an interrupted run

    Examples:
      pqchain chain --algorithm Falcon-512 --transactions 1000 --threads 1,2,4
      pqchain chain --algorithm ECDSA-secp256k1+ML-DSA-44      both must sign
      pqchain chain --algorithm Falcon-512 --key-mode registered
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
    settings |= {"key_mode": key_mode, "implementation": implementation}
    with console.resumable(preset=preset, resume=resume) as options:
        # The warnings are shown with the table, and in --json.
        frame = blocks.measure_blocks(names, **settings, **options, warn=False)
        frame.attrs.pop("rounds", None)
        console.save(frame, output)
    return console.show_measurements(form, "blocks", frame, tables.block_table(frame))


def gas(
    *,
    algorithm: values.Names = (),
    scheme: values.Schemes = (),
    verifier: values.Names = (),
    witness: bool = False,
    rounds: values.Whole = 15,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Price a signature verification in gas, energy or compute units of chains.

    The units are EVM gas, NEAR gas, Solana compute units, TRON energy and Stellar instructions; the
    verifiers are those of pqchain and those of clients of chains (`pqchain conform build`). Each
    unit has an anchor, a verification that the chain prices today: ecrecover or Ed25519. Both are
    timed in the same rounds, so that a price does not depend on the speed of the machine.

    Args:
        algorithm: signature schemes; default: ECDSA-P256, ML-DSA-44, ML-DSA-65, Falcon-512,
            Falcon-1024, SLH-DSA-SHA2-128s
        verifier: verifiers of `pqchain conform list` to time in addition to that of pqchain;
            default: circl, ml-dsa (RustCrypto), aws-lc-rs, fips204, Bouncy Castle,
            pqcrypto-falcon, fn-dsa (original Falcon), noble
        witness: instead of prices, verification time per byte of witness (P2MR, BIP-360) relative
            to Schnorr of libsecp256k1, for every implementation
        rounds: number of timing rounds, 2 to 1000

    Examples:
      pqchain gas
      pqchain gas --algorithm ML-DSA-44,Falcon-512 --verifier circl,"Bouncy Castle"
      pqchain gas --scheme "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms,anchor=0.1ms"
      pqchain gas --witness                  time per byte of witness, relative to Schnorr

    A given time is of another machine: anchor= is the time of ecrecover there, without which it has
    no price. A verifier that is not built is a row with the remedy, not an error.
    """
    added = console.register_schemes(scheme)
    names = console.algorithm_names(algorithm, added)
    if witness:
        if verifier:
            raise UsageError("--witness cannot be combined with --verifier")
        from pqchain.bench import tables
        from pqchain.bench import witness as witnesses

        frame = witnesses.measure_witness(
            names if algorithm else [*witnesses.ALGORITHMS, *names],
            rounds=rounds,
            progress=console.is_interactive(),
        )
        console.save(frame, output)
        return console.show_measurements(form, "witness", frame, tables.witness_table(frame))
    # Imported after the names are checked, so that a wrong name is rejected quickly.
    from pqchain.bench import gas as prices
    from pqchain.bench import gas_units
    from pqchain.bench.tables import gas_tables

    frame = prices.measure_gas(
        names if algorithm else [*prices.ALGORITHMS, *names],
        clients=_clients(verifier),
        rounds=rounds,
        progress=console.is_interactive(),
        warn=False,  # shown with the table, and in --json
    )
    console.save(frame, output)
    notes = ["`pqchain engine run revm` prices the same verifiers as precompiles of an EVM."]
    if not entry_points(group="pqchain.verifiers"):
        notes.append(str(console.not_installed("conform", "verifiers of other projects")))
    units = [asdict(unit) for unit in gas_units.units().values()]
    more: dict[str, Any] = {"units": units, "statements": gas_units.statements()}
    shown = gas_tables(frame, notes)
    return console.show_measurements(form, "gas", frame, *shown, **more)


def _clients(names: Sequence[str]) -> list[Client]:
    """Return the named verifiers of other projects, by default those of clients of chains.

    They come from the entry-point group "pqchain.verifiers". Without it there are none, and names
    are a UsageError.
    """
    points = entry_points(group="pqchain.verifiers")
    if not points and names:
        raise console.not_installed("conform", "verifiers of other projects")
    return [client for point in points for client in point.load()(list(names) or None)]
