"""The package as a whole."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import filigree
import pytest
import torch


def test_version_is_that_of_the_project():
    project = (Path(__file__).parents[2] / "CMakeLists.txt").read_text()
    assert filigree.__version__ == re.search(r"project\(filigree VERSION (\S+)", project).group(1)


@pytest.mark.parametrize("name", sorted(set(filigree.__all__) - {"__version__"}))
def test_every_public_name_has_help(name):
    thing = getattr(filigree, name)
    assert len(inspect.getdoc(thing).splitlines()[0]) > 10
    assert inspect.signature(thing).parameters


def test_importing_again_registers_nothing_twice():
    program = (
        "import sys, filigree\n"
        "for name in [name for name in sys.modules if name.startswith('filigree')]:\n"
        "    del sys.modules[name]\n"
        "import filigree, torch\n"
        "assert filigree.entmax(torch.zeros(2))[0] == 0.5\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_operators_are_there_for_others():
    X = torch.randn(3, 4)
    assert torch.equal(torch.ops.filigree.entmax(X, 1.5), filigree.entmax15(X))
