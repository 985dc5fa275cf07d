# Copyright: The dsv4-doctor authors
# SPDX-License-Identifier: Apache-2.0

"""The picture of the fleet at the end of a play."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
type: aggregate
short_description: One picture of all hosts that were looked at
version_added: 0.1.0
description:
  - Keeps what P(dsv4.doctor.preflight_info#module) found on each host as one file a host, and at
    the end prints one picture of all - equal failures with their hosts, drift, missing hosts and
    what has changed since the last run.
  - A host that is unreachable, hangs or has no fitting Python is in the picture with its reason.
  - Writes the picture as JSON and as one HTML page, and lists of healthy and sick hosts.
requirements:
  - C(callbacks_enabled = dsv4.doctor.fleet) in C(ansible.cfg), or in E(ANSIBLE_CALLBACKS_ENABLED)
options:
  directory:
    description: Where all of this is kept.
    type: path
    default: dsv4-fleet
    env:
      - name: DSV4_FLEET_DIRECTORY
    ini:
      - section: callback_dsv4_fleet
        key: directory
  pyz:
    description: The doctor on the controller; the default is the one that the role brings.
    type: path
    env:
      - name: DSV4_FLEET_PYZ
    ini:
      - section: callback_dsv4_fleet
        key: pyz
  limit:
    description: Seconds for making the picture.
    type: int
    default: 600
    env:
      - name: DSV4_FLEET_LIMIT
    ini:
      - section: callback_dsv4_fleet
        key: limit
author:
  - The dsv4-doctor authors (@dsv4-doctor)
"""

import json
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible_collections.dsv4.doctor.plugins.plugin_utils.pushed import DEFAULT

ACTION = "dsv4.doctor.preflight_info"
ABSENCE = "dsv4-doctor/absence/1"
# A host's name is the name of its file: nothing that leads out of the directory.
_UNSAFE = re.compile(r"[^A-Za-z0-9._:@%+-]|^\.")


# Characters of a reason; a traceback of a module can be long.
_MAX_REASON = 500


class CallbackModule(CallbackBase):
    """Collects documents, then has the doctor make the picture."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "dsv4.doctor.fleet"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._started: set[str] = set()
        self._cleared = False

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """Remember a host, so that one that never answers is missed."""
        if task.action == ACTION:
            self._started.add(host.get_name())

    def v2_runner_on_ok(self, result: Any) -> None:
        """Keep the facts of a host."""
        self._keep(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Keep the facts of a host that failed by policy, or why there are none."""
        self._keep(result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Keep why a host could not be reached."""
        self._keep(result, "unreachable")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print the picture."""
        if not self._started:
            return
        directory = self._directory()
        expected = directory / "expected"
        expected.write_text("".join(f"{name}\n" for name in sorted(map(safe, self._started))))
        earlier = directory / "fleet.json"
        previous = ["--previous", str(earlier)] if earlier.is_file() else []
        common = [
            str(directory / "hosts"),
            "--name-by",
            "file",
            "--expect",
            str(expected),
            *previous,
        ]
        self._doctor([*common, "--format", "html", "--output", str(directory / "fleet.html")])
        text = self._doctor([*common, "--lists", str(directory / "lists")])
        self._doctor([*common, "--format", "json", "--output", str(earlier)])
        self._display.banner("FLEET")
        self._display.display(text.rstrip())
        self._display.display(f"page, lists and facts: {directory}")

    def _keep(self, result: Any, kind: str = "") -> None:
        task = getattr(result, "task", None) or result._task
        if task.action != ACTION:
            return
        host = (getattr(result, "host", None) or result._host).get_name()
        answer = getattr(result, "result", None) or result._result
        document = answer.get("report")
        if document is None:
            document = {
                "schema": ABSENCE,
                "host": host,
                "reason": ": ".join(part for part in (kind, reason_of(answer)) if part),
                "taken_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            }
        self._write(host, document)

    def _write(self, host: str, document: dict[str, Any]) -> None:
        place = self._directory() / "hosts"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{safe(host)}.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(document), encoding="utf-8")
        partial.replace(path)

    def _directory(self) -> Path:
        directory = Path(self.get_option("directory")).absolute()
        if not self._cleared:
            # Hosts of an earlier run would look like hosts of this one.
            for old in directory.glob("hosts/*.json"):
                old.unlink()
            directory.mkdir(parents=True, exist_ok=True)
            self._cleared = True
        return directory

    def _doctor(self, arguments: list[str]) -> str:
        pyz = self.get_option("pyz") or str(DEFAULT)
        argv = [sys.executable, pyz, "fleet", "report", *arguments]
        limit = self.get_option("limit")
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=limit)
        if done.returncode not in (0, 1, 3):
            self._display.warning(f"dsv4.doctor.fleet: {done.stderr.strip()}")
        return done.stdout


def safe(name: str) -> str:
    """Return a host's name as the name of a file."""
    return _UNSAFE.sub("_", name)


def reason_of(answer: dict[str, Any]) -> str:
    """Return what Ansible says of a task without an answer, on one line."""
    names = ("msg", "module_stderr", "module_stdout", "exception")
    parts = [answer.get(name) for name in names]
    text = "; ".join(str(part) for part in parts if part)
    return " ".join(text.split())[:_MAX_REASON] or "no answer"
