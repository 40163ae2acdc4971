import importlib.util
import subprocess
from pathlib import Path

import pytest

LIMITS = {
    "python": {"chain": 4}, "toml": {}, "tests": {}, "modules": {"lines": 4, "longer": []},
    "classes": {"shared": []}, "imports": {"cycles": []},
}  # fmt: skip

PACKAGE = "../packages/engines/pqchain_engines/a.py"


@pytest.fixture
def size(tmp_path, monkeypatch):
    path = Path(__file__).parents[2] / "tools/size.py"
    specification = importlib.util.spec_from_file_location("size", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "import_graph", lambda: {"a": {"b"}, "b": set()})
    (tmp_path / "pqchain/chain").mkdir(parents=True)
    (tmp_path / "pqchain/chain/block.py").write_text("class Block:\n    pass\n")
    (tmp_path / "packages/engines/pqchain_engines").mkdir(parents=True)
    return module


def test_package_within_its_limits_has_no_excess(size):
    assert list(size.find_excesses(LIMITS)) == []
    limits = {**LIMITS, "classes": {"shared": ["Block"]}}
    assert list(size.find_excesses(limits)) == ["size.toml excepts Block in vain: delete it"]


@pytest.mark.parametrize(
    ("name", "content", "excess"),
    [
        ("chain/view.py", "a = 1\nb = 2\nc = 3\n", "python: chain has 5 lines; at most 4"),
        ("chain/view.py", "class Block: ...\n", "Block is the name of several classes"),
        ("view.toml", "a = 1\n", "toml: (top) has 1 lines; at most 0"),
        ("chain/block.py", "\n" * 5, "pqchain/chain/block.py has more than 4 lines"),
        (PACKAGE, "class Block: ...\n", "Block is the name of several classes"),
        (PACKAGE, "a = 1\n", "python: packages/engines has 1 lines; at most 0"),
    ],
)
def test_excess_is_found(size, name, content, excess):
    (size.ROOT / "pqchain" / name).write_text(content)
    assert excess in list(size.find_excesses(LIMITS))


def test_modules_that_import_each_other_are_found(size, monkeypatch):
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}}
    monkeypatch.setattr(size, "import_graph", lambda: graph)
    assert sorted(size.find_cycles()) == [["a", "b", "c"], ["d", "e"]]


def test_limits_are_lowered_and_never_raised(size, monkeypatch):
    monkeypatch.setattr(size, "LIMITS", size.ROOT / "size.toml")
    size.LIMITS.write_text('[python]\n"chain" = 9\n"gone" = 3\n[toml]\n[tests]\n"chain" = 9\n')
    size.lower_limits({"python": {"chain": 9, "gone": 3}, "toml": {}, "tests": {"chain": 9}})
    assert size.LIMITS.read_text() == '[python]\n"chain" = 2\n[toml]\n[tests]\n'
