import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lambdarr

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src").rglob("*.py"))


def test_all_is_exactly_what_can_be_imported():
    tree = ast.parse(Path(lambdarr.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))  # what a type checker sees
    imported = [alias.name for node in checked.body for alias in node.names]
    assert sorted(imported) == lambdarr.__all__ == sorted(lambdarr._HOMES)
    assert set(lambdarr.__all__) <= set(dir(lambdarr))
    for name in lambdarr.__all__:
        assert getattr(lambdarr, name).__name__.rpartition(".")[2] == name
    with pytest.raises(AttributeError, match="nobody"):
        lambdarr.nobody  # noqa: B018


def test_importing_lambdarr_imports_no_engine_and_nothing_slow():
    engines = "pandas polars duckdb pyspark dask ibis narwhals numba scipy altair fastapi rich typer matplotlib"
    code = f"import sys; from lambdarr import *; print(*[name for name in '{engines}'.split() if name in sys.modules])"
    assert printed(code) == ""


def test_help_and_the_client_wait_for_no_array_library():
    for module in ("lambdarr.cli.app", "lambdarr.client"):
        assert (
            printed(f"import sys, {module}; print('numpy' in sys.modules, 'pyarrow' in sys.modules)") == "False False"
        )


def printed(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_cited_equation_exists(path):
    numbers = set(re.findall(r"\\tag\{(\d+)\}", (ROOT / "docs" / "theory.md").read_text()))
    for line in path.read_text().splitlines():
        if "theory.md" in line:
            assert set(re.findall(r"\((\d+)\)", line)) <= numbers


@pytest.mark.parametrize("name", lambdarr.__all__)
def test_every_public_name_is_documented(name):
    assert getattr(lambdarr, name).__doc__
    assert f"lr.{name}" in (ROOT / "docs" / "reference.md").read_text()


def test_every_option_of_the_command_line_is_explained():
    from typer.main import get_command

    from lambdarr.cli import app

    for command in get_command(app).commands.values():
        assert command.help
        assert command.epilog.startswith("Example: lambdarr ")
        for parameter in command.params:
            assert parameter.help, (command.name, parameter.name)


def test_exception_tree_in_the_docstring_is_complete():
    from lambdarr import errors

    classes = {name for name, thing in vars(errors).items() if isinstance(thing, type)}
    assert classes <= set(re.findall(r"\w+(?:Error|Warning)", errors.__doc__))
