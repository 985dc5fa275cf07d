"""A preflight over real SSH hosts with ansible-core: right verdicts, and no host lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.ansible.netns import Hosts, SshHost, missing
from tests.test_pyz import copy_dependencies, module

ROOT = Path(__file__).parents[2]
ANSIBLE = shutil.which("ansible-playbook", path=str(Path(sys.executable).parent))

if not os.environ.get("DSV4_FLEET_REQUIRED"):
    lacking = [*missing(), *([] if ANSIBLE else ["ansible-core"])]
    if lacking:
        pytest.skip(f"real hosts need {', '.join(lacking)}", allow_module_level=True)

PYTHONS = 'for each in /usr/bin/python3*; do mount --bind {} "$(readlink -f $each)"; done'
# Waits as long as a sick driver or a dead file system would.
SLEEPER = 'printf "#!/bin/sh\\nexec sleep {}\\n" >"$HOST/sleeper"; chmod 755 "$HOST/sleeper"'
LIMITS = {"preflight_limit": 20, "preflight_grace": 5}


def machines() -> list[SshHost]:
    return [
        SshHost("good"),
        SshHost("olddriver", driver="570.86.15"),
        SshHost("nodriver", driver=""),
        SshHost("oldtoolkit", toolkit="12.1.105"),
        SshHost("nopython", mounts=[PYTHONS.format("/dev/null")]),
        SshHost("fulldisk", mounts=["mount -t tmpfs -o size=64k tmpfs /root/.cache"]),
        SshHost("hanging", mounts=[SLEEPER.format(600), PYTHONS.format('"$HOST/sleeper"')]),
        SshHost("killed", mounts=[SLEEPER.format(601), PYTHONS.format('"$HOST/sleeper"')]),
    ]


@dataclass(frozen=True)
class Run:
    """What a playbook left behind."""

    output: str
    directory: Path
    fleet: dict[str, Any]

    def host(self, name: str) -> dict[str, Any]:
        [found] = [host for host in self.fleet["hosts"] if host["name"] == name]
        return dict(found)


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a collections path on which the collection is built, with the doctor in it."""
    path = tmp_path_factory.mktemp("collections")
    builder = module("scripts/build_pyz.py")
    place = path / "ansible_collections/dsv4/doctor"
    shutil.copytree(ROOT / "ansible", place, ignore=shutil.ignore_patterns("*.pyz", "output"))
    site = tmp_path_factory.mktemp("site")
    copy_dependencies(site)
    pyz = place / "roles/preflight/files/dsv4-doctor.pyz"
    pyz.parent.mkdir(parents=True, exist_ok=True)
    builder.write(pyz, dict(builder.contents(site)))
    return path


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    made = machines()
    directory = tmp_path_factory.mktemp("hosts")
    for host in made:
        (directory / host.name / "root/.cache").mkdir(parents=True)
    with Hosts(directory, made) as started:
        yield started


def play(hosts: Hosts, collections: Path, directory: Path, only: str = "", **variables: Any) -> Run:
    inventory = directory / "inventory"
    inventory.write_text(hosts.inventory(only))
    fleet = directory / "fleet"
    done = subprocess.run(
        [str(ANSIBLE), "-i", str(inventory), "-f", "8", "dsv4.doctor.preflight",
         "-e", json.dumps({**LIMITS, "preflight_purpose": "build", **variables})],
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(collections),
            "ANSIBLE_CALLBACKS_ENABLED": "dsv4.doctor.fleet",
            "ANSIBLE_HOME": str(directory / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "DSV4_FLEET_DIRECTORY": str(fleet),
        },
        cwd=directory,
        # Ansible refuses one that does not block, as a browser leaves it that other tests ran.
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )  # fmt: skip
    path = fleet / "fleet.json"
    assert path.is_file(), done.stdout + done.stderr
    return Run(done.stdout + done.stderr, fleet, json.loads(path.read_text()))


@pytest.fixture(scope="module")
def run(hosts: Hosts, collections: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    [victim] = [host for host in hosts.hosts if host.name == "killed"]
    cut = threading.Timer(12, hosts.kill, [victim])
    cut.start()
    try:
        return play(hosts, collections, tmp_path_factory.mktemp("run"))
    finally:
        cut.join()


def test_no_host_is_lost(run: Run) -> None:
    assert {host["name"] for host in run.fleet["hosts"]} == {host.name for host in machines()}
    assert run.fleet["summary"]["without report"] == 4
    assert run.fleet["missing"] == []
    assert run.fleet["refused"] == []


def test_each_host_has_its_own_verdict(run: Run) -> None:
    assert "driver.cuda.version" not in run.host("good")["findings"]["fail"]
    assert "cuda.toolkit.version" in run.host("oldtoolkit")["findings"]["fail"]
    assert "cuda.toolkit.version" not in run.host("good")["findings"]["fail"]
    assert run.host("olddriver")["facts"]["driver"] == "570.86.15"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nopython", "ython"),
        ("fulldisk", "No space left on device"),
        ("hanging", "imed out"),
        ("killed", "unreachable"),
    ],
)
def test_a_host_without_an_answer_has_a_reason(run: Run, name: str, reason: str) -> None:
    host = run.host(name)
    assert host["verdict"] == "fail"
    assert reason in host["problem"]


def test_drift_is_seen(run: Run) -> None:
    drift = {each["fact"]: each for each in run.fleet["drift"]}
    drivers = {each["value"]: each["hosts"] for each in drift["driver"]["outliers"]}
    assert drivers == {"570.86.15": ["olddriver"], "none": ["nodriver"]}
    assert [each["hosts"] for each in drift["CUDA toolkit"]["outliers"]] == [["oldtoolkit"]]


def test_the_picture_ends_the_output_and_lists_are_written(run: Run) -> None:
    picture = run.output[run.output.index("FLEET") :]
    assert "the host gave no report" in picture
    assert "verdict: fail" in picture
    assert (run.directory / "fleet.html").read_text().startswith("<!doctype html>")
    sick = (run.directory / "lists/sick.limit").read_text().split()
    assert {"hanging", "killed", "nopython", "fulldisk", "oldtoolkit"} <= set(sick)


def test_the_policy_stops_only_whom_it_names(
    hosts: Hosts, collections: Path, tmp_path: Path
) -> None:
    free = play(hosts, collections, tmp_path, "oldtoolkit", preflight_stop_on=[])
    assert "failed=0" in free.output
    (tmp_path / "again").mkdir()
    again = tmp_path / "again"
    stopped = play(hosts, collections, again, "oldtoolkit", preflight_stop_on=["fail"])
    assert "failed=1" in stopped.output
    assert "cuda.toolkit.version" in stopped.output
