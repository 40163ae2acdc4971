"""Text of users and files: no writer passes a character that acts on the reader's program."""

import argparse
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pqchain as pq
from pqchain import algorithms, schemes
from pqchain.bench import runs
from pqchain.checks import is_name
from pqchain.commands import console
from pqchain.costs import Costs
from pqchain.errors import UsageError, markdown, visible
from pqchain.render import html, latex, notebook
from pqchain.render.table import Column, Table, verdict
from tests import frames

CONTROLS = [*range(10), *range(11, 32), *range(127, 160), 0x061C, 0x200E, 0x200F]
CONTROLS += [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029, 0xD800, 0xDFFF]
ACTIVE = re.compile(f"[{''.join(map(chr, CONTROLS))}]")
"""Written out again, because the pattern of the module is what is tested."""

"""Colours, which pqchain writes and a text must not."""

HOSTILE = st.text(st.sampled_from([*map(chr, CONTROLS), *"a\x1b[2Jm;]0\n<>&|\\%$_"]), max_size=12)


def table_of(text: str) -> Table:
    columns = [Column(text, group=text), Column("value", numeric=True, group=text), Column("v")]
    rows = [[text, 1.0, verdict(text)], [f"x{text}", text, "y"]]
    return Table(columns=columns, rows=rows, caption=text, notes=[text], remarks=[text, ""])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written_by_console(text: str, *, stream: type = io.StringIO, **options: bool) -> str:
    arguments = argparse.Namespace(**{"json": False, "latex": False, **options})
    stdout, stderr = stream(), stream()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        console.show(arguments, {text: [text]}, table_of(text), text, remarks=[text, f"r{text}"])
    return stdout.getvalue() + stderr.getvalue()


WRITERS = {
    "file": lambda text: table_of(text).text(),
    "terminal": lambda text: table_of(text).text(40),
    "HTML": lambda text: html.document(text, [(text, text)], table_of(text).html()),
    "LaTeX": lambda text: table_of(text).latex() + latex.escaped(text),
    "Markdown": markdown,
    "notebook": lambda text: "".join(
        [shown.text, *shown.data.values()][at]
        for shown in (notebook.show(table_of(text)), notebook.sentence("{name}", name=text))
        for at in (0, 1)
    ),
    "command": written_by_console,
    "command on a terminal": lambda text: written_by_console(text, stream=Terminal),
    "command --json": lambda text: written_by_console(text, json=True),
    "command --latex": lambda text: written_by_console(text, latex=True),
}


@pytest.mark.parametrize("writer", WRITERS)
@given(text=HOSTILE)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_no_writer_passes_a_control_character(writer, text):
    assert not ACTIVE.search(WRITERS[writer](text))


@pytest.mark.parametrize("code", CONTROLS)
def test_every_control_character_is_escaped_as_in_json(code):
    assert visible(f"a{chr(code)}\n") == f"a\\u{code:04x}\n"
    assert json.loads(f'"{visible(chr(code))}"') == chr(code)


def test_json_output_has_the_text_itself(capsys):
    text = "\x1b[2J\x9b\u202e\x7f\U0001f512"
    console.print_json({"title": text})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"title": text} and not ACTIVE.search(printed)


@pytest.mark.parametrize(
    "text",
    ["<script>", "</p>", "<!--", "<?x", "[x](javascript:y)", "\\[x](javascript:y)", "[x][y]",
     "[x]: javascript:y", "a|b", "\\", "<", "]"],
)  # fmt: skip
def test_markdown_has_neither_html_nor_links(text):
    plain = markdown(text)
    assert (
        plain != text and plain.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\") == text
    )
    # What follows an odd number of backslashes is a character only.
    live = re.sub(r"\\.", "", f"{plain} ")
    assert not re.search(r"<(?=[A-Za-z/!?])|\](?=[(\[:])|\|", live)


BAD = [
    "=1+1", "+1", "-1", "@SUM(1)", "\uff1d1", "\t=1", "\r=1", "a\x1b[2J", "a\x00", "a\u202eb",
    "a\x85", "$\\frac$", "a" * 101, "a" * 5000, "", " ",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_names_that_are_not_plain_are_refused_at_every_definition(name):
    numbers = {"public_key_bytes": 9, "signature_bytes": 8, "sign_seconds": 1.0}
    numbers |= {"verify_seconds": 1.0, "source": "mine"}
    signer = type("Signer", (), {"name": name, "generate_keypair": id, "sign": id, "verify": id})
    signer.public_key_bytes = signer.secret_key_bytes = signer.signature_bytes = 8
    defining = [
        lambda: Costs.given(name, **numbers),
        lambda: schemes.from_table({"name": name, **numbers}),
        lambda: pq.register(signer),
    ]
    if name and name.strip() == name:  # the parser of --scheme strips spaces
        text = f"{name},public_key=1,signature=3,sign=2ms,verify=1ms"
        defining.append(lambda: pq.register(text))
    with algorithms.temporary_registrations():
        for define in defining:
            with pytest.raises(UsageError, match=r"printable characters|expected a text"):
                define()
    assert not is_name(name)


def test_names_of_code_are_refused_as_those_of_schemes():
    """The name of a class becomes that of an implementation, in a column of tables."""
    signer = dict.fromkeys(("generate_keypair", "sign", "verify"), id)
    signer |= dict.fromkeys(("public_key_bytes", "secret_key_bytes", "signature_bytes"), 8)
    with pytest.raises(UsageError, match="as its implementation, must be a text of 1 to 100"):
        pq.register(type("a" * 5000, (), {"name": "Mine", **signer}))


def test_names_of_the_registry_are_allowed():
    names = [*algorithms.ALGORITHMS, *algorithms.IMPLEMENTATIONS, "ML-DSA 44 (mine)", "내것"]
    assert [name for name in names if not is_name(name)] == []


def test_files_whose_names_are_formulas_do_not_name_runs(tmp_path):
    frame = frames.measurements(["Falcon-512"])
    frame.attrs["provenance"] = {}
    for name in ("=1+1.csv", "a$b$.csv", "a\x1b.csv"):
        path = pq.results.save(frame, tmp_path / name)
        with pytest.raises(UsageError, match="names of runs must be"):
            runs.concat_runs([path])
    assert len(runs.concat_runs([pq.results.save(frame, tmp_path / "a,b.csv")])) == len(frame)
