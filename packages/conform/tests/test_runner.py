"""Verifiers in other processes: correct, wrong and failing ones, and the counts of verdicts."""

import json
import math
import time
from contextlib import closing
from dataclasses import replace

import pytest

from packages.conform.tests.fakes import fake
from pqchain.bench import gas_units, verification
from pqchain.bench.gas_units import OWN
from pqchain.bench.verification import Case
from pqchain.commands.main import main
from pqchain.crypto import source_builds
from pqchain.errors import CryptoFailure, DataError, UnknownName, Unsupported, UsageError
from pqchain_conform import protocol, registry, runner, tables, timing
from pqchain_conform.generators import generate
from pqchain_conform.protocol import Adapter
from pqchain_conform.registry import VerifierSpec

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def some():
    """A vector of each family and expectation of ML-DSA-44."""
    chosen = {(v.family, v.expected): v for v in generate("ML-DSA-44")}
    return tuple(chosen.values())


@pytest.mark.parametrize("kind", ["accept", "panic", "refuse", "unsupported"])
def test_verdict_has_times(kind, some):
    with fake(kind).adapter(limit_seconds=30.0) as adapter:
        answer = adapter.ask(some[0], repeat=3)
    assert (answer.verdict, answer.nanoseconds) == (kind, (1000, 1000, 1000))


def test_dead_process_is_a_crash_and_is_restarted(some):
    with fake("crash").adapter() as adapter:
        first, answer, last = (adapter.ask(some[0]) for _ in range(3))
    assert (first.verdict, answer.verdict, last.verdict) == ("accept", "crash", "accept")
    assert answer.reason == "exit code 3: segmentation fault, more or less"


@pytest.mark.parametrize("kind", ["hang", "deaf", "drips"])
def test_hanging_process_is_a_timeout(kind, some):
    # More than the capacity of a pipe: a verifier that does not read must not block the client.
    with fake(kind).adapter(limit_seconds=0.5) as adapter:
        answer = adapter.ask(replace(some[0], message=bytes(100_000)))
    assert (answer.verdict, answer.reason) == ("timeout", "no answer in 0.5 s")


@pytest.mark.parametrize(
    ("kind", "arguments", "reason"),
    [
        ("line", ["yes", "1"], "'yes'"),
        ("id", ["2"], "id 2; expected 1"),
        ("id", ["true"], "id True; expected 1"),
        ("perhaps", [], "expected one of accept, reject, refuse"),
        ("floods", [], "000000"),
        ("line", ["[", "100000"], "RecursionError"),
        ("nanoseconds", ["[1e400]"], "1e400; expected a number of at most"),
        ("nanoseconds", ["[NaN]"], "NaN; expected a number of at most"),
        ("nanoseconds", ["[-1]"], "expected numbers from 0"),
        ("nanoseconds", ["[true]"], "durations must be numbers"),
        ("nanoseconds", [f"[1{'0' * 400}]"], "expected a number of at most"),
        ("parts", ['{"decode_key": [1, 2]}'], "2 durations of decode_key"),
        ("parts", ['{"decode_key": [-1]}'], "decode_key; expected numbers from 0"),
    ],
)
def test_invalid_answer_is_malformed_with_the_reason(kind, arguments, reason, some):
    with fake(kind, *arguments).adapter(limit_seconds=30.0) as adapter:
        answer = adapter.ask(some[0])
    assert answer.verdict == "malformed"
    assert reason in answer.reason
    assert len(answer.reason) < 400


@pytest.mark.parametrize("then", ["answers", pytest.param("hang", marks=pytest.mark.long)])
def test_child_processes_of_a_verifier_are_ended(then, some, tmp_path):
    marker = tmp_path / "late"
    with fake("grandchild", str(marker), then).adapter(limit_seconds=0.7) as adapter:
        assert adapter.ask(some[0]).verdict == ("timeout" if then == "hang" else "accept")
    time.sleep(2.0)
    assert not marker.exists(), "a process that the verifier started went on"


