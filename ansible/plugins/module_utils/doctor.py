# Copyright: The dsv4-doctor authors
# SPDX-License-Identifier: Apache-2.0

"""Running the single-file doctor on a managed host."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# What the doctor exits with when it has an answer: passed, failed, something not told.
ANSWERED = (0, 1, 3)
CHUNK = 1 << 20


class DoctorError(Exception):
    """The doctor gave no answer; the message says why."""


def run(module: Any, look: Callable[[dict[str, Any], str], dict[str, Any]]) -> None:
    """End a module with what the doctor says, or with the wish for the doctor itself.

    :param look: Takes the module's parameters and the doctor's path, returns what the module does.
    """
    path = module.params["path"]
    reason = pushed(path, module.params["checksum"])
    try:
        if reason:
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            module.exit_json(changed=False, pyz_needed=True, doctor=path, msg=reason)
        answer = look(module.params, path)
    except DoctorError as error:
        module.fail_json(msg=str(error), doctor=path)
    except OSError as error:
        module.fail_json(msg=f"{path}: {error.strerror or error}", doctor=path)
    module.exit_json(changed=False, doctor=path, **answer)


def pushed(path: str, checksum: str) -> str:
    """Return why the file has to be copied first, or an empty text.

    A file that others can write to would be run with this user's rights, so it is not trusted,
    whatever its checksum.
    """
    try:
        status = Path(path).stat()
    except OSError as error:
        return error.strerror or str(error)
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "owned or writable by somebody else"
    if sha256(path) != checksum:
        return "of another version"
    return ""


def sha256(path: str) -> str:
    """Return the digest of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        for chunk in iter(lambda: file.read(CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def ask(path: str, arguments: list[str], limit: int) -> tuple[dict[str, Any], int]:
    """Run one command of the doctor and return the JSON that it prints, and its exit status.

    :param limit: Seconds until the doctor and all that it started is killed.
    :raises DoctorError: It cannot start, takes too long, or has no answer.
    """
    environment = dict(os.environ, LC_ALL="C")
    argv = [sys.executable or "python3", path, *arguments]
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise DoctorError(f"{argv[0]}: {error.strerror or error}") from error
    out, err = _communicate(child, limit)
    if child.returncode not in ANSWERED:
        raise DoctorError(_last_lines(err) or f"exit status {child.returncode}")
    try:
        return json.loads(out.decode("utf-8")), child.returncode
    except ValueError as error:
        raise DoctorError(f"no JSON from the doctor: {error}; {_last_lines(err)}") from error


def _communicate(child: subprocess.Popen[bytes], limit: int) -> tuple[bytes, bytes]:
    try:
        return child.communicate(timeout=limit)
    except subprocess.TimeoutExpired as error:
        os.killpg(child.pid, signal.SIGKILL)
        # A process that waits inside a driver does not die of it: it is left behind.
        reaper = threading.Thread(target=child.wait, daemon=True)
        reaper.start()
        reaper.join(1)
        raise DoctorError(f"no answer within {limit} s") from error


def _last_lines(err: bytes) -> str:
    lines = err.decode("utf-8", "replace").strip().splitlines()
    return " ".join(line.strip() for line in lines[-2:])
