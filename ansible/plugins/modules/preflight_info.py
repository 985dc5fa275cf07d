#!/usr/bin/python
# Copyright: The dsv4-doctor authors
# SPDX-License-Identifier: Apache-2.0

"""Facts and verdict of one host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_info
short_description: Facts and verdict of one host for vLLM and DeepSeek-V4
version_added: 0.1.0
description:
  - Runs the single-file doctor on the host and returns what it found, what is wrong, and what to
    do.
  - Needs neither pip nor network nor root on the host, only a Python 3.10 or newer; where
    C(python3) is older, one beside it is found.
  - A verdict of V(fail) is an answer, not a failed task. The task fails where there is no answer.
options:
  pyz:
    description:
      - The doctor on the controller, as C(scripts/build_pyz.py) writes it.
      - The default is the one that the role P(dsv4.doctor.preflight#role) brings.
    type: path
  path:
    description:
      - Where the doctor is kept on the host.
      - It is copied once, and again when its checksum differs.
    type: path
    default: ~/.cache/dsv4-doctor/dsv4-doctor.pyz
  checksum:
    description: SHA-256 of the doctor; filled in by the action plugin.
    type: str
    default: ""
  purpose:
    description: What the host is for.
    type: str
    choices: [build, serve, all]
    default: all
  vllm:
    description: vLLM release; the default is the doctor's own.
    type: str
  arch:
    description: Architectures, such as V(sm_90); the default is those of the GPUs found.
    type: list
    elements: str
    default: []
  features:
    description: Features that must be there, such as V(fa3).
    type: list
    elements: str
    default: []
  select:
    description: Only these checks; shell patterns.
    type: list
    elements: str
    default: []
  ignore:
    description: Not these checks; shell patterns.
    type: list
    elements: str
    default: []
  model:
    description: Directory or name of the model to serve; the disk under it is looked at.
    type: str
  python:
    description: Interpreter of the Python environment to look at; the default is the active one.
    type: path
  limit:
    description: Seconds after which the doctor is killed and the task fails.
    type: int
    default: 60
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: posix
author:
  - The dsv4-doctor authors (@dsv4-doctor)
"""

EXAMPLES = r"""
- name: Look at every host
  dsv4.doctor.preflight_info:
    purpose: serve
    vllm: 0.24.0
    arch: [sm_90]
    features: [fa3, deepseek-v4]
  register: preflight

- name: Stop where something is wrong
  ansible.builtin.assert:
    that: preflight.verdict != 'fail'
    fail_msg: "{{ preflight.failed_checks | join(', ') }}"
"""

RETURN = r"""
verdict:
  description: V(pass), V(fail) or V(unknown).
  type: str
  returned: success
  sample: pass
summary:
  description: How many findings have each status.
  type: dict
  returned: success
  sample: {pass: 30, warn: 1, fail: 0, unknown: 0, skip: 2}
failed_checks:
  description: The ids of the checks that failed.
  type: list
  elements: str
  returned: success
warned_checks:
  description: The ids of the checks that warn.
  type: list
  elements: str
  returned: success
unknown_checks:
  description: The ids of the checks that could not be decided.
  type: list
  elements: str
  returned: success
report:
  description:
    - The whole report, schema C(dsv4-doctor/report/1), with the facts that it is about in its key
      C(snapshot), schema C(dsv4-doctor/snapshot/1).
  type: dict
  returned: success
doctor:
  description: Where the doctor is on the host.
  type: str
  returned: always
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dsv4.doctor.plugins.module_utils.doctor import ask, run

SPEC = {
    "pyz": {"type": "path"},
    "path": {"type": "path", "default": "~/.cache/dsv4-doctor/dsv4-doctor.pyz"},
    "checksum": {"type": "str", "default": ""},
    "purpose": {"type": "str", "choices": ["build", "serve", "all"], "default": "all"},
    "vllm": {"type": "str"},
    "arch": {"type": "list", "elements": "str", "default": []},
    "features": {"type": "list", "elements": "str", "default": []},
    "select": {"type": "list", "elements": "str", "default": []},
    "ignore": {"type": "list", "elements": "str", "default": []},
    "model": {"type": "str"},
    "python": {"type": "path"},
    "limit": {"type": "int", "default": 60},
}
REPEATED = (
    ("arch", "--arch"),
    ("features", "--feature"),
    ("select", "--select"),
    ("ignore", "--ignore"),
)


def check_arguments(params: dict[str, Any]) -> list[str]:
    """Return the command line of ``check``."""
    arguments = ["check", "--format", "json", "--facts", "--for", params["purpose"]]
    for name, option in (("vllm", "--vllm"), ("python", "--python"), ("model", "--model")):
        if params[name]:
            arguments += [option, params[name]]
    for name, option in REPEATED:
        for value in params[name]:
            arguments += [option, value]
    return arguments


def preflight(params: dict[str, Any], path: str) -> dict[str, Any]:
    """Return what the module returns."""
    report, _status = ask(path, check_arguments(params), params["limit"])
    by_status: dict[str, list[str]] = {"fail": [], "warn": [], "unknown": []}
    for finding in report["findings"]:
        if finding["status"] in by_status:
            by_status[finding["status"]].append(finding["id"])
    return {
        "verdict": report["verdict"],
        "summary": report["summary"],
        "failed_checks": by_status["fail"],
        "warned_checks": by_status["warn"],
        "unknown_checks": by_status["unknown"],
        "report": report,
    }


def main() -> None:
    """Run the module."""
    run(AnsibleModule(argument_spec=SPEC, supports_check_mode=True), preflight)


if __name__ == "__main__":
    main()
