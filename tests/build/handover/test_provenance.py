from __future__ import annotations

import json
from pathlib import Path

from tests.build.handover import made

from dsv4_build.handover import provenance

SUBJECT = ("vllm-0.24.0+cu130.sm90-cp38-abi3-linux_x86_64.whl", "c" * 64)
TIMES = ("2026-01-01T00:00:00+00:00", "2026-01-01T01:00:00+00:00")


def test_it_is_a_statement_of_slsa_about_the_wheel(tmp_path: Path) -> None:
    content = provenance.statement(made.plan(tmp_path), SUBJECT, made.MATERIALS, TIMES)
    assert content["_type"] == "https://in-toto.io/Statement/v1"
    assert content["predicateType"] == "https://slsa.dev/provenance/v1"
    assert content["subject"] == [{"name": SUBJECT[0], "digest": {"sha256": SUBJECT[1]}}]
    predicate = content["predicate"]
    # What SLSA's specification requires of a producer.
    assert {"buildType", "externalParameters", "resolvedDependencies"} <= set(
        predicate["buildDefinition"]
    )
    assert predicate["runDetails"]["builder"]["id"]
    assert predicate["runDetails"]["metadata"]["startedOn"] == TIMES[0]
    assert json.loads(provenance.render(content)) == content


def test_dependencies_have_digests_where_there_are_any(tmp_path: Path) -> None:
    definition = provenance.definition(made.plan(tmp_path), made.MATERIALS)
    by_name = {each["name"]: each for each in definition["resolvedDependencies"]}
    assert by_name["vllm"]["digest"] == {"sha256": "a" * 64}
    assert by_name["vllm-flash-attn"]["digest"] == {"gitCommit": made.COMMIT}
    assert "digest" not in by_name["torch"]


def test_what_was_asked_for_and_used_is_the_same_in_every_run(tmp_path: Path) -> None:
    first, second = (
        provenance.statement(made.plan(tmp_path / name), SUBJECT, made.MATERIALS, times)
        for name, times in (("a", TIMES), ("b", ("2027-01-01T00:00:00+00:00", TIMES[1])))
    )
    assert first["predicate"]["buildDefinition"] == second["predicate"]["buildDefinition"]
    assert first["predicate"]["runDetails"] != second["predicate"]["runDetails"]


def test_it_names_no_directory_of_this_machine(tmp_path: Path) -> None:
    text = json.dumps(provenance.definition(made.plan(tmp_path), made.MATERIALS))
    assert str(tmp_path) not in text
