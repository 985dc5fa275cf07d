#!/usr/bin/env python3
"""Measures what a preflight over real SSH hosts costs beside ``ansible.builtin.ping``.

    scripts/bench_ansible.py [--hosts 8] [-n 3]

Makes hosts out of namespaces of this machine (root, sshd), installs the collection as it is in this
tree, and runs ping, the preflight and the doctor alone in turn. The doctor alone is what the hosts'
own work takes on this machine, all at once, without Ansible.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.ansible.netns import Hosts, SshHost, missing  # noqa: E402 - found by the line above

BIN = Path(sys.executable).parent
PURPOSE = ["--for", "build", "--format", "json", "--facts"]


def main() -> int:
    """Print the medians, and how the preflight stands to 1.5 times ping plus the doctor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("-n", type=int, default=3, help="runs of each, after one warm-up")
    options = parser.parse_args()
    if lacking := missing():
        sys.exit(f"this machine lacks: {', '.join(lacking)}")
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        made = [SshHost(f"n{number}") for number in range(options.hosts)]
        pyz = collection(directory)
        with Hosts(directory / "hosts", made) as hosts:
            inventory = directory / "inventory"
            inventory.write_text(hosts.inventory())
            common = ["-i", str(inventory), "-f", str(options.hosts)]
            commands = {
                "ping": [[str(BIN / "ansible"), *common, "all", "-m", "ping"]],
                "preflight": [
                    [
                        str(BIN / "ansible-playbook"), *common, "dsv4.doctor.preflight",
                        "-e", '{"preflight_purpose": "build", "preflight_stop_on": []}',
                    ]
                ],
                "doctor": [["/usr/bin/python3", str(pyz), "check", *PURPOSE]] * options.hosts,
            }  # fmt: skip
            medians = measure(commands, directory, options.n)
    for name, seconds in medians.items():
        print(f"{name:10} {seconds:6.2f} s")
    bound = 1.5 * medians["ping"] + medians["doctor"]
    print(f"preflight takes {medians['preflight'] / bound:.2f} of 1.5 x ping + doctor")
    return 0 if medians["preflight"] <= bound else 1


def collection(directory: Path) -> Path:
    """Put the collection on a path of its own and return the doctor in it."""
    place = directory / "ansible_collections/dsv4/doctor"
    shutil.copytree(ROOT / "ansible", place, ignore=shutil.ignore_patterns("*.pyz"))
    (directory / "hosts").mkdir()
    pyz = place / "roles/preflight/files/dsv4-doctor.pyz"
    builder = [sys.executable, str(ROOT / "scripts/build_pyz.py"), "--output", str(pyz)]
    subprocess.run(builder, check=True, stdout=subprocess.DEVNULL)
    return pyz


def measure(commands: dict[str, list[list[str]]], directory: Path, times: int) -> dict[str, float]:
    """Return the median wall time of each, run in turn."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(times + 1):
        for name, together in commands.items():
            seconds = wall(together, directory)
            if turn:
                found[name].append(seconds)
    return {name: statistics.median(each) for name, each in found.items()}


def wall(together: list[list[str]], directory: Path) -> float:
    """Run commands side by side and return how long the last one took."""
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(directory), "HOME": str(directory)}
    begun = time.monotonic()
    children = [
        subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for argv in together
    ]
    for child in children:
        _, err = child.communicate()
        if child.returncode not in {0, 1, 3}:
            sys.exit(f"{child.args!r}: exit status {child.returncode}: {err.decode()[-500:]}")
    return time.monotonic() - begun


if __name__ == "__main__":
    raise SystemExit(main())
