"""How names, addresses and secrets look in a text: what :mod:`dsv4_doctor.redact` replaces."""

from __future__ import annotations

import re

SECRET = "<secret>"  # noqa: S105 - what is written instead of one

# Names that say nothing of who or where, then words of paths and of what is reported.
_WORDS = """
admin azureuser centos container debian default docker ec2-user fedora guest home host jovyan linux
linuxbrew localhost machine node nvidia opc public rocky root runner server shared ubuntu unnamed
user vscode worker workspace
anaconda bin build cache conda cuda data driver etc gcc git gpu include lib local miniconda models
opt python share src tmp torch triton usr var venv vllm
"""
ORDINARY = frozenset(_WORDS.split())
OURS = re.compile(r"(?:user|host)-\d+")

HOME = re.compile(r"(?:/home|/Users|/export/home|[A-Za-z]:\\+Users)[/\\]+([^/\\\s:;,'\"<>|]+)")
URL = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://)(?:[^\s/@\"']{0,300}@)?([A-Za-z0-9.-]+)")
# A host or domain by its dots, where nothing else can stand: in the variables for proxies.
DOMAIN = re.compile(r"(?<![\w@/.-])\.?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
PUBLIC = re.compile(
    r"(?:.*\.)?(?:nvidia\.com|github\.com|githubusercontent\.com|pytorch\.org|python\.org|pypi\.org"
    r"|huggingface\.co|vllm\.ai|readthedocs\.io|anaconda\.org|docker\.io|localhost"
    r"|example(?:\.\w+)?)"
)
MAIL = re.compile(r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_\w{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|sk-[\w-]{16,}|nvapi-[\w-]{16,}|pypi-[\w-]{16,}|xox[a-z]-[\w-]{10,}|A(?:KI|SI)A[A-Z0-9]{16}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
NAMED_SECRET = re.compile(
    r"((?<![A-Za-z])(?:[A-Za-z0-9]{1,40}[_-]){0,8}"
    r"(?:token|secret|password|passwd|api[_-]?key|access[_-]?key|credentials?)"
    r"(?:[_-][A-Za-z0-9]{1,40}){0,8}[\"']?[ \t]*[=:][ \t]*(?:Bearer[ \t]+)?[\"']?)([^\s\"',;&]+)",
    re.IGNORECASE,
)
BEARER = re.compile(r"(\b(?:Bearer|Basic)[ \t]+)([\w.~+/-]{8,}=*)")
FLAG_SECRET = re.compile(r"(--(?:api-key|hf-token|token|password)[ =])(\S+)")
# Hosts outside of a URL are known by endings that no public name has.
INTERNAL = re.compile(
    r"(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,5}(?:internal|local|lan|corp|intranet)(?![\w.-])"
)
UUID = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
MAC = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
GUID = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{4}:){3}[0-9A-Fa-f]{4}(?![0-9A-Fa-f:])")
IP6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f.:]*(?![\w:])")
# Behind "==", "-", "v" or "version" four numbers are the version of a package.
IP4 = re.compile(
    r"(?<![\w.<>~_-])(?<![=<>~!]=)(?<!version )(?<!version: )(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)"
)
SERIAL = re.compile(
    r"(\bserial(?:[ _-]?(?:number|no))?[\"']?[ \t]*[:=#][ \t]*[\"']?)([\w-]+)", re.IGNORECASE
)

VERSION = re.compile(r"\d+(?:\.\d+)+")
VERSION_KEYS = re.compile(
    r"version|vbios|release|driver|cuda|nvml|glibc|kernel|expected|requires", re.IGNORECASE
)
SECRET_KEYS = re.compile(r"(?:^|_)(?:serial|serial_number|pdi|mac|guid)$", re.IGNORECASE)


def identifies(name: str) -> bool:
    """Whether a host or user name says who or where, rather than being everybody's."""
    return bool(name) and name.lower() not in ORDINARY and not OURS.fullmatch(name)
