#!/usr/bin/python
# Copyright: The dsv4-doctor authors
# SPDX-License-Identifier: Apache-2.0

"""What an installed vLLM, or a wheel on the host, holds."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wheel_info
short_description: Architectures and kernels inside an installed vLLM or a wheel
version_added: 0.1.0
description:
  - Reads the device code of an installed distribution, or of a wheel on the host, with the
    single-file doctor, and proves what is required of it from the kernels inside.
  - Needs no GPU, CUDA or torch on the host.
  - A requirement that is missing is an answer, not a failed task.
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
  what:
    description:
      - Name of an installed distribution, or path of a wheel, a shared object or a directory.
    type: str
    default: vllm
  require:
    description: What must be inside, such as V(fa3), V(paged-v2), V(sm_90a) or V(torch==2.11).
    type: list
    elements: str
    default: []
  python:
    description: Interpreter of the Python environment to look at; the default is the active one.
    type: path
  limit:
    description: Seconds after which the doctor is killed and the task fails.
    type: int
    default: 120
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
- name: Prove what the installed vLLM can run
  dsv4.doctor.wheel_info:
    require: [fa3, paged-v2, sm_90a]
    python: /opt/vllm/bin/python
  register: wheel

- name: Stop where something is missing
  ansible.builtin.assert:
    that: wheel.missing == []
    fail_msg: "not inside: {{ wheel.missing | join(', ') }}"
"""

RETURN = r"""
inspection:
  description: What is inside, schema C(dsv4-doctor/inspection/1).
  type: dict
  returned: success
missing:
  description: What was required and is not inside.
  type: list
  elements: str
  returned: success
archs:
  description: Architectures with machine code.
  type: list
  elements: str
  returned: success
  sample: [sm_80, sm_90a]
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
    "what": {"type": "str", "default": "vllm"},
    "require": {"type": "list", "elements": "str", "default": []},
    "python": {"type": "path"},
    "limit": {"type": "int", "default": 120},
}


def look(params: dict[str, Any], path: str) -> dict[str, Any]:
    """Return what the module returns."""
    arguments = ["inspect", params["what"], "--format", "json"]
    for each in params["require"]:
        arguments += ["--require", each]
    if params["python"]:
        arguments += ["--python", params["python"]]
    found, _status = ask(path, arguments, params["limit"])
    return {
        "inspection": found,
        "missing": [
            each["requirement"] for each in found["decisions"] if each["status"] != "present"
        ],
        "archs": sorted({arch for each in found["objects"] for arch in each["sass"]}),
    }


def main() -> None:
    """Run the module."""
    run(AnsibleModule(argument_spec=SPEC, supports_check_mode=True), look)


if __name__ == "__main__":
    main()
