"""The libraries of a torch, and which symbols they define."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.binary.dynamic import defined_of, defined_with_stem, read_dynamic
from dsv4_doctor.binary.linkage import cuda_majors
from dsv4_doctor.binary.objects import open_files, open_objects
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_doctor.binary.objects import Opened

_PARTS = ("libc10", "libtorch", "libcaffe2", "libshm")
_PLACES = ("torch/lib", "lib", ".")


@dataclass(frozen=True)
class Torch:
    """What the libraries of a torch define, of what was asked for.

    Attributes:
        path: Where they lie.
        libraries: Their file names.
        cuda: Major versions of CUDA that they need.
        defined: Symbols that they define.
        stems: Stems of which they define some symbol, see ``symbols.stem_of``.
    """

    path: str
    libraries: tuple[str, ...]
    cuda: tuple[int, ...]
    defined: frozenset[str]
    stems: frozenset[str]


def read_torch(path: Path, wanted: frozenset[str], stems: frozenset[str]) -> Torch:
    """Look for symbols in the libraries of a torch.

    Args:
        path: A directory with them, of a torch or around it; a wheel; or one library.
        wanted: Symbols to look for.
        stems: Beginnings of symbols to look for.

    Raises:
        InputError: There are none there, or one cannot be read.
    """
    names: list[str] = []
    defined: set[str] = set()
    begun: set[str] = set()
    cuda: set[int] = set()
    with _libraries(path) as opened:
        for each in opened:
            if isinstance(each.content, InputError):
                raise each.content
            names.append(each.name.rsplit("/", 1)[-1])
            defined |= defined_of(each.content, wanted)
            begun |= defined_with_stem(each.content, stems)
            dynamic = read_dynamic(each.content)
            cuda.update(cuda_majors(dynamic.needed) if dynamic else ())
    if not names:
        msg = f"{path}: no libraries of torch in it ({', '.join(_PARTS)})"
        raise InputError(msg, hint="--torch takes torch/lib, a wheel of torch, or `auto`")
    return Torch(str(path), tuple(names), tuple(sorted(cuda)), frozenset(defined), frozenset(begun))


@contextmanager
def _libraries(path: Path) -> Iterator[list[Opened]]:
    if path.is_dir():
        root = next(
            (path / place for place in _PLACES if any((path / place).glob("libc10*.so"))), path
        )
        names = sorted(each.name for each in root.iterdir() if _is_part(each.name))
        with open_files(root, names) as opened:
            yield opened
        return
    with open_objects(path) as opened:
        single = len(opened) == 1
        yield [each for each in opened if single or _is_part(each.name.rsplit("/", 1)[-1])]


def _is_part(name: str) -> bool:
    return name.startswith(_PARTS) and ".so" in name
