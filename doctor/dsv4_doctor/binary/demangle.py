"""C++ names as people write them, where this machine's C++ library can tell.

In a child process under limits of time and memory: the names come from the file that is looked at,
and a hostile one makes a demangler recurse or fill the memory.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from dsv4_doctor import process

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIMIT = 5.0
_MOST_NAMES = 64
# One argument of a program may have 128 kB; a CUTLASS kernel's name has some thousand characters.
_LONGEST = 32 << 10
_MANGLED = re.compile(r"_Z[\w.$]+", re.ASCII)

_CODE = """
import ctypes, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
call = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
call.restype = ctypes.c_void_p
call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
for name in sys.argv[1:]:
    found = call(name.encode("ascii"), None, None, None)
    print(ctypes.string_at(found)[:4096].decode("utf-8", "replace") if found else name, flush=True)
"""


def demangle(names: Iterable[str]) -> dict[str, str]:
    """Return the demangled form of each name that has one; others are left out.

    Nothing is returned where there is no C++ library, or for what it cannot tell in time.

    Args:
        names: Mangled or other names; of more than 64, the first.
    """
    wanted = [
        each for each in dict.fromkeys(names) if len(each) <= _LONGEST and _MANGLED.fullmatch(each)
    ][:_MOST_NAMES]
    if not wanted or not sys.executable:
        return {}
    try:
        done = process.run([sys.executable, "-I", "-c", _CODE, *wanted], limit=_LIMIT)
    except process.ProcessError:
        return {}
    # After a crash fewer lines come than names went in: the rest stays as it is.
    lines = done.stdout.split("\n")[:-1]
    return {
        name: line
        for name, line in zip(wanted, lines, strict=False)
        if line and line.isprintable() and line != name
    }
