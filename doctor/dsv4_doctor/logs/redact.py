"""Taking out of a text what must not be pasted into a public issue."""

from __future__ import annotations

import re

# Each replaces one kind of thing; the order matters: a URL's password before its host.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Tokens of known form: Hugging Face, GitHub, GitLab, OpenAI, Slack, AWS, PyPI, JWT.
        (r"\bhf_[A-Za-z0-9]{10,}", "<token>"),
        (r"\b(?:gh[pousr]|github_pat|glpat|xox[abpr])[-_][A-Za-z0-9_-]{10,}", "<token>"),
        (r"\bsk-[A-Za-z0-9_-]{16,}", "<token>"),
        (r"\bAKIA[0-9A-Z]{16}\b", "<token>"),
        (r"\bpypi-[A-Za-z0-9_-]{16,}", "<token>"),
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?", "<token>"),
        # Whatever is called a secret.
        (
            (
                r"(?i)((?:token|secret|passw(?:or)?d|api[-_]?key|access[-_]?key)"
                r"[\"']?[ ]?[=:][ ]?[\"']?)[^\s\"',;&}]{3,}"
            ),
            r"\1<secret>",
        ),
        (r"(?i)((?:--(?:api-key|hf-token|token|password))[ =])\S+", r"\1<secret>"),
        (r"(?i)(authorization:? (?:bearer|basic|token) )\S+", r"\1<secret>"),
        (r"(\w+://)[^/\s@:]{1,200}(?::[^/\s@]{0,200})?@", r"\1<user>@"),
        (r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}", "<address>"),
        # Home directories.
        (r"((?:^|[^\w.])/(?:home|Users|export/home|data/home|u|users)/)[^/\s:'\",]+", r"\1<user>"),
        (r"(?i)(\b[a-z]:\\Users\\)[^\\\s]+", r"\1<user>"),
        # Devices, hosts and addresses.
        (r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"\1-<uuid>"),
        (r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", "<mac>"),
        (r"\b(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?=[:/\s'\",)\]]|$)(?![\d.])", "<ip>"),
        (r"\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b|\bfe80::[0-9a-f:]+", "<ip>"),
        (r"(host(?:name)?='?)(?!huggingface\.co|github\.com|pypi\.org)[\w.-]+", r"\1<host>"),
        (
            r"\b(?:[a-z0-9-]{1,63}\.){1,5}(?:internal|local|lan|corp|intranet|cluster\.local)\b",
            "<host>",
        ),
    )
)

_VERSION = re.compile(r"\b(?:version|driver|Driver Version|release)\b.{0,12}$", re.IGNORECASE)


def redact(text: str, *names: str) -> str:
    """Return a text without tokens, home directories, user and host names, and addresses.

    Args:
        names: Names that are known to be private, such as this machine's and its user's.
    """
    for pattern, replacement in _RULES:
        if replacement == "<ip>":
            text = _addresses(pattern, text)
        else:
            text = pattern.sub(replacement, text)
    for name in names:
        if len(name) > 2:
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "<name>", text)
    return text


def _addresses(pattern: re.Pattern[str], text: str) -> str:
    # A version of four parts looks like an address; what is called a version is one.
    def replaced(match: re.Match[str]) -> str:
        before = text[max(match.start() - 40, 0) : match.start()]
        return match[0] if _VERSION.search(before) else "<ip>"

    return pattern.sub(replaced, text)
