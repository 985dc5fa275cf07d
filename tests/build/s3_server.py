"""S3 as moto has it, in a process of its own, which checks who asks and what they may do."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import pytest

BUCKET = "builds"

# Who may do what; nobody may do anything else, nor read without a signature.
_USERS = {"team": ["s3:*"], "reader": ["s3:GetObject", "s3:ListBucket"]}
# The bucket, and for every user itself, its policy and its key.
_UNCHECKED = 1 + 3 * len(_USERS)
_LIMIT = 30


@dataclass(frozen=True)
class S3:
    """A server that runs.

    Attributes:
        keys: Of every user, its variables for a client.
    """

    port: int
    process: subprocess.Popen[bytes]
    keys: dict[str, dict[str, str]] = field(repr=False)

    def address(self, prefix: str, bucket: str = BUCKET) -> str:
        endpoint = f"http://127.0.0.1:{self.port}"
        return f"s3://{bucket}/{prefix}?region=us-east-1&endpoint={endpoint}"

    @property
    def secrets(self) -> list[bytes]:
        return [value.encode() for key in self.keys.values() for value in key.values()]


def needs() -> None:
    """Leave a test out where moto is missing, unless it has to be there."""
    missing = [each for each in ("moto", "flask_cors") if importlib.util.find_spec(each) is None]
    if missing and not os.environ.get("DSV4_CACHE_REQUIRED"):
        pytest.skip("not installed: moto[server]")
    assert not missing


@contextmanager
def running(place: Path) -> Iterator[S3]:
    """Run the server with a bucket and two users; its log goes into a directory."""
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    environ = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(_UNCHECKED)}
    log = place / "log"
    with log.open("wb") as file:
        server = subprocess.Popen(argv, stdout=file, stderr=file, env=environ)
    try:
        port = _port(server, log)
        _ask(port, Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT"))
        yield S3(port, server, {name: _user(port, name, may) for name, may in _USERS.items()})
    finally:
        server.terminate()
        server.wait(20)


def _port(server: subprocess.Popen[bytes], log: Path) -> int:
    for _ in range(_LIMIT * 20):
        found = re.search(r"Running on http://127\.0\.0\.1:(\d+)", log.read_text("utf-8"))
        if found:
            return int(found[1])
        assert server.poll() is None, log.read_text("utf-8")
        time.sleep(0.05)
    raise AssertionError(log.read_text("utf-8"))


def _user(port: int, name: str, may: list[str]) -> dict[str, str]:
    allowed = [{"Effect": "Allow", "Action": may, "Resource": "*"}]
    policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
    _iam(port, Action="CreateUser", UserName=name)
    _iam(port, Action="PutUserPolicy", UserName=name, PolicyName="all", PolicyDocument=policy)
    key = _iam(port, Action="CreateAccessKey", UserName=name)
    found = {(each.tag.rpartition("}")[2]): each.text or "" for each in key.iter()}
    return {
        "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
    }


def _iam(port: int, **fields: str) -> ElementTree.Element:
    # moto chooses the service by what the signature is for.
    scope = "Credential=nobody/20260101/us-east-1/iam/aws4_request"
    signature = f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"
    data = urlencode({**fields, "Version": "2010-05-08"}).encode()
    request = Request(f"http://127.0.0.1:{port}/", data, {"Authorization": signature})
    return ElementTree.fromstring(_ask(port, request))


def _ask(port: int, request: Request) -> bytes:
    with urlopen(request, timeout=_LIMIT) as answer:
        return bytes(answer.read())
