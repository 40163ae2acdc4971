"""Every pointer passed to native code has an owner in docs/design/memory-contract.md."""

import ast
import copy
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pqchain"
PAGE = ROOT / "docs/design/memory-contract.md"

CALLED = re.compile(r"(pq|pqb|pqq|bls|falcon|falcon_rtl|ec|slhdsa|shrincs)_[a-z0-9_]+")
"""Names of native functions; a new library's prefix belongs here."""

PREFIXES = ("pqq_", "falcon_")
"""What wrappers put before the name that is their first argument."""

EXTERNAL = {"ec_init_tables": 2, "ec_encode_data": 3}
"""Functions whose declarations are not in this repository, and how many pointers they take."""

RAW = re.compile(
    r"\bctypes\b|\bfrom_buffer\b|__array_interface__|\baddressof\b|\b_?ffi\b|\bfrom_address\b"
)


@cache
def declarations() -> dict[str, list[str]]:
    """Return the pointer parameters of every function declared in the native sources."""
    results: dict[str, list[str]] = {}
    folders = (PACKAGE / "native", ROOT / "hls_kernels/rtl/bench")
    files = [path for folder in folders for path in folder.rglob("*")]
    # Headers last: their parameter names take precedence.
    for path in sorted(files, key=lambda path: (path.suffix == ".h", path)):
        if path.suffix not in (".c", ".cpp", ".h") or "example" in path.name:
            continue
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8"), flags=re.S)
        for name, parameters in re.findall(r"\b(\w+)\s*\(([^(){};]*)\)\s*[;{]", text):
            results[name] = pointers(parameters.split(","))
        for body, name in re.findall(r"typedef struct \{([^{}]*)\} (\w+);", text):
            results[name] = pointers(body.split(";"))
    return results


def pointers(parameters: list[str]) -> list[str]:
    """Return the names of pointer parameters."""
    named = [each.strip() for each in parameters if "*" in each or "_fn " in each]
    return [match[0] for each in named if (match := re.search(r"\w+$", each))]


@cache
def sources() -> dict[str, ast.Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
        if "native" not in path.relative_to(PACKAGE).parts
    }


def mentioned(tree: ast.Module) -> set[str]:
    """Return the native functions that a module names as attributes or as text."""
    results = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            results.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            results.add(node.value)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            results |= {f"{prefix}{node.args[0].value}" for prefix in PREFIXES}
    return {name for name in results & {*declarations(), *EXTERNAL} if CALLED.fullmatch(name)}


def page() -> tuple[str, str]:
    """Return the two tables of the page."""
    text = PAGE.read_text(encoding="utf-8")
    _, functions, modules = re.split(r"## Pointer arguments|## Modules that handle addresses", text)
    return functions, modules


def rows() -> dict[str, list[str]]:
    """Return the documented pointer arguments by function."""
    results = {}
    for line in page()[0].splitlines():
        cells = line.split("|")
        if len(cells) != 5 or "(" not in cells[1]:
            continue
        for name, names in re.findall(r"`(\w+)\(([^()]*)\)`", cells[1]):
            assert name not in results, f"{name} has two rows"
            assert cells[2].strip() and cells[3].strip(), f"{name} has no owner, or no end"
            results[name] = [each.strip() for each in names.split(",")]
    return results


def test_every_pointer_argument_has_an_owner() -> None:
    stated = rows()
    used = set().union(*map(mentioned, sources().values()))
    assert {"pq_sign", "pqb_read", "pqq_lend", "bls_aggregate", "falcon_run_request"} <= used
    used |= {"pq_batch", "pqb_columns"}  # structures of pointers, passed to functions
    missing = {}
    for name in sorted(used - EXTERNAL.keys()):
        if (expected := declarations()[name]) and stated.get(name) != expected:
            missing[name] = expected
    assert not missing, f"state who owns these pointers, and until when, in {PAGE.name}: {missing}"
    for name, count in EXTERNAL.items():
        assert len(stated[name]) == count
    assert not stated.keys() - used, "these are not called any more"


def test_every_prototype_agrees_with_the_page() -> None:
    """Includes functions called by a composed name."""
    from pqchain.chain import bulk
    from pqchain.crypto import abi
    from pqchain.wire.transports import native_library

    stated = rows()
    for name, (_, parameters) in abi.PROTOTYPES.items():
        plain = (abi.SIZE, abi.NUMBER)
        assert len(stated.get(name, [])) == sum(
            parameter not in plain for parameter in parameters
        ), name
    for table in (bulk._FUNCTIONS, native_library._FUNCTIONS):
        for name, letters in table.items():
            assert len(stated.get(name, [])) == letters.count("p"), name
    fields = [name for name, kind in abi.BatchArguments._fields_ if kind is not abi.NUMBER]
    assert stated["pq_batch"] == fields


def test_modules_that_handle_addresses_are_listed() -> None:
    listed = set(re.findall(r"`([\w/]+\.py)`", page()[1]))
    results = {
        name
        for name, tree in sources().items()
        if RAW.search((PACKAGE / name).read_text(encoding="utf-8"))
        if RAW.search(ast.unparse(without_texts(tree)))
    }
    assert results == listed


def without_texts(tree: ast.Module) -> ast.AST:
    """Return the code without texts, which may mention ctypes."""

    class Drop(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.Constant:
            return ast.Constant("" if isinstance(node.value, str) else node.value)

    return Drop().visit(copy.deepcopy(tree))


@pytest.mark.parametrize("added", ["uint8_t *stray", "const uint64_t *table, size_t count"])
def test_undocumented_pointer_is_detected(monkeypatch: pytest.MonkeyPatch, added: str) -> None:
    known = {**declarations(), "pq_keypair": [*declarations()["pq_keypair"], *pointers([added])]}
    monkeypatch.setattr("tests.test_memory_contract.declarations", lambda: known)
    with pytest.raises(AssertionError, match="pq_keypair"):
        test_every_pointer_argument_has_an_owner()
