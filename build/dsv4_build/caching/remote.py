"""The address of a cache that a team shares; its secrets leave only in a program's environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from dsv4_doctor.errors import UsageError

FORMS = "redis://[[USER:]PASSWORD@]HOST[:PORT][/DB] or s3://BUCKET[/PREFIX][?region=R&endpoint=E]"

_S3_OPTIONS = {"region": "SCCACHE_REGION", "endpoint": "SCCACHE_ENDPOINT"}
_REDIS_PORT = 6379


@dataclass(frozen=True)
class Remote:
    """A shared cache.

    Attributes:
        kind: ``redis`` or ``s3``.
        shown: The address without user, password and options: what logs and reports get.
    """

    kind: str
    shown: str
    _url: SplitResult = field(repr=False)

    def for_ccache(self) -> dict[str, str]:
        """Return the variables that send ccache there."""
        url = self._url
        # An empty user is to ccache a user without a name; a space would end the address and a bar
        # begin its attributes.
        given = [quote(each, safe="") for each in _login(url) if each]
        login = ":".join(given) + "@" if given else ""
        return {"CCACHE_REMOTE_STORAGE": f"redis://{login}{_place(url)}{url.path}"}

    def for_sccache(self) -> dict[str, str]:
        """Return the variables that send sccache there; S3's credentials are the caller's own."""
        url = self._url
        if self.kind == "s3":
            options = {_S3_OPTIONS[name]: value for name, value in parse_qsl(url.query)}
            prefix = url.path.strip("/")
            named = {"SCCACHE_S3_KEY_PREFIX": prefix} if prefix else {}
            return {"SCCACHE_BUCKET": url.netloc, **named, **options}
        user, password = _login(url)
        given = {
            # Not in the address, which sccache prints.
            "SCCACHE_REDIS_USERNAME": user,
            "SCCACHE_REDIS_PASSWORD": password,
            "SCCACHE_REDIS_DB": url.path.strip("/"),
        }
        address = {"SCCACHE_REDIS_ENDPOINT": f"redis://{_place(url)}"}
        return address | {name: value for name, value in given.items() if value}


def parse(text: str) -> Remote:
    """Read an address.

    Raises:
        UsageError: It is none; what was given is not repeated, as it may hold a password.
    """
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        msg = f"--cache-remote: no address of a form that is known: {FORMS}"
        raise UsageError(msg) from error
    if url.scheme == "redis" and url.hostname and _is_database(url.path) and not url.query:
        database = url.path.strip("/")
        shown = f"redis://{_host(url)}:{port or _REDIS_PORT}" + (f"/{database}" if database else "")
        return Remote("redis", shown, url)
    if url.scheme == "s3" and url.netloc and "@" not in url.netloc and _options(url.query):
        return Remote("s3", f"s3://{url.netloc}{url.path.rstrip('/')}", url)
    msg = f"--cache-remote: no address of a form that is known: {FORMS}"
    hint = "credentials of S3 are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment"
    raise UsageError(msg, hint=hint if url.scheme == "s3" else "")


def _login(url: SplitResult) -> tuple[str, str]:
    """Return user and password; a lone word is a password, as ccache has it."""
    if url.password is None:
        return "", unquote(url.username or "")
    return unquote(url.username or ""), unquote(url.password)


def _host(url: SplitResult) -> str:
    host = url.hostname or ""
    return f"[{host}]" if ":" in host else host


def _place(url: SplitResult) -> str:
    return f"{_host(url)}:{url.port or _REDIS_PORT}"


def _is_database(path: str) -> bool:
    return path in {"", "/"} or (path[1:].isascii() and path[1:].isdecimal())


def _options(query: str) -> bool:
    given = dict(parse_qsl(query, keep_blank_values=True))
    return set(given) <= set(_S3_OPTIONS) and _is_server(given.get("endpoint"))


def _is_server(endpoint: str | None) -> bool:
    if endpoint is None:
        return True
    try:
        url = urlsplit(endpoint)
    except ValueError:
        return False
    # Without a scheme sccache would take plain http.
    return url.scheme in {"http", "https"} and bool(url.hostname) and "@" not in url.netloc
