"""Exact operation counts, the documented model, and Table 3."""

import random
from array import array
from dataclasses import replace

import pytest

from hls_kernels.tools.nist_drbg import NistDrbg
from pqchain import algorithms
from pqchain.crypto import native
from pqchain.errors import UsageError
from pqchain.falcon import FalconSigner, kernel, model
from pqchain.works import papers


def census(algorithm, secret_key, nonce, message, seed):
    """Return the operation counts of one signature."""
    counts, logn = array("Q", [0] * 74), kernel.check_degree(int(algorithm.name[7:]))
    with kernel.request_of(
        algorithm, secret_key=secret_key, nonce=nonce, message=message
    ) as request:
        kernel.seed_request(request, seed, 0, logn)
        library = native.library(kernel.IMPLEMENTATION)
        assert library.call("falcon_census", request, memoryview(counts), logn) == kernel.SIGNED
    return list(counts)


@pytest.mark.native
@pytest.mark.parametrize("degree", [512, 1024])
def test_operation_counts_equal_the_signer(degree: int) -> None:
    width = len(model.OPERATIONS)
    for rng in map(random.Random, range(5)):
        signer = FalconSigner(degree, "kernel", random_bytes=NistDrbg(rng.randbytes(48)))
        _, secret_key = signer.generate_keypair()
        given = (secret_key, rng.randbytes(40), rng.randbytes(33), rng.randbytes(48))
        *steps, samples, attempts, octets, blocks = census(signer.algorithm, *given)
        counted = [steps[at : at + width] for at in range(0, 70, width)]
        assert counted == model.operations(degree, attempts).astype(int).to_numpy().tolist()
        assert samples == 2 * degree
        assert samples < attempts < 2 * samples
        assert attempts <= octets < attempts * 1.05
        assert blocks % 8 == 0


@pytest.mark.parametrize(
    ("engine", "degree", "cycles"),
    [
        (model.ENGINES[0], 512, 684_719), (model.ENGINES[0], 1024, 1_424_204),
        (model.ENGINES[1], 512, 838_319), (model.ENGINES[1], 1024, 1_766_732),
        (model.ENGINES[2], 512, 2_050_944), (model.ENGINES[2], 1024, 4_471_954),
        (model.ENGINES[3], 512, 3_639_894), (model.ENGINES[3], 1024, 7_986_109),
    ],
)  # fmt: skip
def test_cycles_equal_the_hand_calculation(engine, degree, cycles, monkeypatch):
    """Calculated by hand with mean attempts of 200 signatures of one key and rounded counts."""
    monkeypatch.setattr(model, "MEAN_ATTEMPTS", {512: 1779.7, 1024: 3499.6})
    assert sum(model.engine_cycles(degree, engine).values()) == pytest.approx(cycles, rel=1e-5)


def test_table_3_is_reproduced_within_bounds() -> None:
    table = model.rebuild_table3()
    seconds = {(row.algorithm, row.row): row.seconds for row in table.itertuples()}
    published = papers.published("falcon-hls")
    published = published[published["quantity"] == "sign_seconds"]
    accelerated = published[published["implementation"] == "cortex-m4+artix-7"]
    for row in accelerated.itertuples():
        assert 0.85 < seconds[row.algorithm, model.split_row(model.SERIAL)] / row.value < 1.15
    for degree, cycles in model.PQM4_CYCLES.items():
        name = f"Falcon-{degree}"
        assert seconds[name, model.ALONE] * model.CLOCK_HZ == pytest.approx(cycles)
        ratio = seconds[name, model.ALONE] / seconds[name, model.ALONE_UNCALIBRATED]
        assert ratio == pytest.approx(model.CYCLES_PER_INSTRUCTION, rel=1e-3)
    assert (table["assumptions"].str.len() > 20).all()
    assert set(table["kind"]) == {"cited", "estimated", "modelled"}


def test_better_engines_are_never_slower() -> None:
    for degree in (512, 1024):
        base = sum(model.engine_cycles(degree, model.PIPELINED).values())
        for change in (
            {"adders": 2}, {"multipliers": 2}, {"divider_pipelined": True}, {"divider_latency": 30},
            {"adder_latency": 5}, {"integer_latency": 4},
        ):  # fmt: skip
            better = replace(model.PIPELINED, **change)
            assert sum(model.engine_cycles(degree, better).values()) <= base
        assert base < sum(model.engine_cycles(degree, model.SERIAL).values())
    gains = model.sweep()
    assert (gains["gain"] >= 1).all()
    assert (gains[gains["change"] == "as it is"]["gain"] == 1).all()


@pytest.mark.native
@pytest.mark.parametrize("degree", [512, 1024])
def test_command_counts_equal_the_split_signer(degree: int) -> None:
    rng = random.Random(degree)
    algorithm = algorithms.get(f"Falcon-{degree}")
    _, secret_key = FalconSigner(degree, random_bytes=NistDrbg(bytes(48))).generate_keypair()
    facts, signature = array("Q", [0, 0]), bytearray(2000)
    nonce, seed = rng.randbytes(40), rng.randbytes(48)
    logn = kernel.check_degree(degree)
    library = native.library(kernel.IMPLEMENTATION)
    assert library.call(
        "falcon_sign_seeded", signature, algorithm.signature_max_bytes, secret_key, nonce, seed,
        b"message", 7, 0, 1, logn, memoryview(facts),
    ) > 0  # fmt: skip
    nodes, attempts, commands = degree - 1, facts[0], facts[1]
    assert attempts == 1
    *_, draws, octets, _ = census(algorithm, secret_key, nonce, b"message", seed)
    # Steps and loads, peeks, begins, attempts, further bytes of a rejection test.
    assert commands == 10 * nodes + 39 + 9 + 2 + degree + 2 * degree + octets
    assert octets >= draws


def test_invalid_models_are_rejected() -> None:
    with pytest.raises(UsageError, match=r"adders of engine 'none' must be .* got 0"):
        model.SigningEngine(name="none", adders=0)
    with pytest.raises(UsageError, match="'whole' or 'split'"):
        model.software_cycles(512, "half")
    with pytest.raises(UsageError, match="512 or 1024"):
        model.operations(256)
