"""Statements of the works, judged by published and by measured numbers."""

import pandas as pd
import pytest

from pqchain import results
from pqchain.algorithms import ALGORITHMS
from pqchain.errors import DataError
from pqchain.works import papers, registry
from pqchain.works.paper import Statement
from pqchain.works.verdicts import FAILS, HOLDS, HOLDS_HERE, NOT_HERE, OPEN, THRESHOLD, VERDICTS
from pqchain.works.work import CLAIMS, split_ours
from tests.works.expectations import EXPECTED, KEYS
from tests.works.measurements import as_published, measured, measurement


def verdicts(frame: pd.DataFrame, source: str) -> dict[str, str]:
    """Return the verdicts of one source by claim."""
    rows = frame[frame["source"] == source]
    assert rows["claim_id"].is_unique
    return dict(zip(rows["claim_id"], rows["verdict"], strict=True))


def one(frame: pd.DataFrame, claim_id: str, source: str = "measured") -> tuple[str, str]:
    """Return verdict and evidence of one claim."""
    (row,) = frame[(frame["claim_id"] == claim_id) & (frame["source"] == source)].to_dict("records")
    return row["verdict"], row["evidence"].replace("\N{NARROW NO-BREAK SPACE}", " ")


# Statements on the papers' own numbers


@pytest.mark.parametrize("key", KEYS)
def test_verdicts_on_published_values_and_counts_are_pinned(key):
    frame = registry.get(key).claims()
    found = verdicts(frame, "published")
    others = {name: verdict for name, verdict in found.items() if verdict != HOLDS}
    assert others == EXPECTED[key]["not_holding"]
    # Without measurements nothing is decided.
    ours = frame[frame["source"] == "measured"]
    assert set(ours["verdict"]) <= {OPEN}
    assert ours["evidence"].str.contains("no measurement of .* is given").all()
    of_work, of_ours = split_ours(frame)
    assert of_work["claim_id"].nunique() == EXPECTED[key]["statements"]
    # A statement that the work does not make is none of its statements.
    assert of_ours["claim_id"].nunique() == EXPECTED[key].get("statements_of_ours", 0)
    assert set(of_ours["quote"]) <= {""} and (of_work["quote"] != "").all()


@pytest.mark.parametrize("key", KEYS)
def test_claims_match_their_contract(key):
    frame = registry.get(key).claims(measured())
    pd.testing.assert_frame_equal(results.check(frame, CLAIMS), frame)
    assert set(frame["verdict"]) <= set(VERDICTS)
    assert (frame["evidence"] != "").all()
    assert not frame.duplicated(["claim_id", "source"]).any()
    ours = frame["quote"] == ""
    assert (frame.loc[ours, "sentence"] == "").all()


def test_evidence_shows_the_closest_figures_first():
    frame = registry.get("pqdpol").claims()
    assert one(frame, "dilithium-fastest-verification", "published") == (
        HOLDS,
        "Dilithium5 verify 110 µs < Falcon-1024 142 µs; Dilithium5 verify 110 µs < "
        "SPHINCS+-SHA2-256f-simple 1.5 ms; Dilithium3 verify 77 µs < "
        "SPHINCS+-SHA2-192f-simple 1.475 ms",
    )


def test_size_claims_are_checked_on_the_registry():
    found = verdicts(registry.get("round3").claims(), "registry")
    assert found["mceliece-public-key-373-times"] == HOLDS
    assert found["ntru-shortest-public-key"] == found["kyber-small"] == FAILS
    assert verdicts(registry.get("mini-blockchain").claims(), "registry") == {"sizes": HOLDS}
    of_pqdpol = verdicts(registry.get("pqdpol").claims(), "registry")
    assert of_pqdpol["larger-signatures-than-classical"] == HOLDS
    assert of_pqdpol["larger-public-keys-than-classical"] == FAILS


# Statements on measured numbers


