# Copyright: The dsv4-doctor authors
# SPDX-License-Identifier: Apache-2.0

"""An action that runs its module, and copies the doctor first only where it is not there yet."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

Variables = dict[str, Any]
DEFAULT = Path(__file__).parents[2] / "roles/preflight/files/dsv4-doctor.pyz"


@cache
def digest_of(path: str) -> str:
    """Return the SHA-256 of the file on the controller."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise AnsibleActionFail(
            f"{path}: {error.strerror or error}; scripts/build_pyz.py --output writes it"
        ) from error


class PushedAction(ActionBase):
    """Where the doctor is there already, a task costs one module call and no more."""

    MODULE = ""

    def run(self, tmp: str | None = None, task_vars: Variables | None = None) -> dict[str, Any]:
        """Run the module, once more after a copy when it asks for one."""
        result = super().run(tmp, task_vars)
        args = dict(self._task.args)
        local = str(args.pop("pyz", None) or DEFAULT)
        args["checksum"] = digest_of(local)
        answer = self._ask(args, task_vars)
        if answer.pop("pyz_needed", False):
            copied = self._copy(local, answer["doctor"], task_vars)
            if copied.get("failed"):
                # As it is: Ansible itself knows how to tell what was in its way.
                return copied
            answer = self._ask(args, task_vars)
            if answer.pop("pyz_needed", False):
                result.update(failed=True, msg=f"the copied doctor cannot be used: {answer['msg']}")
                return result
        result.update(answer)
        return result

    def _ask(self, args: dict[str, Any], task_vars: Variables | None) -> dict[str, Any]:
        answer: dict[str, Any] = self._execute_module(
            module_name=self.MODULE, module_args=args, task_vars=task_vars
        )
        return answer

    def _copy(self, local: str, remote: str, task_vars: Variables | None) -> dict[str, Any]:
        # Reading facts needs the tool in check mode, too; it is the only thing that is written.
        task = self._task.copy()
        task.args = {"src": local, "dest": remote, "mode": "0700"}
        task.check_mode = False
        action = self._shared_loader_obj.action_loader.get(
            "ansible.builtin.copy",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        copied: dict[str, Any] = action.run(task_vars=task_vars)
        return copied
