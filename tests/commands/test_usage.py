"""Conventions of every command: wrong use, fast errors, names in any case, presets, schemes."""

import dataclasses
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pqchain as pq
from pqchain import results
from pqchain.bench import blocks, presets, rounds
from pqchain.commands import measuring
from pqchain.study import ready_names, sampling
from tests import frames

MINE = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"

WRONG = {
    "": "name a COMMAND",
    "--jsn": 'Unknown command "--jsn"',
    "bnech --help": "unknown command 'bnech'; did you mean 'bench'?",
    "-- bnech": "unknown command 'bnech'; did you mean 'bench'?",
    "algorithms --knd kem": "Unknown option: --knd. Did you mean --kind?",
    "algorithms --kind": "--kind requires an argument",
    "algorithms --kind kem --kind kem": "--kind specified multiple times",
    "algorithms --kind cipher": 'Invalid value "cipher" for --kind. Choose from: "signature"',
    "algorithms --json=maybe": 'unable to convert "maybe" into bool',
    "algorithms --json --latex": "exclude each other",
    "algorithms extra": "Unused Tokens: ['extra']",
    "algorithms --family Falcn": "did you mean 'Falcon'",
    "algorithms --implementations --kind kem": "cannot be combined with --kind",
    "engine run": "NAME requires an argument",
    "falcon": "name a COMMAND; see `pqchain falcon --help`",
    "falcon profilee": 'Did you mean "profile"?',
    "doctor --library none.so": "none.so does not exist",
    "papers pqdpool": "did you mean 'pqdpol'?",
    "papers pqdpol table9": "table",
    "papers pqdpol table4 --bibtex": "exclude each other",
    "bench --algorithm Falcon512": "Falcon-512",
    "bench --algorithm ,": "names separated by commas",
    "bench --preset slow": 'Choose from: "quick", "paper"',
    "bench --algorithm Falcon-512 --operation encapsulate": "got encapsulate",
    "bench --output times.txt": "must end in .csv",
    "bench --algorithm Falcon-512 --append h.txt": "must end in .csv",
    f"bench --scheme {MINE} --algorithm mine,nope": "unknown algorithm 'nope'",
    "chain --algorithm all,Ed25519": "unknown algorithm 'all'",
    "chain --threads many": "whole numbers or ranges, such as 1..5 or 1,2,8; got 'many'",
    "chain --threads 0": "threads must be a whole number from 1 to 1024; got 0",
    "chain --threads 1025": "threads must be",
    "chain --transactions 0": "transactions must be a",
    "chain --transactions 1000001": "transactions must be a",
    "chain --algorithm Falcon-512+Falcon-512": "distinct algorithms",
    f"chain --scheme {MINE} --algorithm mine,nope": "unknown algorithm 'nope'",
    "gas --rounds 1": "rounds must be a",
    "gas --rounds 1001": "rounds must be a",
    "gas --algorithm Kyber512": "signature scheme",
    "gas --algorithm Falcon-500": "Falcon-500",
    "gas --verifier circl": 'pip install "pqchain[conform]"',
    f"gas --scheme {MINE} --algorithm mine,nope": "unknown algorithm 'nope'",
    "plot sped mine.csv": "unknown plot 'sped'",
    "plot speed none.csv": "none.csv does not exist",
    "plot speed": "speed needs a file",
    "plot speed mine.csv --quantity bytes": "unexpected keyword argument 'quantity'",
    "plot blocks mine.csv": "missing a required argument: 'quantity'",
    "plot speed mine.csv --width wide": "must be single, double",
    "plot speed mine.csv --output a.gif": "must end in .pdf",
    "compare mine.csv": "at least two",
    "compare mine.csv none.csv": "none.csv does not exist",
    "compare mine.csv notes.txt": "notes.txt must be a table of `pqchain bench --output`",
    "compare mine.csv folder": "folder must be a table of `pqchain bench --output`",
    "study": "name a study",
    "study --list --latex": "this command shows none",
    "study etherium": "'ethereum'",
    "study pqdpol --draws 2.5": "--draws: must be a whole number; got '2.5'",
    "study pqdpol --draws 10001": "draws must be",
    "study pqdpol --set nodes": "must be INPUT=VALUE",
    "study pqdpol --set nodes=0": "nodes must be a whole number from 1 to",
    "study pqdpol --set node=3": "did you mean 'nodes'",
    "study pqdpol --set algorithms=Falcon-500": "unknown algorithm 'Falcon-500'",
    "study pqdpol --page none/x.html": "the folder none does not exist",
    "study pqdpol --page x.txt": "must end in .html",
    "whatif": "name a chain: algorand",
    "whatif ethereum": "name one scheme, such as ML-DSA-44",
    f"whatif bnb ML-DSA-44 --scheme {MINE}": "name one scheme",
    "whatif dogecoin ML-DSA-44": ", ".join(ready_names()),
    "whatif bnb Falcon-511": "unknown algorithm 'Falcon-511'",
    "whatif bnb ML-KEM-768": "signature",
    "whatif bnb ML-DSA-44 --page x.txt": "must end in .html",
    "whatif bnb ML-DSA-44 --measurements none.csv": "none.csv does not exist",
    "whatif none.toml ML-DSA-44": "none.toml",
    "consensus --nodes 0": "--nodes must be from 1 to 4194304; got 0",
    "consensus --nodes 4194305": "--nodes must be from 1 to 4194304",
    "consensus --exponents 23": "--exponents must be from 0 to 22; got 23",
    "consensus --exponents 1..x": "got '1..x'",
    "consensus --exponents 5..1": "ascending range: 1..5; got 5..1",
    "consensus --exponents ''": "got ''",
    "consensus --mode virtual --exponents 2 --log logs": "log must be None over plain",
    "consensus --exponents 1 --nodes 2": "exclude each other",
    "consensus --seeds 0..100000": "--seeds",
    "consensus --seeds 0..50000 --exponents 1,2": "at most 100000 runs; got 100002",
    "consensus --network mess": "did you mean 'mesh'",
    "consensus --algorithm Falcn-512": "did you mean 'Falcon-512'",
    "consensus --algorithm Kyber512": "Add --costs measured",
    "consensus --algorithm Kyber512 --costs measured": "must be a signature scheme; got Kyber512",
    "consensus --costs guessed": "--costs must be paper:<work>, measured",
    "consensus --costs paper:nobody": "nobody",
    "consensus --block-bytes 100": "block_bytes must be at least",
    "consensus --delegates 0": "--delegates must be from 1 to",
    "consensus --nodes 3 --delegates 5": "at most the number of --nodes, 3; got 5",
    "consensus --nodes 9,4,8 --delegates 6": "--nodes, 4; got 6",
    "consensus --network star --bits-per-second -5": "rate_bits_per_second must be a",
    "consensus --network mesh --peers 3": "parameters of mesh must be among",
    "consensus --bits-per-second 1e6": "parameters of paper-serial must be among",
    "consensus --round-seconds 10": "needs --rule luck",
    "consensus --faults.crash 1": "Did you mean --faults.crashed?",
    "consensus --network mesh --nodes 8 --faults.crashed 0,1": "--timeout",
    "consensus --faults.loss-probability often": 'unable to convert "often" into float',
    "consensus --faults.loss-probability 2 --timeout 1": "loss_probability must be a",
    "consensus --network mesh --exponents 20": "got 1099511627775 of",
    "consensus --network mesh --engine simpy --nodes 4096": "got 16777216",
    "consensus --workers 0": "workers must be",
    "consensus --nodes 2 --transport native": "--transport needs executed delegates; add --mode vi",
    "consensus --nodes 2 --log native": "--log needs executed delegates; add --mode virtual",
    "reencode --datagram-bytes 20000": "datagram_bytes must be a whole number from 1200",
    "reencode --datagram-bytes 100": "datagram_bytes must be",
    "reencode --block-bytes 0": "block_bytes must be a whole number from 1 to",
    "reencode --blocks 0": "blocks must be a",
    "reencode --blocks 10001": "blocks must be a",
    "reencode --blocks many": "--blocks: must be a whole number; got 'many'",
    "reencode --repeats 0": "--repeats must be a whole number from 1 to 10000; got 0",
    "reencode --repeats 10001": "--repeats must be a",
    "reencode --seed=-1": "seed must be a",
    "reencode --streams foo": "unknown streams 'foo'; expected one of single, multiplexed",
    "reencode --streams single-": "did you mean 'single'?",
    "reencode --loss 1.5": "loss must be a number from 0 to 1; got 1.5",
    "reencode --mode loopback --loss 0.1": "--mode virtual or netns; got loopback",
    "reencode --mode virtual --transport tcp-tls": "got tcp-tls, which needs sockets",
    "reencode --mode moon": '"netns", "cluster"',
    "reencode --loss much": 'unable to convert "much" into float',
    **{
        f"{command} --output {path}": said
        for command in ("bench", "chain", "reencode", "consensus")
        for path, said in (("none/a.csv", "does not exist"), ("a.csv", "a.json must be a file"))
    },
    **{
        f"{command} --{option} {value}": "must be"
        for command, options, values in (
            ("reencode", "delay-seconds bits-per-second loss datagram-seconds", "-1e300 nan 9"),
            ("consensus --nodes 4", "bits-per-second delay-seconds timeout", "-1 inf"),
            ("consensus --nodes 4 --rule luck", "round-seconds", "-1 inf"),
        )
        for option in options.split()
        for value in values.replace(" 9", " " + "9" * 4001).split()
    },
}
"""Command lines, each with a part of the error."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table, files that are no tables, and nothing that measures."""
    monkeypatch.chdir(tmp_path)
    results.save(frames.measurements(["Falcon-512", "ML-DSA-44"]), tmp_path / "mine.csv")
    (tmp_path / "notes.txt").touch()
    for name in ("folder", "a.json"):
        (tmp_path / name).mkdir()
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(1 << 40)  # sparse, and larger than the memory
    for place, name in (
        (rounds, "round_samples"),
        (blocks, "_measure"),
        (sampling, "_measured"),
    ):
        monkeypatch.setattr(place, name, lambda *given, **named: pytest.fail("measured"))
    monkeypatch.setattr(measuring, "entry_points", lambda group: ())  # pqchain alone
    return tmp_path


