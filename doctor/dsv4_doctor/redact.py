"""Taking out what identifies people and machines, so that a report can be shown to anybody.

Host and user names, addresses, UUIDs, serial numbers and secrets are replaced; the same one gets
the same replacement throughout, so that two findings about one directory still agree. Facts that
a check decides by, such as versions and PCI addresses, stay as they are.
"""

from __future__ import annotations

import getpass
import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dsv4_doctor import identifiers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")


def redact(document: T) -> T:
    """Return one document with everything replaced that identifies; see :class:`Redactor`."""
    return Redactor().redact(document)


def redact_here(document: T) -> T:
    """Return a document of this machine, whose user and host names are known beforehand."""
    return Redactor(users=_user(), hosts=(socket.gethostname(),)).redact(document)


def _user() -> tuple[str, ...]:
    try:
        return (getpass.getuser(),)
    except (KeyError, OSError):
        return ()


class Redactor:
    """Replaces what identifies, the same everywhere in the documents that it is given.

    Args:
        users: Names of users that are known beforehand.
        hosts: Likewise of hosts.
    """

    def __init__(self, users: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._given: dict[str, dict[str, str]] = {}
        self._names: dict[str, str] = {}
        self._versions: set[str] = set()
        for kind, names in (("user", users), ("host", hosts)):
            for name in names:
                self._know(kind, name)

    def redact(self, document: T) -> T:
        """Return a dataclass, mapping, list or text with everything replaced that identifies."""
        texts = list(_strings(document, ""))
        # A name that is also a whole value, such as that of a package, must not be replaced there.
        values = {text for key, text in texts if key != "hostname"}
        for key, text in texts:
            self._learn(key, text, values)
        return cast("T", self._value(document, ""))

    def _learn(self, key: str, text: str, values: set[str]) -> None:
        """Note names that are recognised in one place and have to go in all places."""
        if identifiers.VERSION_KEYS.search(key) and identifiers.VERSION.match(text):
            self._versions.update(identifiers.VERSION.findall(text))
        found = [("user", match[1]) for match in identifiers.HOME.finditer(text)]
        if key == "hostname":
            found += [("host", text), ("host", text.partition(".")[0])]
        for kind, name in found:
            if name not in values:
                self._know(kind, name)

    def _know(self, kind: str, name: str) -> None:
        if len(name) > 2 and identifiers.identifies(name):
            self._names.setdefault(name, self._number(kind, name, f"{kind}-{{}}".format))

    def _number(self, kind: str, value: str, write: Callable[[int], str]) -> str:
        given = self._given.setdefault(kind, {})
        return given.setdefault(value, write(len(given) + 1))

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, str):
            return self._string(value, key)
        if isinstance(value, tuple):
            return tuple(self._value(each, key) for each in value)
        if isinstance(value, list):
            return [self._value(each, key) for each in value]
        if isinstance(value, Mapping):
            return {
                self._text(str(name)): self._value(each, str(name)) for name, each in value.items()
            }
        if is_dataclass(value) and not isinstance(value, type):
            changes = {
                field.name: self._value(getattr(value, field.name), field.name)
                for field in fields(value)
                if field.init
            }
            return replace(value, **changes)
        return value

    def _string(self, text: str, key: str) -> str:
        if key == "hostname" and text:
            return (
                text
                if identifiers.OURS.fullmatch(text)
                else self._number("host", text, "host-{}".format)
            )
        if identifiers.SECRET_KEYS.search(key) and text:
            return self._number("serial", text, "serial-{}".format)
        if identifiers.VERSION_KEYS.search(key) and identifiers.VERSION.fullmatch(text):
            return text
        if "proxy" in key.lower():
            text = identifiers.DOMAIN.sub(self._domain, text)
        return self._text(text)

    def _domain(self, match: re.Match[str]) -> str:
        known = identifiers.PUBLIC.fullmatch(match[0]) or identifiers.VERSION.fullmatch(match[0])
        return match[0] if known else self._number("host", match[0], "host-{}".format)

    def _text(self, text: str) -> str:
        text = identifiers.TOKEN.sub(identifiers.SECRET, text)
        text = identifiers.BEARER.sub(rf"\1{identifiers.SECRET}", text)
        text = identifiers.NAMED_SECRET.sub(_hide_value, text)
        text = identifiers.FLAG_SECRET.sub(_hide_value, text)
        text = identifiers.URL.sub(self._url, text)
        text = identifiers.MAIL.sub(self._mail, text)
        text = identifiers.INTERNAL.sub(self._internal, text)
        text = identifiers.UUID.sub(self._uuid, text)
        text = identifiers.GUID.sub(self._guid, text)
        text = identifiers.MAC.sub(self._mac, text)
        text = identifiers.SERIAL.sub(self._serial, text)
        text = identifiers.IP6.sub(self._ip, text)
        text = identifiers.IP4.sub(self._ip, text)
        text = identifiers.HOME.sub(self._home, text)
        return self._without_names(text)

    def _home(self, match: re.Match[str]) -> str:
        name = match[1]
        if identifiers.identifies(name):
            name = self._number("user", name, "user-{}".format)
        return match[0][: match.start(1) - match.start()] + name

    def _without_names(self, text: str) -> str:
        for name in sorted(self._names, key=len, reverse=True):
            if name in text:
                pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
                text = re.sub(pattern, self._names[name], text)
        return text

    def _url(self, match: re.Match[str]) -> str:
        host = match[2]
        known = (
            identifiers.PUBLIC.fullmatch(host)
            or identifiers.VERSION.fullmatch(host)
            or identifiers.OURS.fullmatch(host)
        )
        if not known and host not in self._names:
            host = self._number("host", host, "host-{}".format)
        return match[1] + host

    def _internal(self, match: re.Match[str]) -> str:
        return self._number("host", match[0], "host-{}".format)

    def _mail(self, match: re.Match[str]) -> str:
        if match[0].endswith("@example.com"):
            return match[0]
        return self._number("mail", match[0].lower(), "mail-{}@example.com".format)

    def _uuid(self, match: re.Match[str]) -> str:
        if match[0].startswith("00000000-0000-0000-0000-"):
            return match[0]
        return self._number("uuid", match[0].lower(), "00000000-0000-0000-0000-{:012d}".format)

    def _guid(self, match: re.Match[str]) -> str:
        if match[0].startswith("0000:0000:0000:"):
            return match[0]
        return self._number("guid", match[0].lower(), "0000:0000:0000:{:04d}".format)

    def _mac(self, match: re.Match[str]) -> str:
        """Return an address of the block for documentation (RFC 7042)."""
        value = match[0].lower().replace("-", ":")
        if value.startswith("00:00:5e:00:53:"):
            return match[0]
        return self._number("mac", value, lambda number: f"00:00:5e:00:53:{number % 256:02x}")

    def _serial(self, match: re.Match[str]) -> str:
        nothing = match[2] in {"N", "0"} or match[2].startswith("serial-")
        value = match[2] if nothing else self._number("serial", match[2], "serial-{}".format)
        return match[1] + value

    def _ip(self, match: re.Match[str]) -> str:
        """Return an address of the blocks for documentation (RFC 5737, RFC 3849)."""
        text = match[0]
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return text
        if text in self._versions or address.is_loopback or address.is_unspecified:
            return text
        if address in _DOCUMENTED_4 or address in _DOCUMENTED_6:
            return text
        write = _ip4 if address.version == 4 else "2001:db8::{:x}".format
        return self._number(f"ip{address.version}", str(address), write)


_DOCUMENTED_4 = ipaddress.ip_network("192.0.2.0/24")
_DOCUMENTED_6 = ipaddress.ip_network("2001:db8::/32")


def _ip4(number: int) -> str:
    if number < 255:
        return f"192.0.2.{number}"
    return str(ipaddress.IPv4Address("240.0.0.0") + number)


def _hide_value(match: re.Match[str]) -> str:
    """Hide the value of a variable whose name says that it is a secret; a number is a limit."""
    harmless = match[2].isdecimal() or match[2] in {"<set>", identifiers.SECRET}
    return match[0] if harmless else match[1] + identifiers.SECRET


def _strings(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Yield every text in a document with the name of the field that it stands in."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _strings(each, key)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _strings(str(name), "")
            yield from _strings(each, str(name))
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _strings(getattr(value, field.name), field.name)
