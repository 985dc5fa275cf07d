from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dsv4_build.durable import digests, flush, intact


def _outputs(tmp_path: Path) -> Path:
    result = tmp_path / "result"
    (result / "deep").mkdir(parents=True)
    (result / "a").write_bytes(b"one")
    (result / "deep" / "b").write_bytes(b"two")
    return result


def test_every_file_has_its_digest_by_its_place(tmp_path: Path) -> None:
    result = _outputs(tmp_path)
    assert digests(tmp_path, [result]) == {
        "result/a": hashlib.sha256(b"one").hexdigest(),
        "result/deep/b": hashlib.sha256(b"two").hexdigest(),
    }
    assert list(digests(tmp_path, [result / "a"])) == ["result/a"]


def test_only_the_same_bytes_under_the_same_names_are_intact(tmp_path: Path) -> None:
    result = _outputs(tmp_path)
    recorded = digests(tmp_path, [result])
    assert intact(tmp_path, [result], recorded)
    (result / "a").write_bytes(b"onf")
    assert not intact(tmp_path, [result], recorded)
    (result / "a").write_bytes(b"one")
    (result / "more").touch()
    assert not intact(tmp_path, [result], recorded)
    (result / "more").unlink()
    (result / "a").unlink()
    assert not intact(tmp_path, [result], recorded)


def test_nothing_is_never_intact(tmp_path: Path) -> None:
    assert not intact(tmp_path, [tmp_path / "none"], {"none": ""})
    assert not intact(tmp_path, [], {})


def test_flushing_a_place_that_is_not_there(tmp_path: Path) -> None:
    flush(tmp_path)
    with pytest.raises(FileNotFoundError):
        flush(tmp_path / "none")
