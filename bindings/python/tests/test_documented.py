"""The public calls' documentation has what numpydoc wants: each parameter, what comes back, and where to look for what goes wrong."""

import ast
from pathlib import Path

import pytest

import foresee


def public(name):
    tree = ast.parse((Path(foresee.__file__).parent / f"{name}.py").read_text())
    classes = [it for it in tree.body if isinstance(it, ast.ClassDef) and not it.name.startswith("_")]
    for body in [tree, *classes]:
        for it in body.body:
            if isinstance(it, (ast.FunctionDef, ast.AsyncFunctionDef)) and not it.name.startswith("_"):
                yield it


@pytest.mark.parametrize("name", ["cache", "hints", "simulator"])
def test_parameters_and_what_comes_back_are_described(name):
    lacking = {}
    for function in public(name):
        text = ast.get_docstring(function) or ""
        if text.startswith("As `"):
            # A twin for coroutines, which says of what.
            continue
        arguments = [it.arg for it in function.args.args + function.args.kwonlyargs if it.arg != "self"]
        wanted = ["Parameters", *arguments] if arguments else []
        # Plans are returned to be gone on with; what is a word is said in the first line.
        if ast.unparse(function.returns) not in ("None", "Plan", "bool", "str", "int"):
            wanted.append("Returns")
        if missing := [it for it in wanted if it not in text]:
            lacking[function.name] = missing
    assert lacking == {}
