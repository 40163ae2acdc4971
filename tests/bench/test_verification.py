"""Timed verifications: the slowest signature counts, parts add up, and clients warm up."""

import pytest

from pqchain.bench import verification
from pqchain.bench.verification import Case, client_round, in_process
from pqchain.errors import CryptoFailure, PqchainError, Unsupported


class Client:
    """A client whose durations per case, in seconds, are given by the message."""

    name, version, jit = "fake", "1", False

    def __init__(self, durations):
        self.durations, self.asked = durations, []

    def supports(self, algorithm):
        if algorithm == "absent":
            raise Unsupported("not built")
        return algorithm == "ML-DSA-44"

    def times(self, algorithm, case, repeat):
        self.asked.append(case)
        return self.durations(case)

    def close(self):
        pass


CASES = tuple(Case(bytes([i]), b"", b"") for i in range(4))


def test_slowest_signature_counts():
    calls = (lambda: True, lambda: sum(range(20_000)) >= 0)
    both, fast = (in_process("x", chosen).round() for chosen in (calls, calls[:1]))
    assert both.slowest > fast.slowest


def test_fastest_repeat_and_its_parts_count():
    def durations(case):
        # The first repeat is interrupted, and its parts are not mixed with those of the others.
        own = 1.0 + case.message[0]
        return {"verify": [90.0, own, own + 1], "decode_key": [0.1, own / 2, 0.2]}

    times = client_round(Client(durations), "ML-DSA-44", CASES, None)
    assert (times.slowest, times.decode_key) == (4.0, 2.0)
    assert times.decode_signature != times.decode_signature  # the client has no such part


def test_time_of_a_word_is_the_difference_of_two_messages():
    long_case = Case(bytes([5]), b"", b"")
    client = Client(lambda case: {"verify": [2.0 + case.message[0]]})
    times = client_round(client, "ML-DSA-44", CASES[:2], long_case)
    assert times.word == pytest.approx(5.0 / verification.WORDS)
    slow = in_process("x", (lambda: True,), lambda: sum(range(200_000)) >= 0).round()
    assert 0 < slow.word < 1


def test_client_warms_up_and_slow_ones_verify_fewer_signatures(monkeypatch):
    monkeypatch.setattr(verification, "signed_cases", lambda name: (CASES, None))
    client = Client(lambda case: {"verify": [1.0] * 7})
    made = verification.in_client(client, "ML-DSA-44")
    assert made is not None
    assert client.asked == [CASES[0]] * 2  # two steps of one request
    made.round()
    assert len(client.asked) == 2 + 2
    for jit, seconds in (
        (False, verification.WARM_UP_SECONDS),
        (True, verification.JIT_WARM_UP_SECONDS),
    ):
        fast = Client(lambda case: {"verify": [1e-4] * 7})
        fast.jit = jit
        made = verification.in_client(fast, "ML-DSA-44")
        assert len(fast.asked) * 7e-4 == pytest.approx(2 * seconds, rel=0.05)
        asked = len(fast.asked)
        made.round()
        assert fast.asked[asked:] == list(CASES)


def test_warm_up_goes_on_while_a_client_becomes_faster(monkeypatch):
    monkeypatch.setattr(verification, "signed_cases", lambda name: (CASES, None))
    seconds = iter([8.0, 4.0, 2.0, 1.0, 1.0, 9.0])
    client = Client(lambda case: {"verify": [next(seconds)] * 7})
    assert verification.in_client(client, "ML-DSA-44") is not None
    assert next(seconds) == 9.0
    monkeypatch.setattr(verification, "WARM_UP_REQUESTS", 5)
    for least in (0.0, 0.5):  # a clock that stands still; a client that becomes faster for ever
        endless = Client(None)
        endless.durations = lambda case, asked=endless.asked, least=least: {
            "verify": [least ** len(asked)] * 7
        }
        verification.in_client(endless, "ML-DSA-44")
        assert len(endless.asked) <= 5 * verification.WARM_UP_STEPS


def test_clients_without_the_scheme_have_no_verifier(monkeypatch):
    monkeypatch.setattr(verification, "signed_cases", lambda name: (CASES, None))
    client = Client(lambda case: None)
    assert verification.in_client(client, "ECDSA-P256") is None
    assert verification.in_client(client, "ML-DSA-44") is None
    with pytest.raises(Unsupported, match="not built"):
        verification.in_client(client, "absent")
    with pytest.raises(CryptoFailure, match="in every round"):
        client_round(client, "ML-DSA-44", CASES, None)


def test_invalid_verification_is_an_error():
    with pytest.raises(PqchainError, match="did not verify"):
        in_process("x", (lambda: False,)).round()


@pytest.mark.native
def test_signatures_are_valid_and_of_different_keys(monkeypatch):
    monkeypatch.setattr(verification, "MAX_INPUTS", 3)
    verification.signed_cases.cache_clear()
    cases, long_case = verification.signed_cases("Ed25519")
    assert len({case.public_key for case in cases}) == 3
    assert len(long_case.message) == len(cases[0].message) + 32 * verification.WORDS
    assert verification.own("Ed25519").round().slowest > 0
    recoveries, none = verification.signed_cases("ecrecover")
    assert none is None
    assert {len(case.message) for case in recoveries} == {32}
    assert {len(case.signature) for case in recoveries} == {65}
    assert verification.own("ecrecover").round().slowest > 0
    verification.signed_cases.cache_clear()