@pytest.mark.parametrize("line", WRONG, ids=lambda line: line[:60])
def test_wrong_use_names_the_remedy_and_writes_nothing(line: str, folder: Path, refused) -> None:
    files, before = sorted(folder.rglob("*")), time.monotonic()
    refused(shlex.split(line), WRONG[line])
    assert time.monotonic() - before < 20
    assert sorted(folder.rglob("*")) == files


REFUSED = {
    "study --list": 0,
    "reproduce --only nope": 2,
    "bench --algorithm nope": 2,
    "plot nope": 2,
    "bench --scheme Mine,size=3": 2,
    "study pqdpol --scheme Mine,size=3": 2,
    "plot sizes --scheme Mine,size=3": 2,
    "reproduce --scheme Mine,size=3": 2,
}

HEAVY = ("pandas", "matplotlib", "pyperf", "simpy", "numba")
"""What takes most of a second to load."""


@pytest.mark.parametrize("words", REFUSED)
def test_quick_answers_load_no_heavy_module(words: str) -> None:
    """Checks the imported modules, because a duration depends on the machine."""
    code = f"""import sys; from pqchain.commands.main import main; code = main({words.split()!r})
print(code, sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == f"{REFUSED[words]} []"


@pytest.mark.parametrize(
    "words",
    [
        "papers PQDPOL TABLE4",
        "study Ethereum --show",
        "algorithms --family falcon",
        "consensus --algorithm FALCON-512 --network MESH --exponents 2 --engine simpy",
    ],
)
def test_names_ignore_case(words: str, run) -> None:
    assert run(words.split()).out


def test_environment_preset_is_used_by_every_measurement(monkeypatch) -> None:
    monkeypatch.delenv(presets.PRESET_VARIABLE, raising=False)
    assert presets.preset() == "quick"
    monkeypatch.setenv(presets.PRESET_VARIABLE, "Paper")
    quick = presets.PRESETS["quick"]
    monkeypatch.setitem(presets.PRESETS, "paper", dataclasses.replace(quick, rounds=1, samples=2))
    frame = pq.measure("ed25519", "VERIFY", "CRYPTOGRAPHY/openssl")
    assert frame.attrs["provenance"]["preset"] == "paper"
    assert frame.loc[0, "samples"] == 2
    monkeypatch.setenv(presets.PRESET_VARIABLE, "long")
    with pytest.raises(pq.errors.UsageError, match="PQCHAIN_PRESET=long: preset must be one of"):
        pq.measure("Ed25519", "verify")


@pytest.mark.parametrize("asked", ["", "--algorithm mine,FALCON-512,falcon-512"])
def test_user_scheme_is_listed_once(asked: str, run) -> None:
    line = f"consensus --scheme {MINE} {asked} --network mesh --exponents 1 --json"
    assert sorted(row["algorithm"] for row in run(line).data["runs"]) == ["Falcon-512", "Mine"]


def test_changed_plan_keeps_user_schemes(run) -> None:
    line = f"study pqdpol --scheme {MINE} --set algorithms=FALCON-512 --draws 1 --json"
    assert {row["algorithm"] for row in run(line).data["figures"]} == {"Falcon-512", "Mine"}


@pytest.mark.native
@pytest.mark.parametrize(
    "words",
    [
        "bench --algorithm MAYO-2 --operation verify", "gas --algorithm MAYO-2 --rounds 2",
        "chain --algorithm MAYO-2 --transactions 5", "chain --algorithm MAYO-2,Hawk-512",
        "consensus --algorithm MAYO-2 --costs measured --nodes 8",
        "plot sizes --algorithm MAYO-2,Falcon-512 --output sizes.svg",
    ],
)  # fmt: skip
def test_broken_scheme_is_never_shown_without_its_attack(words, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))  # gas times other verifiers if it has them
    monkeypatch.setenv(presets.PRESET_VARIABLE, "quick")
    captured = run(words)
    assert (captured.out + captured.err).count("MAYO-2 (round 2): broken. ") == 1


def test_plot_of_sound_schemes_names_no_attack(tmp_path, run) -> None:
    assert "broken" not in run(f"plot sizes --algorithm Falcon-512 --output {tmp_path}/a.svg").err
