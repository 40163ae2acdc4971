"""Price a signature verification in gas, energy or compute units of chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from pqchain.commands import console, values
from pqchain.errors import UsageError

if TYPE_CHECKING:
    from pqchain.bench.verification import Client


def gas(
    *,
    algorithm: values.Names = (),
    scheme: values.Schemes = (),
    verifier: values.Names = (),
    witness: bool = False,
    anchor_gas: values.Number | None = None,
    rounds: values.Whole = 15,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Price a signature verification in gas, energy or compute units of chains.

    The units are EVM gas, NEAR gas, Solana compute units, TRON energy and Stellar instructions; the
    verifiers are those of pqchain and those that clients of chains run (`pqchain conform build`
    builds them). Each unit has an anchor, a verification that the chain prices today: ecrecover or
    Ed25519. Verifiers and anchors are timed in the same rounds, so that a price does not depend on
    the speed of the machine.

    Args:
        algorithm: signature schemes; default: ECDSA-P256, ML-DSA-44, ML-DSA-65, Falcon-512,
            Falcon-1024, SLH-DSA-SHA2-128s
        verifier: verifiers of `pqchain conform list` to time in addition to that of pqchain;
            default: circl, ml-dsa (RustCrypto), aws-lc-rs, fips204, Bouncy Castle,
            pqcrypto-falcon, fn-dsa (original Falcon), noble
        witness: instead of prices, verification time per byte of witness (P2MR, BIP-360) relative
            to Schnorr of libsecp256k1, for every implementation
        anchor_gas: EVM gas of ecrecover; default: 3000, the price in force
        rounds: number of timing rounds, 2 to 1000

    Examples:
      pqchain gas
      pqchain gas --algorithm ML-DSA-44,Falcon-512 --verifier circl,"Bouncy Castle"
      pqchain gas --scheme "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms,anchor=0.1ms"
      pqchain gas --witness                  time per byte of witness, relative to Schnorr
      pqchain gas --json

    A given time is of another machine: anchor= is the time of ecrecover there, without which it has
    no price. A verifier that is not built is a row with the remedy, not an error.
    """
    added = console.register_schemes(scheme)
    names = console.algorithm_names(algorithm, added)
    if witness:
        if verifier or anchor_gas is not None:
            raise UsageError("--witness cannot be combined with --verifier or --anchor-gas")
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
    from pqchain.bench.gas_tables import gas_tables

    frame = prices.measure_gas(
        names if algorithm else [*prices.ALGORITHMS, *names],
        clients=_clients(verifier),
        anchor_gas=anchor_gas,
        rounds=rounds,
        progress=console.is_interactive(),
        warn=False,  # shown with the table, and in --json
    )
    console.save(frame, output)
    check = prices.check_anchor(frame)
    notes = ["`pqchain engine run revm` prices the same verifiers as precompiles of an EVM."]
    if not entry_points(group="pqchain.verifiers"):
        notes.append(str(console.not_installed("conform", "verifiers of other projects")))
    units = [asdict(unit) for unit in gas_units.units().values()]
    more = {"units": units, "statements": gas_units.statements(), "anchor": check}
    shown = gas_tables(frame, notes)
    return console.show_measurements(form, "gas", frame, *shown, remarks=[check], **more)


def _clients(names: Sequence[str]) -> list[Client]:
    """Return the named verifiers of other projects, by default those of clients of chains.

    They come from the entry-point group "pqchain.verifiers". Without it there are none, and names
    are a UsageError.
    """
    points = entry_points(group="pqchain.verifiers")
    if not points and names:
        raise console.not_installed("conform", "verifiers of other projects")
    return [client for point in points for client in point.load()(list(names) or None)]