def test_stderr_of_a_verifier_is_kept_to_its_last_kilobytes(some):
    with fake("talkative").adapter(limit_seconds=30.0) as adapter:
        child = adapter._start()
        adapter._child = child
        answer = adapter.ask(some[0])
    assert answer.reason.startswith("exit code 3: xxxx")
    assert 10_000 < len(child.stderr_tail) <= 16 << 10


def test_verifier_that_closes_its_stdout_ends_the_run_at_its_first_answer(some, monkeypatch):
    monkeypatch.setattr(protocol, "_REAP_SECONDS", 0.1)
    starts = []
    start = Adapter._start
    monkeypatch.setattr(Adapter, "_start", lambda self: starts.append(self) or start(self))
    with pytest.raises(UsageError, match="a closed stdin or stdout"):
        runner.run([fake("closes")], some, stop_at_malformed=True)
    assert len(starts) == 1


def test_model_passes_and_accept_all_fails(some):
    verdicts, summary = runner.run([fake("right"), fake("accept")], some)
    by_name = summary.groupby("implementation").sum(numeric_only=True)
    assert by_name.loc["right", "right"] == len(some) == by_name.loc["right", "vectors"]
    invalid = sum(v.expected == "invalid" for v in some)
    assert by_name.loc["accept", "wrong"] == invalid
    assert set(verdicts["outcome"]) == {"right", "wrong"}
    assert set(summary[summary["implementation"] == "right"]["status"]) == {"ok"}
    assert len(tables.wrong_verdicts(verdicts).rows) == invalid
    known = tables.overview(summary, known={"accept": "issue 113"})
    assert known.remarks[-1].startswith("publicly known: issue 113")


@pytest.mark.long
def test_broken_verifiers_are_abandoned(some):
    many = (some * 3)[:30]
    verdicts, summary = runner.run([fake("hang")], many, limit_seconds=0.3)
    assert set(verdicts["outcome"]) == {"timeout"}
    assert summary["timeouts"].sum() == len(many)
    for verifier in (fake("crash-always"), fake("line", "yes", "1")):
        _, summary = runner.run([verifier], many)
        assert summary["crashes"].sum() == len(many)
        assert "no more requests after 10 crashes" in "".join(summary["reason"])


def test_error_is_a_rejection_and_panic_is_a_crash():
    assert runner.outcome("invalid", "refuse") == "right"
    assert runner.outcome("valid", "refuse") == "wrong"
    assert runner.outcome("invalid", "panic") == "crash"
    assert runner.outcome("acceptable", "reject") == "rejected"
    assert runner.outcome("acceptable", "accept") == "accepted"
    assert runner.outcome("valid", "unsupported") == "unsupported"


def test_verifier_that_supports_no_vector_has_a_row_that_says_so(some):
    verdicts, summary = runner.run([fake("unsupported")], some)
    assert set(verdicts["outcome"]) == {"unsupported"}
    assert summary["status"].tolist() == ["unsupported"]
    assert summary["unsupported"].tolist() == summary["vectors"].tolist() == [len(some)]
    assert 'answers "unsupported"' in summary["reason"][0]


def test_pqchain_builds_conform(some):
    falcon = generate("Falcon-padded-512")[::5]
    _, summary = runner.run(registry.select(["pqchain liboqs-0.13/ref"]), [*some, *falcon])
    assert set(summary["status"]) == {"ok"}
    counts = summary[["right", "accepted", "rejected"]].sum().sum()
    assert counts == len(some) + len(falcon)


def test_unavailable_verifier_is_a_row_with_the_reason(some, monkeypatch):
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: None)
    _, summary = runner.run(registry.select(["fips204"]), some)
    assert summary["status"].tolist() == ["unsupported"]
    assert "no cargo on the path" in summary["reason"][0]
    assert tables.overview(summary).rows


