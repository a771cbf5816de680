"""The examples of the manual run as they are printed, one after the other."""

import re
from pathlib import Path


def test_examples_of_the_manual_run(capsys):
    manual = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", manual, flags=re.DOTALL)
    assert len(examples) >= 3
    names = {}
    for example in examples:
        exec(example, names)
    assert (names["weights"] == 0).float().mean() > 0.5
    assert "tensor([1." in capsys.readouterr().out
