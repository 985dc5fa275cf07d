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

# What the doctor exits with when it has an answer: passed, failed, something not told.
ANSWERED = (0, 1, 3)
CHUNK = 1 << 20


class DoctorFailed(Exception):
    """The doctor gave no answer; the message says why."""


def pushed(path, checksum):
    """Return why the file has to be copied first, or an empty text.

    A file that others can write to would be run with this user's rights, so it is not trusted,
    whatever its checksum.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        return error.strerror or str(error)
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "owned or writable by somebody else"
    if sha256(path) != checksum:
        return "of another version"
    return ""


def sha256(path):
    """Return the digest of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()


def ask(path, arguments, limit):
    """Run one command of the doctor and return the JSON that it prints, and its exit status.

    :param limit: Seconds until the doctor and all that it started is killed.
    :raises DoctorFailed: It cannot start, takes too long, or has no answer.
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
        raise DoctorFailed("%s: %s" % (argv[0], error.strerror or error)) from error
    out, err = _communicate(child, limit)
    if child.returncode not in ANSWERED:
        raise DoctorFailed(_last_lines(err) or "exit status %d" % child.returncode)
    try:
        return json.loads(out.decode("utf-8")), child.returncode
    except ValueError as error:
        raise DoctorFailed("no JSON from the doctor: %s; %s" % (error, _last_lines(err))) from error


def _communicate(child, limit):
    try:
        return child.communicate(timeout=limit)
    except subprocess.TimeoutExpired as error:
        os.killpg(child.pid, signal.SIGKILL)
        # A process that waits inside a driver does not die of it: it is left behind.
        reaper = threading.Thread(target=child.wait, daemon=True)
        reaper.start()
        reaper.join(1)
        raise DoctorFailed("no answer within %d s" % limit) from error


def _last_lines(err):
    lines = err.decode("utf-8", "replace").strip().splitlines()
    return " ".join(line.strip() for line in lines[-2:])
