"""Translation of the model's formulas into JavaScript, for the sliders of a page.

The page must compute what the model computes, so its program is made from the model's own Python
functions. A subset of Python suffices: arithmetic, comparisons, conditions, assignments, attributes
and calls. Anything else is an error when the page is written, not a wrong number.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from pqchain.errors import UsageError

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_COMPARED = {
    ast.Eq: "===", ast.NotEq: "!==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "===", ast.IsNot: "!==",
}  # fmt: skip
_UNARY = {ast.Not: "!", ast.USub: "-"}

_CALLS = {
    math.floor: "Math.floor", math.ceil: "Math.ceil", math.isfinite: "Number.isFinite",
    math.isnan: "Number.isNaN", math.exp: "Math.exp", math.log: "Math.log", min: "Math.min",
    max: "Math.max", float: "Number", math.fsum: "sum", range: "range",
}  # fmt: skip

PRELUDE = """\
const sum = (values) => values.reduce((total, value) => total + value, 0);
const range = (start, end) => Array.from({ length: Math.max(0, end - start) }, (_, i) => start + i);
const lookup = (values, key, other) => Object.hasOwn(values, key) ? values[key] : other;
const item = (values, key) => values instanceof Model ? values.get(key) : values[key];
"""


def name_of(function: Any) -> str:
    """Return the name of a translated function or class: that of its module and its own."""
    return f"{function.__module__.rpartition('.')[2]}_{function.__name__}"


def translate(functions: Iterable[Any], given: Mapping[Any, str]) -> str:
    """Return JavaScript that defines the functions and dataclasses by `name_of`.

    `given` has the JavaScript names of functions that the page defines itself. Raises UsageError
    for syntax, and for names, that have no translation.
    """
    functions = list(functions)
    known = {**_CALLS, **given, **{function: name_of(function) for function in functions}}
    return "\n".join(_Translator(function, known).definition() for function in functions)


def method(owner: type, name: str) -> Callable[..., Any]:
    """Return the function of a property or cached property."""
    found = inspect.getattr_static(owner, name)
    function: Any = found.func if isinstance(found, cached_property) else found.fget
    return function  # type: ignore[no-any-return]


class _Translator:
    def __init__(self, function: Any, known: Mapping[Any, str]) -> None:
        self._function, self._known = function, known
        module = inspect.getmodule(function)
        self._names = vars(module) if module else {}
        self._assigned: set[str] = set()

    def definition(self) -> str:
        node = ast.parse(textwrap.dedent(inspect.getsource(self._function))).body[0]
        name = name_of(self._function)
        if isinstance(node, ast.ClassDef):
            methods = [self._method(child) for child in node.body if _is_function(child)]
            fields = "constructor(fields) { Object.assign(this, fields); }"
            return f"class {name} {{\n{fields}\n" + "\n".join(methods) + "\n}"
        assert isinstance(node, ast.FunctionDef)
        return f"function {name}({self._parameters(node)}) {{\n{self._body(node)}}}"

    def _method(self, node: Any) -> str:
        getter = "get " if node.decorator_list else ""
        return f"{getter}{node.name}({self._parameters(node)}) {{\n{self._body(node)}}}"

    def _parameters(self, node: ast.FunctionDef) -> str:
        names = [argument.arg for argument in node.args.args if argument.arg != "self"]
        values = [f" = {self._expression(value)}" for value in node.args.defaults]
        padded = [""] * (len(names) - len(values)) + values
        self._arguments = set(names)
        return ", ".join(name + value for name, value in zip(names, padded, strict=True))

    def _body(self, node: ast.FunctionDef) -> str:
        self._assigned = set()
        text = "".join(map(self._statement, node.body))
        names = sorted(self._assigned - self._arguments)
        return f"let {', '.join(names)};\n{text}" if names else text

    def _statement(self, node: ast.stmt) -> str:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ""  # a docstring
        if isinstance(node, ast.Return) and node.value is not None:
            return f"return {self._expression(node.value)};\n"
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return f"{self._target(node.targets[0])} = {self._expression(node.value)};\n"
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return f"{self._target(node.target)} = {self._expression(node.value)};\n"
        if isinstance(node, ast.AugAssign):
            operator = _BINARY[type(node.op)]
            return f"{self._target(node.target)} {operator}= {self._expression(node.value)};\n"
        if isinstance(node, ast.If):
            text = f"if ({self._expression(node.test)}) {{\n{self._block(node.body)}}}"
            return text + (f" else {{\n{self._block(node.orelse)}}}\n" if node.orelse else "\n")
        raise self._unknown(node)

    def _block(self, nodes: Iterable[ast.stmt]) -> str:
        return "".join(map(self._statement, nodes))

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Tuple):
            return f"[{', '.join(map(self._target, node.elts))}]"
        if isinstance(node, ast.Name):
            self._assigned.add(node.id)
            return node.id
        if isinstance(node, ast.Subscript):
            return f"{self._expression(node.value)}[{self._expression(node.slice)}]"
        raise self._unknown(node)

    def _expression(self, node: ast.expr) -> str:
        translated = getattr(self, f"_{type(node).__name__.lower()}", None)
        if translated is None:
            raise self._unknown(node)
        text: str = translated(node)
        return text

    def _constant(self, node: ast.Constant) -> str:
        return "null" if node.value is None else json.dumps(node.value)

    def _name(self, node: ast.Name) -> str:
        if node.id == "self":
            return "this"
        if node.id in self._assigned or node.id in self._arguments:
            return node.id
        return self._global(node, self._names.get(node.id))

    def _global(self, node: ast.expr, value: Any) -> str:
        if callable(value) and value in self._known:
            return self._known[value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"inf": "Infinity", "nan": "NaN"}[str(value)]
        if isinstance(value, (int, float, str)):
            return json.dumps(value)
        raise self._unknown(node)

    def _resolve(self, node: ast.expr) -> Any:
        """Return the object of a dotted name of the module, or None for a local value."""
        if isinstance(node, ast.Name):
            is_local = node.id in self._assigned or node.id in self._arguments
            builtins = {"min": min, "max": max, "float": float, "range": range}
            return None if is_local else self._names.get(node.id, builtins.get(node.id))
        if isinstance(node, ast.Attribute):
            owner = self._resolve(node.value)
            return None if owner is None else getattr(owner, node.attr, None)
        return None

    def _attribute(self, node: ast.Attribute) -> str:
        value = self._resolve(node)
        return (
            f"{self._expression(node.value)}.{node.attr}"
            if value is None
            else (self._global(node, value))
        )

    def _subscript(self, node: ast.Subscript) -> str:
        return f"item({self._expression(node.value)}, {self._expression(node.slice)})"

    def _call(self, node: ast.Call) -> str:
        function = self._resolve(node.func)
        if function is not None and function not in self._known:
            # A function without arguments is a constant, such as the length of a header.
            if node.args or node.keywords:
                raise self._unknown(node)
            return json.dumps(function())
        arguments = list(map(self._expression, node.args))
        named = {str(row.arg): self._expression(row.value) for row in node.keywords}
        if inspect.isclass(function) and function not in _CALLS:
            fields = ", ".join(f"{name}: {value}" for name, value in named.items())
            return f"new {self._known[function]}({{ {fields} }})"
        if named:
            raise self._unknown(node)
        if function is None and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            key, default = arguments
            return f"lookup({self._expression(node.func.value)}, {key}, {default})"
        called = self._expression(node.func) if function is None else self._known[function]
        spread = "..." if function in (min, max) and len(arguments) == 1 else ""
        return f"{called}({spread}{', '.join(arguments)})"

    def _binop(self, node: ast.BinOp) -> str:
        operator = _BINARY.get(type(node.op))
        if operator is None:
            raise self._unknown(node)
        return f"({self._expression(node.left)} {operator} {self._expression(node.right)})"

    def _unaryop(self, node: ast.UnaryOp) -> str:
        return f"({_UNARY[type(node.op)]}{self._expression(node.operand)})"

    def _boolop(self, node: ast.BoolOp) -> str:
        operator = " && " if isinstance(node.op, ast.And) else " || "
        return f"({operator.join(map(self._expression, node.values))})"

    def _compare(self, node: ast.Compare) -> str:
        values = list(map(self._expression, [node.left, *node.comparators]))
        pairs = zip(values, node.ops, values[1:], strict=False)
        return f"({' && '.join(f'{a} {_COMPARED[type(op)]} {b}' for a, op, b in pairs)})"

    def _ifexp(self, node: ast.IfExp) -> str:
        test, yes, no = map(self._expression, (node.test, node.body, node.orelse))
        return f"({test} ? {yes} : {no})"

    def _namedexpr(self, node: ast.NamedExpr) -> str:
        return f"({self._target(node.target)} = {self._expression(node.value)})"

    def _tuple(self, node: ast.Tuple) -> str:
        return f"[{', '.join(map(self._expression, node.elts))}]"

    def _dict(self, node: ast.Dict) -> str:
        pairs = zip(node.keys, node.values, strict=True)
        fields = (f"{self._expression(k)}: {self._expression(v)}" for k, v in pairs if k)
        return f"{{ {', '.join(fields)} }}"

    def _generatorexp(self, node: ast.GeneratorExp) -> str:
        (loop,) = node.generators
        assert isinstance(loop.target, ast.Name)
        source = self._expression(loop.iter)
        self._arguments = self._arguments | {loop.target.id}
        return f"{source}.map(({loop.target.id}) => {self._expression(node.elt)})"

    def _dictcomp(self, node: ast.DictComp) -> str:
        (loop,) = node.generators
        # The only form in use: {name: ... for name, value in mapping.items()}.
        if not (isinstance(loop.target, ast.Tuple) and isinstance(loop.iter, ast.Call)):
            raise self._unknown(node)
        assert isinstance(loop.iter.func, ast.Attribute)
        names = [part.id for part in loop.target.elts if isinstance(part, ast.Name)]
        self._arguments = self._arguments | set(names)
        key, value = self._expression(node.key), self._expression(node.value)
        pairs = f"Object.entries({self._expression(loop.iter.func.value)})"
        return f"Object.fromEntries({pairs}.map(([{', '.join(names)}]) => [{key}, {value}]))"

    def _unknown(self, node: ast.AST) -> UsageError:
        return UsageError(
            f"{name_of(self._function)} must use the subset of Python that has a translation; got "
            f"{ast.unparse(node)!r}"
        )


def _is_function(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef)
