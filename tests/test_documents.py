"""README, pages and docstrings are executed: Python blocks as one script per page, console blocks through a shell."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PEOPLE = "sex,smokes\n" + "F,no\nM,yes\nF,yes\nM,no\n" * 200


def blocks(page, language):
    return [code for kind, code in _BLOCK.findall(page.read_text()) if kind == language]


def run(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda page: page.stem)
def test_python_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    run([sys.executable, "-c", "\n".join(blocks(page, "python"))], tmp_path)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "console")], ids=lambda page: page.stem)
def test_commands_of_a_page_run_from_top_to_bottom(page, tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    assert run([shutil.which("bash"), "-e", "-c", "\n".join(commands)], tmp_path)


def test_pages_name_only_files_that_exist():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)
