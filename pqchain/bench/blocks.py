"""Benchmark of whole blocks: key generation, signing, sizes, and validation by several threads.

In the block one account pays another many times. Wallets and signatures are timed one by one
through Python, whose call adds a few microseconds; validation is timed as a whole. Rounds alternate
between the thread counts, so that a drift of the machine's speed affects all of them alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pqchain import algorithms as registry
from pqchain import crypto, installation
from pqchain.algorithms import GIVEN
from pqchain.bench import presets, variation
from pqchain.bench.presets import BlockPreset, PresetName
from pqchain.bench.rounds import code_on_machine
from pqchain.bench.timing import median_and_mad, name_list, repeated, timed, with_bar
from pqchain.chain.block import Block, transactions_root
from pqchain.chain.encoding import KEY_MODES, KeyMode, signature_schemes
from pqchain.chain.state import BlockRejected, Reason, Rules, State
from pqchain.chain.transaction import Transaction
from pqchain.chain.verification import Verifier
from pqchain.chain.wallet import Wallet
from pqchain.checks import integer, one_of
from pqchain.crypto import Signer, isolation
from pqchain.crypto.native import plain_loop
from pqchain.errors import PqchainError, Unsupported, UsageError
from pqchain.results import Contract, machine
from pqchain.results.kept import KeptValues
from pqchain.results.measurements import user_scheme_provenance

BLOCK = Contract.of(
    "block",
    ("str", "algorithm implementation key_mode"),
    ("Int64", "threads transactions public_key_bytes"),
    ("float64", "signature_bytes"),
    ("Int64", "block_bytes"),
    ("float64", "transaction_bytes"),
    ("Int64", "wallets"),
    ("float64", "wallet_median_seconds wallet_mad_seconds sign_median_seconds sign_mad_seconds"),
    ("Int64", "rounds"),
    (
        "float64",
        "verify_median_seconds verify_mad_seconds loop_median_seconds apply_median_seconds "
        "apply_mad_seconds hash_median_seconds",
    ),
    ("str", "apply_code valid tampered previous_hash block_hash status reason"),
)

_MIN_ROUNDS = 3

Rounds = dict[int, list[dict[str, float]]]
"""Seconds of each part of each round, by number of threads."""


def measure_blocks(
    algorithms: Iterable[str] | str | None = None,
    *,
    transactions: int = 1000,
    threads: Sequence[int] | int = (1, 2, 4),
    key_mode: KeyMode = "inline",
    implementation: str | None = None,
    preset: PresetName | None = None,
    progress: bool = False,
    fresh: bool = True,
    warn: bool = True,
) -> pd.DataFrame:
    """Measure one block per scheme; the default is every signature scheme of the default build.

    A name such as "ECDSA-secp256k1+ML-DSA-44" is a hybrid: both sign. `key_mode` is that
    of the transactions; with "recovered", schemes without key recovery are unsupported. A scheme
    that is given by numbers has real sizes and no times. `implementation` is by default the first
    of the registry that runs here, and `preset` that of PQCHAIN_PRESET, else "quick". Duplicate
    schemes and thread counts are measured once. Blocks are kept as rounds are by `measure`, and not
    measured again unless `fresh`. `warn` states a busy machine, as `measure` does.

    Returns a frame, one row per scheme and number of threads: algorithm, implementation,
    key_mode, threads, transactions (in the block), public_key_bytes, signature_bytes
    (mean), block_bytes, transaction_bytes (block_bytes / transactions), wallets (number timed),
    wallet_median_seconds and _mad_ (one key pair and its address), sign_median_seconds and _mad_
    (one transaction), rounds (validations), verify_median_seconds and _mad_ (all signatures),
    loop_median_seconds (the same signatures in a plain C loop on one thread; NaN outside the native
    libraries and for hybrids), apply_median_seconds and _mad_ (from the bytes of the block to
    the new state: decoding, hashes, balances, signatures), hash_median_seconds (the transactions
    root, part of apply), apply_code ("C", or "Python" for small blocks, hybrids, keys that are not
    inline, schemes outside the native libraries, and without the block library), valid ("yes" or
    the reason), tampered (reason for rejecting the block with one bit of the first signature
    flipped), previous_hash, block_hash, status, reason.
    `attrs["provenance"]` describes machine and run, `attrs["rounds"]` is a frame of all rounds.

    Raises UnknownAlgorithm, UnknownImplementation and UsageError. A scheme that cannot run here
    has rows with the reason.
    """
    integer("transactions", transactions, least=1, most=1_000_000)
    one_of("key_mode", key_mode, KEY_MODES)
    preset = preset or presets.preset()
    presets.named(preset)
    counts = _thread_counts(threads)
    if implementation is not None:
        registry.implementation(implementation)
    requested = name_list(algorithms, "algorithm") or registry.names("signature")
    cases = list(dict.fromkeys(map(registry.split_hybrid, requested)))
    for names in cases:
        signature_schemes(names)
    # The load of other programs: at the end it would contain that of the validating threads.
    conditions = machine.provenance()
    # Also the arguments of a child process, so of types that JSON has.
    case: dict[str, Any] = {
        "transactions": transactions, "threads": counts, "key_mode": key_mode,
        "preset": preset,
    }  # fmt: skip
    kept = KeptValues(fresh=fresh)
    rows: list[dict[str, Any]] = []
    round_rows: list[dict[str, Any]] = []
    for names in with_bar(cases, "+".join, unit="scheme", show=progress):
        facts: dict[str, Any] = {name: "" for name, kind in BLOCK.columns.items() if kind == "str"}
        facts |= {"algorithm": "+".join(names), "key_mode": key_mode, "status": "ok"}
        rounds: Rounds = {}
        try:
            signers = [_signer(name, implementation) for name in names]
            facts["implementation"] = "+".join(dict.fromkeys(row.implementation for row in signers))
            figures, rounds = _kept_or_measured(signers, case, kept)
            facts |= figures
        except PqchainError as error:
            # With recovered keys, a scheme without recovery raises UsageError: one row, not the end
            # of the run.
            if isinstance(error, UsageError) and key_mode != "recovered":
                raise
            is_unsupported = isinstance(error, (Unsupported, UsageError))
            facts |= {"status": "unsupported" if is_unsupported else "failed", "reason": str(error)}
        for count in counts:
            times = rounds.get(count, [])
            row = facts | {"threads": count}
            for part in times[0] if times else ():
                row |= _summary(part, [seconds[part] for seconds in times]) | {"rounds": len(times)}
            rows.append(row)
            key = {"algorithm": row["algorithm"], "threads": count}
            round_rows += [key | {"round": i} | seconds for i, seconds in enumerate(times)]
    frame = BLOCK.frame(rows)
    frame.attrs["provenance"] = {
        **conditions,
        "native": installation.loaded_libraries(),
        "preset": preset,
        "transactions": transactions,
        **user_scheme_provenance(registry.get(name) for names in cases for name in names),
    }
    frame.attrs["rounds"] = pd.DataFrame(round_rows)
    if warn:
        variation.announce(frame)
    return frame


def _remedy(signers: Sequence[Signer]) -> str:
    """Return what to do about a wrong verdict: the user checks the code of the user."""
    users = [registry.implementation(row.implementation) for row in signers if row.algorithm.source]
    commands = [f"Test it by `{row.check_command}`." for row in users if row.check_command]
    return next(iter(commands), "Correct its verify()." if users else "Run `make test`.")


def _thread_counts(threads: Sequence[int] | int) -> list[int]:
    counts = [threads] if isinstance(threads, int) else threads
    if not isinstance(counts, Iterable) or isinstance(counts, str) or not (counts := list(counts)):
        raise UsageError(f"threads must be numbers from 1 to 1024, such as 1,2,4; got {threads!r}")
    for count in counts:
        integer("threads", count, least=1, most=1024)
    return list(dict.fromkeys(counts))


def _signer(name: str, implementation: str | None) -> Signer:
    if implementation is None:
        candidates = registry.get(name).implementations
        implementation = next((row for row in candidates if not crypto.obstacle(row)), None)
    return crypto.open_signer(name, implementation)  # raises the reason if none runs


def _kept_or_measured(
    signers: Sequence[Signer], case: dict[str, Any], kept: KeptValues
) -> tuple[dict[str, Any], Rounds]:
    """Return what `_measure` returns, kept or from a child process if a signer is user code."""
    used = {signer.algorithm.name: signer.implementation for signer in signers}
    codes = list(map(code_on_machine, dict.fromkeys(used.values())))
    stored = f"block {'+'.join(used)} {codes} {case}"
    measured = kept.get(stored) if all(codes) else None
    locations = [registry.implementation(name).location for name in used.values()]
    if measured is None and any(locations):
        limits = presets.named(case["preset"]).blocks
        seconds = limits.wallet_seconds + limits.sign_seconds + limits.validate_seconds
        measured = isolation.call(
            "pqchain.bench.blocks:measured_case",
            locations=list(dict.fromkeys(filter(None, locations))),
            limit_seconds=seconds + isolation.run_limit_seconds(), implementations=used, **case,
        )  # fmt: skip
    elif measured is None:
        measured = _measure(signers, **case)
        if all(codes):
            kept.put(stored, measured)
    figures, rounds = measured
    return figures, {int(count): times for count, times in rounds.items()}  # JSON has texts


def measured_case(implementations: Mapping[str, str], **case: Any) -> tuple[dict[str, Any], Rounds]:
    """Measure one block with user code in the child process; return block facts and round times."""
    signers = [crypto.open_signer(*pair) for pair in implementations.items()]
    return _measure(signers, **case)


def _measure(
    signers: Sequence[Signer],
    transactions: int,
    threads: Sequence[int],
    key_mode: KeyMode,
    preset: PresetName,
) -> tuple[dict[str, Any], Rounds]:
    """Build and validate a block; return facts about it, and round times by number of threads."""
    limits = presets.named(preset).blocks
    chosen = {signer.algorithm.name: signer.implementation for signer in signers}
    wallet = partial(Wallet, tuple(chosen), key_mode=key_mode, signers=signers)
    alice, bob = wallet(), wallet()
    wallet_times = list(repeated(wallet, limits.wallets, limits.wallet_seconds))
    payments: list[Transaction] = []

    def pay() -> None:
        payments.append(alice.transfer(bob.address, 1, nonce=len(payments)))

    sign_times = list(repeated(pay, transactions, limits.sign_seconds))
    # Limits that no block reaches, so that any number of transactions can be measured.
    state = State.genesis({alice.address: 2**40}, Rules(limit_bytes=2**40, sealed=False))
    block = state.propose(payments, proposer=bob.address, timestamp=0)
    data = block.encode()
    signatures = [sum(len(row.signature) for row in paid.credentials) for paid in payments]
    figures = {
        "transactions": len(payments),
        "public_key_bytes": sum(len(key) for _, key in alice.keys),
        "signature_bytes": float(np.mean(signatures)),
        "block_bytes": len(data),
        "transaction_bytes": len(data) / len(payments),
        "wallets": len(wallet_times),
        "previous_hash": block.header.previous.hex(),
        "block_hash": block.hash().hex(),
    }
    sources = [row.algorithm.source for row in signers if row.implementation == GIVEN]
    if not sources:
        figures |= _summary("wallet", wallet_times) | _summary("sign", sign_times)
    if len(payments) < transactions:
        made = f"{len(payments)} of {transactions} transactions"
        figures["reason"] = f"signing took longer than {limits.sign_seconds:g} s: {made}"
    verifiers = {count: Verifier(threads=count, implementations=chosen) for count in threads}
    first = verifiers[threads[0]]
    # Times of a verifier that accepts anything would be worthless.
    valid = _verdict(state, data, first)
    tampered = _verdict(state, _tampered(state, block).encode(), first)
    if valid != "yes" or tampered != Reason.BAD_SIGNATURE.value:
        raise PqchainError(
            f"results of validating a valid and a tampered block must be 'yes' and "
            f"{Reason.BAD_SIGNATURE.value!r}; got {valid!r} and {tampered!r}. {_remedy(signers)}"
        )
    figures |= {"valid": valid, "tampered": tampered}
    if sources:
        reason = f"{'; '.join(sources)}; sizes only, with hashes instead of signatures"
        return figures | {"reason": reason}, {}
    figures["apply_code"] = "Python" if state._in_bulk(data, first) is None else "C"
    return figures, _rounds(signers, state, block, verifiers, limits)


def _rounds(
    signers: Sequence[Signer],
    state: State,
    block: Block,
    verifiers: dict[int, Verifier],
    limits: BlockPreset,
) -> Rounds:
    data = block.encode()
    checks = state.checks(block)
    keys = [check.public_key for check in checks if check.public_key is not None]
    loop = None
    if len(signers) == 1 and len(keys) == len(checks):
        signed = [check.message for check in checks], [check.signature for check in checks]
        loop = plain_loop(signers[0], *signed, keys)
    rounds: Rounds = {count: [] for count in verifiers}
    spent = 0.0
    for index in range(limits.rounds):
        if index >= _MIN_ROUNDS and spent > limits.validate_seconds:
            break
        # In every round, so that the plain loop is compared with validations of the same moment.
        bare = float("nan") if loop is None else timed(loop)[0]
        for count, verifier in verifiers.items():
            verify, _ = timed(verifier.wrong, checks)
            hashing, _ = timed(partial(transactions_root, block.transactions, threads=count))
            whole_block, _ = timed(partial(state.apply, data, verifier=verifier))
            seconds = {"loop": bare, "verify": verify, "hash": hashing, "apply": whole_block}
            rounds[count].append(seconds)
            spent += verify + hashing + whole_block
    return rounds


def _verdict(state: State, data: bytes, verifier: Verifier) -> str:
    try:
        state.apply(data, verifier=verifier)
    except BlockRejected as error:
        return error.reason.value
    return "yes"


def _tampered(state: State, block: Block) -> Block:
    """Return the block with one bit of the first signature flipped and its hashes recomputed."""
    first, *others = block.transactions
    damaged, *rest = first.credentials
    flipped = bytearray(damaged.signature)
    flipped[len(flipped) // 2] ^= 1
    credentials = (replace(damaged, signature=bytes(flipped)), *rest)
    return state.propose(
        [Transaction(first.payment, credentials), *others],
        proposer=block.header.proposer,
        timestamp=block.header.timestamp,
    )


def _summary(part: str, seconds: Sequence[float]) -> dict[str, float]:
    median, deviation = median_and_mad(seconds)
    return {f"{part}_median_seconds": median, f"{part}_mad_seconds": deviation}
