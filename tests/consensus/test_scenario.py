import subprocess
import sys
from typing import Any

import pytest

from pqchain import algorithms, open_signer
from pqchain.consensus import lengths, model
from pqchain.consensus.faults import Faults
from pqchain.consensus.network import NAMES, named
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.errors import PqchainError, UsageError
from pqchain.works import papers
from tests.consensus.scenarios import scenario, table

PAPER = papers.costs("pqdpol")

COUNTS = {
    "Dilithium2": 12.0,
    "Dilithium3": 9.0,
    "Dilithium5": 6.0,
    "Falcon-1024": 15.0,
    "SPHINCS+-SHA2-128f-simple": 2.0,
}


@pytest.mark.parametrize(("algorithm", "count"), COUNTS.items())
def test_transactions_per_block_match_the_tables(algorithm: str, count: float) -> None:
    assert Scenario(algorithm=algorithm, costs=PAPER).transactions_per_block() == count


def test_falcon_signature_lengths_give_fractional_block_fill() -> None:
    exact = Scenario(algorithm="Falcon-512", costs=PAPER).transactions_per_block()
    assert exact == pytest.approx(29.42, abs=0.05)
    many = Scenario(algorithm="Falcon-512", costs=PAPER, nodes=2, blocks=3000)
    counted = model.run(many).transactions / 3000
    assert counted == pytest.approx(exact, abs=0.05)  # five standard errors of 0.009


def test_recovered_keys_are_not_in_the_transaction() -> None:
    costs = table(algorithm="ECDSA-secp256k1", key=33, signature=71)
    inline, recovered = (
        Scenario(algorithm="ECDSA-secp256k1", costs=costs, layout=Layout(key_mode=mode))
        for mode in ("inline", "recovered")
    )
    assert recovered.transactions_per_block() > inline.transactions_per_block()
    with pytest.raises(UsageError, match=r"must be 'inline' or 'registered' for Dilithium2"):
        scenario(layout=Layout(key_mode="recovered"))


def test_equal_scenarios_compare_equal() -> None:
    first, same = scenario(seed=1), scenario(seed=1)
    assert first == same and hash(first) == hash(same) and first.identifier == same.identifier
    others = [
        scenario(seed=2),
        scenario(seed=1, nodes=9),
        scenario(seed=1, costs=table(verify=48e-6)),
        scenario(seed=1, network=named("mesh")),
        scenario(seed=1, network=named("mesh", latency_seconds=0.003)),
        scenario(seed=1, layout=Layout(data_bytes=13)),
        scenario(seed=1, faults=Faults(crashed=(1,)), view_timeout_seconds=1.0),
    ]
    assert len({first.identifier, *(other.identifier for other in others)}) == 8


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, r"nodes must be a whole number from 1 to 4194304.* got 0"),
        ({"nodes": 4, "delegates": 5}, r"delegates \(of nodes\) must be .* from 1 to 4.* got 5"),
        (
            {"block_bytes": 3000},
            r"block_bytes must be at least \d+ for one .* Dilithium2; got 3000",
        ),
        (
            {"round_seconds": 2e6, "blocks": 0, "proposal": "loud"},
            r"unknown proposal .*\nround_seconds must be .* to 1e\+06; got 2.*\nblocks must",
        ),
        ({"exchange": "broadcast"}, r"exchange must not be 'broadcast' on paper-serial"),
        ({"vote_phases": 1}, r"vote_phases must be 0 with exchange='all-to-all'"),
        ({"nodes": 300, "network": named("host")}, r"at most 256 on one computer; got 300"),
        ({"network": "mesh"}, r"network must be of type Network; got 'mesh'"),
        ({"algorithm": "Falcon-512"}, r"no costs of 'Falcon-512' in 'test'"),
        (
            {"faults": Faults(crashed=(8,)), "view_timeout_seconds": 1.0},
            r"crashed must be .* to 7.* got 8",
        ),
        (
            {"faults": Faults(crashed=(1,))},
            r"view_timeout_seconds must be a number if there are faults",
        ),
    ],
)
def test_invalid_scenarios_are_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PqchainError, match=message):
        model.run(scenario(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"crashed": (1, 1)}, r"must contain a rank only once"),
        ({"loss_probability": 1.5}, r"faults.loss_probability must be a number from 0 to 1; got"),
        ({"heal_seconds": 9.0}, r"fraction and faults.heal_seconds must be both.* got 0 and 9"),
        ({"slow": (0,), "slow_factor": 1}, r"slow_factor must be a whole number from 2 to"),
    ],
)
def test_invalid_faults_are_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Faults(**changes)


