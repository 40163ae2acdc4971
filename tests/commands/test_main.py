"""The command line: what goes where, and which exit code answers."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pqchain import results
from pqchain.bench import blocks as blockbench
from pqchain.bench import operations as bench
from pqchain.bench import presets
from pqchain.commands import console as commands
from pqchain.commands import doctor
from pqchain.commands import main as cli
from pqchain.commands.main import main
from pqchain.errors import CryptoFailure
from pqchain.report import figures
from pqchain.works.quic_reencoding import work as reencoding
from tests import frames
from tests.report.test_reproduce import fake_measure, fake_replays
from tests.works import studies


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pqchain", *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture
def measured(monkeypatch):
    """Stand in for the benchmark; remembers how it was called."""
    calls = []

    def measure(names, operations, implementations, *, preset, progress, keep_samples):
        calls.append((names, operations, implementations, preset, keep_samples))
        frame = frames.measurements(names or ["Falcon-512", "Hawk-512"])
        frame.attrs["provenance"] |= {"preset": preset}
        if keep_samples:
            samples = frame[["algorithm", "implementation", "operation"]].assign(
                index=0, warmup=False, seconds=1e-3, cycles=float("nan")
            )
            frame.attrs["samples"] = results.check(samples, bench.SAMPLES)
        return frame

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.delenv(presets.PRESET_VARIABLE, raising=False)
    return calls


def test_presets_are_those_of_the_benchmark():
    assert tuple(presets.PRESETS) == cli.PRESETS


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["algorithms"],
        ["papers"],
        ["bench"],
        ["doctor"],
        ["reproduce"],
        ["chain"],
        ["consensus"],
    ],
)
def test_help_teaches_by_examples(arguments, capsys):
    assert main([*arguments, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "examples:\n" in shown
    assert "pqchain" in shown
    assert "--json" in shown


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("bench", "2 to 3 minutes for everything"),
        ("chain", "about 2 minutes for --all"),
        ("reproduce", "2 to 3 minutes for all works on 4 idle cores"),
    ],
)
def test_the_help_says_how_long_that_command_takes(command, said, capsys):
    assert main([command, "--help"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("pqchain ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["bnech"], "invalid choice"),
        (["algorithms", "--family", "Falcn"], "did you mean 'Falcon'?"),
        (["papers", "pqdpool"], "did you mean 'pqdpol'?"),
        (["papers", "pqdpol", "table9"], "table"),
        (["papers", "--findings"], "no work was named"),
        (["papers", "pqdpol", "table4", "--findings"], "the table table4 was named"),
        (["algorithms", "--implementations", "--family", "Falcon"], "--family selects algorithms"),
        (["algorithms", "--implementations", "--kind", "kem"], "--kind selects algorithms"),
        (["algorithms", "--implementations", "--all"], "--all selects algorithms"),
        (["bench", "--algorithm", "Falcon512"], "Falcon-512"),
        (["bench", "--algorithm", ","], "holds no name"),
        (["bench", "--preset", "slow"], "invalid choice"),
        (["bench", "--samples"], "needs --output"),
        (["bench", "--algorithm", "Falcon-512", "--operation", "encapsulate"], "no encapsulate;"),
        (["bench", "--output", "times.txt"], "should end in .csv"),
        (["reproduce", "--only", "nobody"], "unknown paper 'nobody'"),
    ],
)
def test_wrong_use_is_2_and_says_what_to_do(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_algorithms_as_json_is_the_registry(capsys):
    assert main(["algorithms", "--json", "--all", "--kind", "signature"]) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    falcon = records["Falcon-512"]
    assert (falcon["public_key_bytes"], falcon["signature_max_bytes"]) == (897, 752)
    assert falcon["security_source"]
    assert "Falcon 512" in falcon["aliases"]
    assert records["ML-DSA-44"]["avx2_corrected"]
    assert "OV-Is" in records
    assert "Kyber512" not in records


def test_algorithms_as_text_is_aligned_and_talks_to_stderr(capsys):
    assert main(["algorithms", "--family", "Falcon"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert len(lines) == 2 + 4
    assert len({line.index("draft") for line in lines[2:]}) == 1
    assert "~655" in captured.out
    assert "Sizes in bytes" in captured.err


def test_implementations_say_whether_they_run_here(capsys):
    assert main(["algorithms", "--implementations", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert all(record["available"] == (record["reason"] == "") for record in records)
    assert main(["algorithms", "--implementations"]) == 0
    assert "liboqs-0.13/ref" in capsys.readouterr().out


def test_papers_are_listed_and_shown(capsys):
    assert main(["papers"]) == 0
    assert "round3" in capsys.readouterr().out
    assert main(["papers", "pqdpol"]) == 0
    shown = capsys.readouterr().out
    assert "Intel i3-6100U" in shown
    assert "table6" in shown
    assert "0.4907" in shown
    assert main(["papers", "--json"]) == 0
    assert {work["key"] for work in json.loads(capsys.readouterr().out)} >= {"pqdpol", "round3"}
    assert main(["papers", "falcon-hls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title_korean"].startswith("HLS")


def test_a_table_is_shown_as_printed(capsys):
    assert main(["papers", "pqdpol", "table4"]) == 0
    captured = capsys.readouterr()
    assert "11.444\N{NARROW NO-BREAK SPACE}ms" in captured.out
    assert "section 4.3" in captured.err
    assert main(["papers", "pqdpol", "table4", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"][0]["sign_seconds"] == 0.000163
    assert shown["units"]["sign_seconds"] == "s"


def test_numbers_without_a_value_are_null(capsys):
    assert main(["papers", "mini-blockchain", "blockchain", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["value"] for row in rows if row["quantity"] == "block_hash"} == {None}


def test_bench_shows_medians_and_reasons(measured, capsys):
    assert main(["bench"]) == 0
    shown = capsys.readouterr().out
    assert "310\N{NARROW NO-BREAK SPACE}µs" in shown
    assert "unsupported: no implementation of Hawk-512" in shown
    assert measured == [(None, None, None, "quick", False)]


def test_bench_takes_names_repeated_and_by_commas(measured, capsys):
    arguments = "--algorithm falcon-512,ed25519 --algorithm Kyber512 --operation sign --json"
    assert main(["bench", *arguments.split(), "--preset", "paper"]) == 0
    assert measured == [(["Falcon-512", "Ed25519", "Kyber512"], ["sign"], None, "paper", False)]
    shown = json.loads(capsys.readouterr().out)
    assert shown["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]
    assert shown["measurements"][0]["status"] == "ok"


def test_bench_takes_its_preset_from_the_environment(measured, monkeypatch, capsys):
    monkeypatch.setenv(presets.PRESET_VARIABLE, "paper")
    assert main(["bench"]) == 0
    monkeypatch.setenv(presets.PRESET_VARIABLE, "papers")
    assert main(["bench"]) == 2
    assert measured == [(None, None, None, "paper", False)]
    assert "'papers'" in capsys.readouterr().err


def test_bench_saves_with_provenance_and_samples(measured, tmp_path, capsys):
    output = tmp_path / "times.csv"
    assert main(["bench", "--output", str(output), "--samples"]) == 0
    saved = results.load(output)
    assert saved.attrs["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]
    samples = results.load(tmp_path / "times-samples.csv")
    assert len(samples) == len(saved)
    assert "times-samples.csv" in capsys.readouterr().err


def test_a_failed_operation_is_1(monkeypatch, capsys):
    frame = frames.measurements(["Falcon-512"])
    frame.attrs["provenance"] |= {"preset": "quick"}
    frame.loc[0, "status"] = "failed"
    monkeypatch.setattr(bench, "measure", lambda *given, **named: frame)
    assert main(["bench"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "--algorithm", "Falcon-512", "--implementation", "hawk/avx2"],
        ["chain", "--algorithm", "Hawk-512", "--implementation", "liboqs-0.13/avx2"],
        ["chain", "--algorithm", "Falcon-512", "--public-key", "recovered"],
    ],
)
def test_a_table_in_which_nothing_ran_is_1_and_says_why(arguments, capsys):
    assert main(arguments) == 1
    assert "unsupported" in capsys.readouterr().out


def test_an_error_of_ours_is_1_and_one_line(monkeypatch, capsys):
    def fail(*given, **named):
        raise CryptoFailure("the key may be damaged")

    monkeypatch.setattr(bench, "measure", fail)
    assert main(["bench"]) == 1
    assert capsys.readouterr().err == "pqchain: the key may be damaged\n"


def test_a_folder_that_cannot_be_made_is_1(tmp_path, monkeypatch, capsys):
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    assert main(["reproduce", "--output", str(occupied / "below")]) == 1
    assert "cannot read or write" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["bench", "chain", "reencode", "consensus"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    command, measured, blocks, tmp_path, capsys
):
    (tmp_path / "a.json").mkdir()
    for name, said in (("none/a.csv", "there is no folder"), ("a.csv", "a.json is a folder")):
        assert main([command, "--output", str(tmp_path / name)]) == 2
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.out == ""
    assert measured == blocks == []
    assert [child.name for child in tmp_path.iterdir()] == ["a.json"]


def test_the_place_of_the_samples_is_looked_at_too(measured, tmp_path, capsys):
    (tmp_path / "a-samples.csv").mkdir()
    assert main(["bench", "--output", str(tmp_path / "a.csv"), "--samples"]) == 2
    assert "a-samples.csv is a folder" in capsys.readouterr().err
    assert measured == []


def test_interruption_is_130(monkeypatch, capsys):
    def interrupt(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "measure", interrupt)
    assert main(["bench"]) == 130
    assert capsys.readouterr().err == "pqchain: interrupted\n"


@pytest.fixture
def blocks(monkeypatch):
    """Stand in for the measurement of blocks; remembers how it was called."""
    calls = []

    def measure(names, **options):
        calls.append((names, options))
        frame = frames.blocks(names)
        frame.attrs["provenance"] |= {"preset": options["preset"]}
        return frame

    monkeypatch.setattr(blockbench, "measure_blocks", measure)
    monkeypatch.delenv(presets.PRESET_VARIABLE, raising=False)
    return calls


def test_chain_tells_one_block_in_words_and_many_in_a_table(blocks, capsys):
    assert main(["chain"]) == 0
    assert "Falcon-512" in capsys.readouterr().out.splitlines()[0]
    assert main(["chain", "--all", "--threads", "1,4", "--transactions", "7"]) == 0
    shown = capsys.readouterr().out
    assert "Hawk-512" in shown
    assert "unsupported: no Hawk-512 here" in shown
    (first, _), (second, options) = blocks
    assert (first, second) == (["Falcon-512"], None)
    assert (options["threads"], options["transactions"]) == ([1, 4], 7)


def test_chain_as_json_and_as_a_file(blocks, tmp_path, capsys):
    output = tmp_path / "blocks.csv"
    assert main(["chain", "--algorithm", "Hawk-512", "--json", "--output", str(output)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["blocks"][0]["block_bytes"] is None
    assert found["blocks"][0]["status"] == "unsupported"
    assert len(results.load(output)) == len(found["blocks"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--all", "--algorithm", "Ed25519"], "exclude each other"),
        (["--threads", "many"], "expected whole numbers"),
        (["--output", "blocks.txt"], "should end in .csv"),
        (["--algorithm", "Falcon512"], "did you mean 'Falcon-512'"),
        (["--transactions", "0"], "transactions is 0"),
        (["--data-bytes", "-1"], "data_bytes is -1; expected a whole number from 0 to 65535"),
        (["--data-bytes", "70000"], "data_bytes is 70000"),
        (["--algorithm", "Falcon-512+Falcon-512"], "each once"),
    ],
)
def test_wrong_use_of_chain_is_2(arguments, said, capsys):
    assert main(["chain", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


def test_reproduce_writes_the_page_and_says_where(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    output = tmp_path / "results"
    assert main(["reproduce", "--output", str(output), "--only", "falcon-hls"]) == 0
    captured = capsys.readouterr()
    assert captured.out.strip() == str(output / "index.html")
    assert "holds" in captured.err
    assert (output / "index.html").is_file()


def test_reproduce_prints_tables_5_and_6_of_pqdpol(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(figures, "drawn", lambda done: {})
    studies.small(monkeypatch)
    output = tmp_path / "results"
    assert main(["reproduce", "--output", str(output), "--only", "pqdpol"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Table 5, transactions per second: printed, and modelled")
    assert "\nTable 6, latency: printed, and modelled" in shown
    assert shown.splitlines()[-1] == str(output / "index.html")
    assert main(["reproduce", "--output", str(output), "--only", "pqdpol", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["pqdpol_tables"]
    assert len(cells) == 60
    assert {cell["costs"] for cell in cells} == {"paper:pqdpol", "measured:test-machine-00000000"}


def test_reproduce_prints_table_1_of_round3(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(figures, "drawn", lambda done: {})
    studies.small(monkeypatch)
    output = tmp_path / "results"
    assert main(["reproduce", "--output", str(output), "--only", "round3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("KEM ")
    assert "\nsignature " in shown
    assert shown.splitlines()[-1] == str(output / "index.html")
    assert main(["reproduce", "--output", str(output), "--only", "round3", "--json"]) == 0
    columns = json.loads(capsys.readouterr().out)["round3_table1"]
    assert len(columns) == 14
    assert {column["status"] for column in columns} == {"ok"}
    monkeypatch.setattr(reencoding, "reproduce", fake_replays)
    assert main(["reproduce", "--output", str(output)]) == 0
    assert capsys.readouterr().out.strip() == str(output / "index.html")


def test_reproduce_prints_the_replays_of_the_re_encoding(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(reencoding, "reproduce", fake_replays)
    arguments = ["reproduce", "--output", str(tmp_path), "--only", "quic-reencoding"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Table 1, printed and replayed")
    assert shown.splitlines()[-1] == str(tmp_path / "index.html")
    names = ("table1", "figure1", "contrast", "transports", "runs")
    assert all((tmp_path / "quic-reencoding" / f"{name}.csv").is_file() for name in names)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Where the time goes" in page
    assert 'id="figure-quic-reencoding-phases"' in page
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["quic_reencoding"]
    assert set(found) == {"table1", "figure1", "contrast", "transports"}


def test_reproduce_fails_on_a_failed_computation_only(tmp_path, monkeypatch, capsys):
    def fail(measured):
        measured.loc[0, "status"] = "failed"

    studies.small(monkeypatch)
    monkeypatch.setattr(bench, "measure", fake_measure(fail))
    arguments = ["reproduce", "--output", str(tmp_path), "--only", "pqdpol", "--json"]
    assert main(arguments) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"] is False
    assert len(shown["failures"]) == 1
    assert shown["operations_timed"]["failed"] == 1
    assert shown["statements_by_the_print"]["holds"] > 0


def test_doctor_is_1_only_if_something_essential_is_broken(monkeypatch, capsys):
    optional = doctor.Finding("Group", "pynq", "missing", "absent", disables="boards")
    broken = doctor.Finding("Group", "library", "broken", "bad", disables="x", mend="make")
    monkeypatch.setattr(doctor, "examine", lambda: [optional])
    assert main(["doctor"]) == 0
    assert "Nothing essential is broken; 1 optional part is missing." in capsys.readouterr().out
    monkeypatch.setattr(doctor, "examine", lambda: [optional, broken])
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "!!  library" in shown
    assert "to mend:  make" in shown
    assert main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["healthy"] is False


@pytest.mark.parametrize(
    "arguments",
    [["algorithms"], ["papers", "round3"], ["doctor"], ["algorithms", "--implementations"]],
)
def test_stdout_of_a_process_is_clean_json(arguments):
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def test_a_terminal_without_unicode_is_served(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    assert main(["papers", "pqdpol", "table4"]) == 0
    assert b"163 us" in buffer.getvalue()
    assert main(["papers", "falcon-hls", "--json"]) == 0
    text = buffer.getvalue().partition(b"{")[2].decode("ascii")
    assert json.loads("{" + text)["title_korean"].startswith("HLS 를")


def test_a_reader_that_leaves_early_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "pqchain", "algorithms", "--all", "--json"],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("closed", "code", "said"), [(">&-", 2, "stdout is closed"), ("2>&-", 0, "")]
)
def test_a_closed_stream_is_no_traceback(closed, code, said):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m pqchain algorithms --family Falcon {closed}', sys.executable],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert ("Falcon-512" in done.stdout) == (code == 0)


def test_help_loads_nothing_heavy():
    probe = (
        "import sys; from pqchain.commands.main import main; code = main(['--help']); "
        "heavy = {'numpy', 'pandas', 'matplotlib', 'oqs', 'tqdm'} & set(sys.modules); "
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_terminated_replay_leaves_nothing_behind(tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-m", "pqchain", "reencode", "--block-bytes", "20000000"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in run.stderr:
        if "idle machine" in line:
            break
    # A chunk lies in a store: what `tempfile` tries out when it is first asked is gone by then.
    while not any(tmp_path.glob("*/*/*")) and run.poll() is None:
        time.sleep(0.01)
    run.terminate()
    assert run.wait(60) == 128 + signal.SIGTERM
    run.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_said_in_a_line(monkeypatch, capsys):
    def run(arguments):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(commands, "list_algorithms", run)
    assert main(["algorithms"]) == 1
    assert "out of memory (Unable to allocate 9 TiB); ask for less" in capsys.readouterr().err