def test_name_of_a_verifier_is_a_text(some, capsys):
    for name in ("\x1b[2J", "=1+1", "$\\frac$"):
        with pytest.raises(UsageError, match="the name of a verifier must be at most 300 print"):
            registry.from_command(["verifier"], name)
    verifier = replace(fake("accept"), name="\x1b[2J<script>[x](javascript:y)")
    with pytest.raises(DataError, match="column 'implementation' must have"):
        runner.run([verifier], some[:2], progress=True)
    assert "\x1b[2J" not in (shown := capsys.readouterr().err) and "\\u001b[2J" in shown


def test_versions_equal_the_lock_files():
    for verifier in registry.verifiers().values():
        if verifier.package:
            lock = registry.lock_file(verifier.folder).read_text(encoding="utf-8")
            at = [i for i in range(len(lock)) if lock.startswith(verifier.package, i)]
            assert any(verifier.version in lock[i : i + 200] for i in at), verifier.name


def test_adapters_are_built_in_parallel_and_keep_the_reason_of_a_failure(tmp_path, monkeypatch):
    waits = "touch ../{}; until test -e ../{}; do sleep 0.05; done\n"
    scripts = {"go": waits.format("one", "two"), "java": waits.format("two", "one")}
    for folder, script in (scripts | {"rust": "echo no such library >&2; exit 1\n"}).items():
        (tmp_path / "sources" / folder).mkdir(parents=True)
        (tmp_path / "sources" / folder / "build.sh").write_text(script)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "SOURCES", tmp_path / "sources")
    monkeypatch.setattr(source_builds.shutil, "which", lambda tool: tool)
    assert registry.build(["rust", "go", "java"], limit_seconds=30) == {
        "rust": ("failed", "no such library"), "go": ("built", ""), "java": ("built", ""),
    }  # fmt: skip


@pytest.mark.long
def test_processes_of_a_build_that_takes_too_long_are_ended(tmp_path, monkeypatch):
    marker, sources = tmp_path / "late", tmp_path / "go"
    sources.mkdir()
    (sources / "build.sh").write_text(f"(sleep 2; touch {marker}) & sleep 60\n")
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path / "cache"))
    builds = [source_builds.SourceBuild(sources, "conform")]
    result = source_builds.build(builds, limit_seconds=0.3)
    assert result == {"go": ("failed", "not finished in 0.3 s; run it again")}
    time.sleep(2.5)
    assert not marker.exists(), "what the script started went on"


def test_in_process_verifier_needs_its_library(monkeypatch):
    monkeypatch.setattr(registry, "obstacle", lambda name: f"{name} is not installed")
    native = registry.verifiers()["pqchain liboqs-0.13/ref"]
    assert native.unavailable_reason() == "liboqs-0.13/ref is not installed"
    with pytest.raises(Unsupported, match="is unavailable here: liboqs-0"):
        native.adapter()
    monkeypatch.setattr(registry.implementations, "openssl_verifier", lambda name: None)
    other = registry.verifiers()["cryptography (OpenSSL)"]
    assert other.unavailable_reason() == "this OpenSSL has no ML-DSA"


def test_unknown_verifier_names_are_rejected():
    with pytest.raises(UnknownName, match="did you mean 'circl'"):
        registry.select(["circle"])
    assert registry.from_command(["./my/verifier", "--fast"]).name == "verifier"


CASE = Case(b"message", b"signature", b"key")


def test_client_times_verifications_by_part():
    parts = json.dumps({"decode_key": [300] * 3, "other": ["x"]})
    with closing(timing.TimedClient(fake("parts", parts))) as client:
        assert client.supports("ML-DSA-44")
        assert not client.supports("ECDSA-P256")
        expected = {"verify": [1e-6] * 3, "decode_key": [3e-7] * 3}
        for _ in range(2):  # starts it again after the end
            times = client.times("ML-DSA-44", CASE, 3)
            assert times == {name: pytest.approx(values) for name, values in expected.items()}
            client.close()


def test_client_that_does_not_accept_is_an_error():
    with closing(timing.TimedClient(fake("unsupported"))) as client:
        assert client.times("ML-DSA-44", CASE, 2) is None
    message = r"refuse must accept a valid signature.* got 'refuse'"
    with (
        closing(timing.TimedClient(fake("refuse"))) as client,
        pytest.raises(CryptoFailure, match=message),
    ):
        client.times("ML-DSA-44", CASE, 2)