@pytest.mark.parametrize("key", ["pqdpol", "round3"])
@pytest.mark.parametrize("factor", [0.1, 1.0, 7.0])
def test_published_times_give_published_verdicts_on_any_machine(key, factor):
    frame = registry.get(key).claims(as_published(key, factor))
    on_print, on_ours = verdicts(frame, "published"), verdicts(frame, "measured")
    decided = {name: verdict for name, verdict in on_ours.items() if verdict != OPEN}
    assert len(decided) >= 3
    # Rainbow's verification costs the same with and without AVX2: open on both sides.
    for name, verdict in decided.items():
        # Times of another machine decide nothing, whichever way they point.
        assert verdict in (*HOLDS_HERE, *NOT_HERE), name
        assert (verdict in NOT_HERE) == (on_print[name] in (FAILS, THRESHOLD)), name


def verify_times(first: float, second: float, **changes) -> pd.DataFrame:
    """Return times of verification that decide "dilithium-faster-than-falcon" of round3."""
    rows = [
        measurement("Dilithium2", "liboqs-0.13/avx2", "verify", first, **changes),
        measurement("Falcon-512", "liboqs-0.13/avx2", "verify", second, **changes),
    ]
    for operation in ("generate_keypair", "sign"):
        rows.append(measurement("Dilithium2", "liboqs-0.13/avx2", operation, 0.001))
        rows.append(measurement("Falcon-512", "liboqs-0.13/avx2", operation, 0.1))
    return measured(*rows)


@pytest.mark.parametrize(
    ("first", "second", "mad", "samples", "verdict"),
    [
        (40e-6, 50e-6, 1e-6, 1000, "holds on this machine"),
        (50e-6, 40e-6, 1e-6, 1000, "not on this machine"),
        (40e-6, 45e-6, 1e-6, 1000, OPEN),  # within 3 + 3 median absolute deviations
        (40e-6, 40e-6, 0.0, 1000, OPEN),  # equal
        (40e-6, 90e-6, 20e-6, 1000, "holds on this machine"),  # large spread, but distant medians
        (40e-6, 90e-6, 20e-6, 3, OPEN),  # too few samples to know the medians
        (40e-6, 59e-6, 20e-6, 1000, OPEN),  # precise, but too close
    ],
)
def test_close_values_have_no_rank(first, second, mad, samples, verdict):
    frame = verify_times(first, second, mad_seconds=mad, samples=samples)
    found, evidence = one(registry.get("round3").claims(frame), "dilithium-faster-than-falcon")
    assert found == verdict
    if verdict == OPEN:
        assert "too close to rank" in evidence


@pytest.mark.parametrize(("ratio", "noisy"), [(1.05, False), (1.4, True)])
@pytest.mark.parametrize(("first", "second"), [(40e-6, 500e-6), (500e-6, 40e-6)])
def test_run_of_a_busy_machine_ranks_nothing(ratio, noisy, first, second):
    """Other programs slow down one scheme and not the next, so ranks and ratios are undecided."""
    frame = verify_times(first, second)
    frame["min_seconds"] = frame["median_seconds"] / ratio
    claims = registry.get("round3").claims(frame)
    verdict, evidence = one(claims, "dilithium-faster-than-falcon")
    assert (verdict == OPEN) == noisy
    assert ("are not ranked: times of a busy machine" in evidence) == noisy
    verdict, evidence = one(claims, "falcon-key-generation-250-times")
    assert (verdict == OPEN) == noisy
    assert ("no ratio: times of a busy machine" in evidence) == noisy
    by_print = claims[claims["source"] == "published"]
    assert not by_print["evidence"].str.contains("busy machine").any()


