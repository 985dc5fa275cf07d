"""The labels of an image, as it is made and as it is read."""

from __future__ import annotations

_OWN = "io.dsv4-doctor."

ARCHS = f"{_OWN}archs"
FEATURES = f"{_OWN}features"
DISTRIBUTION = f"{_OWN}distribution"
WHEEL = f"{_OWN}wheel.sha256"
LOCK = f"{_OWN}lock.sha256"
JIT = f"{_OWN}jit"
DOCTOR = f"{_OWN}version"

# Of the OCI image specification, `annotations.md`.
_OCI = "org.opencontainers.image."
TITLE = f"{_OCI}title"
VERSION = f"{_OCI}version"
REVISION = f"{_OCI}revision"
BASE_NAME = f"{_OCI}base.name"
BASE_DIGEST = f"{_OCI}base.digest"
