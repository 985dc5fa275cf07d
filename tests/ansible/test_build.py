"""The build playbook over real SSH hosts: built on one, proved, installed and proved on all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from tests.ansible.netns import Hosts, SshHost, missing
from tests.ansible.test_fleet import ANSIBLE, collections

__all__ = ["collections"]

if not os.environ.get("DSV4_FLEET_REQUIRED"):
    lacking = [*missing(), *([] if ANSIBLE else ["ansible-core"])]
    if lacking:
        pytest.skip(f"real hosts need {', '.join(lacking)}", allow_module_level=True)
if shutil.which("nvcc") is None:
    pytest.skip("no nvcc on this machine", allow_module_level=True)


def test_a_wheel_is_built_once_and_proved_on_every_host(collections: Path, tmp_path: Path) -> None:
    served = tmp_path / "served"
    venv.create(served, with_pip=True, symlinks=True)
    # Its own environment on each host: the same path, another directory.
    private = f'cp -r {served} "$HOST/served"; mount --bind "$HOST/served" {served}'
    made = [
        SshHost("builder", own=False, mounts=[private]),
        SshHost("node1", own=False, mounts=[private]),
        SshHost("node2", own=False, mounts=[private]),
    ]
    with Hosts(tmp_path / "hosts", made, first=101) as hosts:
        inventory = tmp_path / "inventory"
        inventory.write_text(hosts.inventory())
        done = subprocess.run(
            [str(ANSIBLE), "-i", str(inventory), "dsv4.doctor.build", "-e", json.dumps({
                "build_host": "builder",
                "build_recipe": "smoke",
                "build_arch": "sm_90",
                "build_require": ["fa3", "paged-v2", "sm_90a"],
                "build_python": sys.executable,
                "build_dir": str(tmp_path / "build"),
                "build_local_dir": str(tmp_path / "wheels"),
                "build_preflight": False,
                "serve_python": str(served / "bin/python"),
            })],
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(collections),
                "ANSIBLE_HOME": str(tmp_path / "home"),
                "ANSIBLE_NOCOLOR": "1",
            },
            cwd=tmp_path,
            # Ansible refuses one that does not block, as a browser leaves it that other tests ran.
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert list((tmp_path / "wheels").glob("dsv4_smoke-*.whl"))
        for host in made:
            site = tmp_path / "hosts" / host.name / "served/lib"
            assert list(site.glob("python*/site-packages/dsv4_smoke/_fa3_C*.so")), host.name
