"""Compare the size of each package with the limits in size.toml, for `make check`.

Ends with exit code 1 if a package has more lines than its limit, a public class name stands for
several classes, a module is too long, or modules import each other. With --write, lower the limits
of size.toml to the present lines. Only an edit of size.toml raises one, which a reviewer sees.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import grimp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tools" / "size.toml"

ROOTS = ("pqchain", "pqchain_conform", "pqchain_engines")
MODULES = ("pqchain/*.py", "packages/*/pqchain_*/*.py")


def tracked(*patterns: str) -> list[str]:
    """Return the files of the checkout that match a pattern, without ignored and deleted ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in names.splitlines() if (ROOT / name).is_file())


def package(path: str) -> str:
    """Return the package of a file: its folder below that of the project, or that one itself."""
    parts = Path(path).parent.parts
    if parts[:1] == ("packages",):
        return "/".join(parts[:2])
    return parts[1] if len(parts) > 1 else "(top)"


def count_lines() -> dict[str, dict[str, int]]:
    """Return the lines of each package by kind: Python, TOML, tests."""
    kinds = {
        "python": MODULES,
        "toml": ["pqchain/*.toml", "packages/*.toml", ":!*/data/*", ":!*/pyproject.toml"],
        "tests": ["conftest.py", "tests/*.py", "packages/*/tests/*.py"],
    }
    lines: dict[str, dict[str, int]] = {}
    for kind, patterns in kinds.items():
        count: Counter[str] = Counter()
        for path in tracked(*patterns):
            count[package(path)] += len((ROOT / path).read_bytes().splitlines())
        lines[kind] = dict(sorted(count.items()))
    return lines


def longer_modules(longest: int) -> list[str]:
    """Return the modules of the packages with more than `longest` lines."""
    modules = tracked(*MODULES)
    return [path for path in modules if len((ROOT / path).read_bytes().splitlines()) > longest]


def public_classes() -> dict[str, list[str]]:
    """Return the modules that define each public class name outside of functions."""
    modules = defaultdict(list)
    for path in tracked(*MODULES):
        for node in ast.parse((ROOT / path).read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(path)
    return modules


def import_graph() -> dict[str, set[str]]:
    """Return the modules that each module of the packages imports, also within functions."""
    graph = grimp.build_graph(*ROOTS, cache_dir=None)
    at_run_time = grimp.build_graph(*ROOTS, exclude_type_checking_imports=True, cache_dir=None)
    # For type checkers a package imports the modules whose names it exports; these imports do not
    # count. Those of a module do: modules whose types depend on each other are one module.
    imports = {
        module: (at_run_time if graph.find_children(module) else graph)
        .find_modules_directly_imported_by(module) - {module}
        for module in graph.modules
    }  # fmt: skip
    return {**imports, "pqchain": set()}


def find_cycles() -> Iterator[list[str]]:
    """Find modules that import each other."""
    imports = import_graph()
    while True:
        try:
            TopologicalSorter(imports).prepare()
            return
        except CycleError as error:
            cycle = error.args[1]
            yield sorted(set(cycle))
            imports[cycle[1]].discard(cycle[0])


def find_excesses(limits: dict[str, Any]) -> Iterator[str]:
    """Find what exceeds the limits, and exceptions that nothing needs any more."""
    for kind, packages in count_lines().items():
        for name, lines in packages.items():
            if lines > (limit := limits[kind].get(name, 0)):
                yield f"{kind}: {name} has {lines} lines; at most {limit}"
    longest = limits["modules"]["lines"]
    shared = {name: paths for name, paths in public_classes().items() if len(paths) > 1}
    for exceptions, found, text in (
        (limits["modules"]["longer"], longer_modules(longest), f"has more than {longest} lines"),
        (limits["classes"]["shared"], shared, "is the name of several classes"),
        (limits["imports"]["cycles"], list(find_cycles()), "import each other"),
    ):
        yield from (f"{one} {text}" for one in found if one not in exceptions)
        yield from (f"size.toml excepts {one} in vain: delete it" for one in exceptions
                    if one not in found)  # fmt: skip


def lower_limits(limits: dict[str, Any]) -> None:
    """Lower the limits in size.toml to the present lines, and remove those without a package."""
    text = LIMITS.read_text("utf-8")
    for kind, packages in count_lines().items():
        for name, limit in limits[kind].items():
            old, lines = f'"{name}" = {limit}\n', packages.get(name)
            new = "" if lines is None else f'"{name}" = {min(lines, limit)}\n'
            head, separator, tail = text.partition(f"[{kind}]\n")
            text = head + separator + tail.replace(old, new, 1)
    LIMITS.write_text(text, "utf-8")


def main(arguments: list[str]) -> int:
    """Print what exceeds a limit, and the sums; return the exit code."""
    limits = tomllib.loads(LIMITS.read_text("utf-8"))
    if arguments == ["--write"]:
        lower_limits(limits)
    elif arguments:
        print("usage: size.py [--write]", file=sys.stderr)
        return 2
    for kind, packages in count_lines().items():
        print(f"{kind}: {sum(packages.values())} lines; limit {sum(limits[kind].values())}")
    excesses = list(find_excesses(limits))
    print("\n".join(excesses or ["every package is within the limits of tools/size.toml"]))
    return 1 if excesses else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
