# Copyright: The dsv4-doctor authors
# SPDX-License-Identifier: Apache-2.0

"""See the module of the same name."""

from __future__ import annotations

from ansible_collections.dsv4.doctor.plugins.plugin_utils.pushed import PushedAction


class ActionModule(PushedAction):
    """What an installed vLLM holds."""

    MODULE = "dsv4.doctor.wheel_info"