def test_failure_decides_despite_missing_numbers():
    frame = measured(
        measurement("Dilithium2", "liboqs-0.13/avx2", "verify", 9e-5),
        measurement("Falcon-512", "liboqs-0.13/avx2", "verify", 4e-5),
    )
    found = one(registry.get("round3").claims(frame), "dilithium-faster-than-falcon")
    assert found == (
        "not on this machine", "Dilithium2 verify 90 µs is not below Falcon-512 40 µs",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("implementation", "median", "reason"),
    [
        ("liboqs-0.13/avx2", float("nan"), "Dilithium2 is unsupported: needs avx2"),
        # A statement about AVX2 is not decided by the reference.
        ("liboqs-0.13/ref", 0.001, "no measurement of verify of Dilithium2 with avx2 is given"),
    ],
)
def test_rows_that_cannot_decide_leave_the_statement_open(implementation, median, reason):
    rows = [
        measurement(name, implementation, operation, median)
        for name in ("Dilithium2", "Falcon-512")
        for operation in ALGORITHMS[name].operations
    ]
    found = one(registry.get("round3").claims(measured(*rows)), "dilithium-faster-than-falcon")
    assert found[0] == OPEN and reason in found[1]


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        (250, "holds on this machine"), (202, "holds on this machine"),
        (310, "holds on this machine"), (195, "not on this machine"),
        (320, "not on this machine"), (200.1, OPEN),
    ],
)  # fmt: skip
def test_approximate_claims_allow_a_factor_on_another_machine(times, verdict):
    frame = measured(
        measurement("Dilithium2", "liboqs-0.13/avx2", "generate_keypair", 0.0001),
        measurement("Falcon-512", "liboqs-0.13/avx2", "generate_keypair", 0.0001 * times),
    )
    found, evidence = one(registry.get("round3").claims(frame), "falcon-key-generation-250-times")
    assert found == verdict
    assert ("too close to the bound" in evidence) == (verdict == OPEN)
    assert f"is {times:.4g}, stated about 250, read as within a factor of 1.25" in evidence


def test_other_code_refutes_nothing():
    slow = {"generate_keypair": 1.0, "encapsulate": 1.0, "decapsulate": 1.0}
    rows = [
        measurement(name, f"liboqs-0.7.1/{variant}", operation, slow[operation] * factor)
        for name in ("NTRU-HPS-2048-509", "LightSaber-KEM")
        for operation in slow
        for variant, factor in (("ref", 1.0), ("avx2", 2.0))
    ]
    rows += [
        measurement(name, f"liboqs-0.13/{variant}", operation, slow[operation] * factor)
        for name in ("Kyber512", "Classic-McEliece-348864")
        for operation in slow
        for variant, factor in (("ref", 1.0), ("avx2", 0.5))
    ]
    frame = registry.get("round3").claims(measured(*rows))
    # Saber's code is the paper's.
    assert one(frame, "avx2-faster-than-reference")[0] == "not on this machine"
    only = measured(*(row for row in rows if "Saber" not in row["algorithm"]))
    frame = registry.get("round3").claims(only)
    row = frame[
        (frame["claim_id"] == "avx2-faster-than-reference") & (frame["source"] == "measured")
    ]
    assert row["verdict"].item() == "not with this code"
    assert "PQClean's portable code" in row["setting"].item()


def test_absolute_published_times_are_not_judged():
    frame = registry.get("round3").claims(as_published("round3", 1e-3))
    assert frame.loc[frame["claim_id"] == "all-below-0.05-ms", "source"].tolist() == ["published"]


# Invalid input


def test_frames_that_break_their_contract_are_rejected():
    with pytest.raises(DataError, match="a measurement frame must have the columns"):
        registry.get("round3").claims(papers.published("round3"))


PAIR = {"quantity": "signature_bytes", "smaller": ["Falcon-512"], "larger": ["Dilithium2"]}


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ({"kind": "magic"}, r"claim 'new' of pqdpol: kind of a check .*'magic'"),
        ({"kind": "less", "bye": 2, **PAIR}, r"fields of a check 'less' must be .*bye"),
        ({"kind": "less", "one_level": True, **PAIR}, "one NIST level; got Falcon-512 1, Dilit"),
    ],
)
def test_invalid_check_is_rejected(monkeypatch, check, problem):
    work = registry.get("pqdpol")
    new = Statement(id="new", section="1", statement="It is so.", ours=True, checks=(check,))
    monkeypatch.setattr(type(work), "statements", (new,))
    with pytest.raises(DataError, match=problem):
        work.claims()