def test_all_to_all_over_a_million_nodes_is_rejected_with_an_alternative() -> None:
    with pytest.raises(UsageError) as caught:
        scenario(nodes=2**20, network=named("mesh"))
    text = str(caught.value)
    assert str(2**20 * (2**20 - 1) + 2**20 - 1) in text
    assert "delegates=1024 (--delegates 1024), and a gossip network" in text
    assert "network=named('gossip') (--network gossip)" in text


def test_identifiers_of_stored_results_stay_the_same() -> None:
    assert Scenario(algorithm="Falcon-512", costs=PAPER).identifier == (
        "98f65bcf12bb6d2d12c7690f99fd9ae6d31cfc792fcf3f015177bc8db7d378be"
    )


def test_new_exchange_derives_the_number_of_vote_phases() -> None:
    shared = scenario(network=named("csma"))
    assert (shared.exchange, shared.vote_phases) == ("all-to-all", 0)
    voting = shared.with_(exchange="broadcast")
    assert (voting.exchange, voting.vote_phases) == ("broadcast", 1)
    assert voting.with_(vote_phases=2).with_(exchange="all-to-all").vote_phases == 0
    assert shared.with_(exchange="broadcast", vote_phases=2).vote_phases == 2


@pytest.mark.long
def test_results_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from pqchain import consensus as c, papers\n"
        "costs = papers.costs('pqdpol')\n"
        "grid = c.grid(costs, algorithms=['Falcon-512', 'Dilithium2'], exponents=[2],\n"
        "    networks=c.network.NAMES,\n"
        "    seeds=[0], view_timeout_seconds=100.0,\n"
        "    faults=c.Faults(crashed=(1,), loss_probability=0.05))\n"
        "print(c.sweep(grid, engine='simpy').to_csv(index=False))\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": hash_seed, "PATH": ""},
            capture_output=True, check=True, text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }  # fmt: skip
    assert len(texts) == 1
    assert len(texts.pop().splitlines()) == 1 + 2 * len(NAMES) + 1


def test_mean_fill_equals_the_enumerated_mean() -> None:
    # Lengths 1 or 2, capacity 4: enumerated by hand, 2 + 1/2 + ... = 2.6875.
    shares = {1: 1, 2: 1}
    expected = 1 + 1 + (1 - 4 / 8) + 1 / 16  # P(S1<=4), P(S2<=4), P(S3<=4) = 4/8, P(S4<=4)
    assert lengths.mean_fill(shares, capacity_bytes=4, fixed_bytes=0) == pytest.approx(expected)
    assert lengths.mean_fill({7: 1}, capacity_bytes=6, fixed_bytes=0) == 0.0


@pytest.mark.native
def test_signature_lengths_are_those_of_liboqs() -> None:
    for name, samples in (("Falcon-512", 600), ("Falcon-1024", 300)):
        signer = open_signer(name, "liboqs-0.13/avx2")
        counted = lengths.observed()[name]
        total = sum(counted.values())
        mean = lengths.mean(counted)
        variance = sum(count * (size - mean) ** 2 for size, count in counted.items()) / total
        _, secret_key = signer.generate_keypair()
        sizes = [len(signer.sign(b"%d" % i, secret_key)) for i in range(samples)]
        error = (variance / samples) ** 0.5
        assert abs(sum(sizes) / samples - mean) < 6 * error
        assert max(sizes) <= algorithms.get(name).signature_max_bytes
        assert round(mean) == algorithms.get(name).signature_bytes
