"""The script that holds the pages of a vLLM tree against the release that they are of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lint_upstream_docs

PAGE = """\
Run `vllm serve m --swap-space 4` or ...

    ```bash
    $ vllm serve <model> \\
        --tensor-parallel-size <n> --port 80 ...
    ```

```yaml
...
containers:
  - name: x
    command: ["vllm", "serve", "m", "--no-such"]
```

```python
subprocess.run("vllm serve m --neither")
```
"""

GONE = "--swap-space is gone since vLLM 0.18.0; the last release with it is 0.17.1"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text(PAGE)
    monkeypatch.setattr(lint_upstream_docs, "EXPLAINED", tmp_path / "explained.json")
    (tmp_path / "explained.json").write_text("[]")
    return tmp_path


def test_what_is_wrong_is_found_with_its_line(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint_upstream_docs.main([f"0.24.0={tree}"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "0.24.0 docs/page.md:12: lint.flag.unknown: no release of vLLM has --no-such",
        f"0.24.0 docs/page.md:1: lint.flag.removed: {GONE}",
        "0.24.0: 3 servers with 4 options, 2 findings",
    ]


def test_what_is_explained_is_no_fault_and_must_be_there(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def explain(*subjects: tuple[str, str]) -> None:
        entries = [
            {"release": "0.24.0", "file": "docs/page.md", "id": one, "subject": two, "why": "x"}
            for one, two in subjects
        ]
        (tree / "explained.json").write_text(json.dumps(entries))

    both = ("lint.flag.unknown", "--no-such"), ("lint.flag.removed", "--swap-space")
    explain(*both)
    assert lint_upstream_docs.main([f"0.24.0={tree}"]) == 0
    explain(*both, ("lint.flag.unknown", "--gone"))
    assert lint_upstream_docs.main([f"0.24.0={tree}"]) == 1
    assert "explained and not found: 0.24.0 docs/page.md lint.flag.unknown --gone" in (
        capsys.readouterr().out
    )


def test_every_exception_is_explained() -> None:
    path = Path(lint_upstream_docs.__file__).with_suffix(".json")
    assert all(each["why"] for each in json.loads(path.read_text()))