def test_default_clients_are_named_and_include_the_anchors(monkeypatch, nothing_built):
    clients = {client.name: client for client in timing.clients()}
    assert {"circl", "fips204", "Bouncy Castle", "libsecp256k1", "ed25519-dalek"} < set(clients)
    with pytest.raises(Unsupported, match=r"pqchain conform build|on the path"):
        clients["circl"].supports("ML-DSA-44")
    with pytest.raises(UnknownName, match="did you mean 'circl'"):
        timing.clients(["circle"])
    monkeypatch.setattr(VerifierSpec, "unavailable_reason", lambda self: "")
    clients = {client.name: client for client in timing.clients(["circl"])}
    assert clients["circl"].supports("ML-DSA-44")
    assert clients["Bouncy Castle"].supports("ecrecover")
    assert not clients["Bouncy Castle"].supports("ML-DSA-44")


BUILT = [
    ("ml-dsa (RustCrypto)", "ML-DSA-44", {"decode_key", "decode_signature"}),
    ("fips204", "ML-DSA-44", {"decode_key"}),
    ("aws-lc-rs", "ML-DSA-44", {"decode_key"}),
    ("circl", "ML-DSA-44", {"decode_key"}),
    ("fn-dsa (original Falcon)", "Falcon-padded-512", {"decode_key"}),
    ("pqcrypto-falcon", "Falcon-512", set()),
    ("Bouncy Castle", "Falcon-512", set()),
    ("Bouncy Castle", "ecrecover", set()),
    ("ed25519-dalek", "Ed25519", {"decode_key"}),
    ("libsecp256k1", "ecrecover", set()),
]


@pytest.mark.parametrize(("name", "algorithm", "parts"), BUILT)
def test_adapters_time_the_parts_that_their_library_has(name, algorithm, parts):
    (spec,) = registry.select([name])
    if reason := spec.unavailable_reason():
        pytest.skip(reason)
    case = verification.signed_cases(algorithm)[0][0]
    with closing(timing.TimedClient(spec)) as client:
        times = client.times(algorithm, case, 3)
        assert set(times) == {"verify"} | parts
        for total, *of in zip(*times.values(), strict=True):
            assert 0 < sum(of) < total or not of
        other = Case(bytes(32), case.signature, case.public_key)
        with pytest.raises(CryptoFailure):
            client.times(algorithm, other, 3)


@pytest.fixture
def nothing_built(monkeypatch, tmp_path):
    """Make every adapter unavailable that needs a build."""
    monkeypatch.setattr(registry, "build_folder", lambda folder: tmp_path / folder)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))


def test_missing_clients_state_the_remedy_and_do_not_fail(capsys, nothing_built):
    words = ["gas", "--algorithm", "Ed25519", "--rounds", "2"]
    assert main([*words, "--verifier", "circl"]) == 0
    text = capsys.readouterr().out
    assert "circl: " in text
    assert "pqchain conform build" in text
    assert "TRON energy: missing; ecrecover by Bouncy Castle was not timed" in text


def test_other_verifiers_are_rows_beside_pqchains(capsys, nothing_built):
    name = "pqchain liboqs-0.13/ref"
    words = ["gas", "--algorithm", "ML-DSA-44", "--verifier", name, "--rounds", "2", "--json"]
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)["gas"]
    chosen = [row for row in rows if (row["algorithm"], row["unit"]) == ("ML-DSA-44", "evm")]
    assert [row["verifier"] for row in chosen][1:] == [name]
    assert chosen[1]["gas"] > 0
    # The slope of two rounds may be below zero on a busy machine.
    assert math.isfinite(chosen[1]["word_seconds"])


def test_verifiers_of_the_units_are_registered():
    known = registry.verifiers()
    assert set(gas_units.clients()) <= set(known)
    for unit in gas_units.units().values():
        for name in unit.anchor_verifiers:
            assert name == OWN or unit.anchor in known[name].anchors
