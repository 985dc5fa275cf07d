"""Symbols of the installed extension modules that nothing defines, where somebody looked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, requirement, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.symbols import LibraryNeeds, Unresolved
    from dsv4_doctor.report import Status

_SHOWN = 3


@check(
    "vllm.install.symbols",
    "symbols of the extension modules",
    reads=("python", "symbols"),
    reports=(
        "vllm-project/vllm#13608",
        "vllm-project/vllm#20514",
        "Dao-AILab/flash-attention#1717",
        "Dao-AILab/flash-attention#1832",
    ),
    fix="Install the module that was built for this torch; or build with the missing kernels.",
)
def resolved(context: Context) -> Iterator[Finding]:
    """Whether torch and the modules define every symbol that the modules need (``--deep``).

    Two causes look alike. ``_ZN3c10…`` is torch's: the module was built for another torch or
    another C++ ABI. A kernel's own name, such as ``cutlass_…_sm100``, was never compiled: torch
    has nothing to do with it.
    """
    found = context.snapshot.symbols
    if found is None:
        run = context.snapshot.probe("symbols")
        if run is not None:
            context.need("symbols", found)
        return
    if not found.modules:
        return
    groups: dict[tuple[str, str], list[Unresolved]] = {}
    for each in found.unresolved:
        groups.setdefault((each.owner, each.kind), []).append(each)
    for group in groups.values():
        yield _unresolved(context, group)
    if groups:
        return
    yield Finding(
        "vllm.install.symbols",
        "unknown" if found.unknown else "pass",
        "some symbols could not be resolved: " + "; ".join(found.unknown)
        if found.unknown
        else f"all symbols of {len(found.modules)} extension modules are defined",
        found="; ".join(found.unknown) or "all defined",
        expected="every symbol defined",
        evidence=(Evidence(f"{len(found.modules)} modules", found.torch or "no torch"),),
    )


@check(
    "python.packages.libraries",
    "C and C++ libraries under all packages",
    reads=("host", "python", "symbols"),
    reports=("mlc-ai/xgrammar#821", "llm-d/llm-d-kv-cache#445"),
    fix="Use a newer libstdc++, or a wheel of the package for older systems.",
)
def packages(context: Context) -> Iterator[Finding]:
    """Whether glibc and libstdc++ are new enough for every installed package (``--deep``).

    vLLM's dependencies have compiled parts, too, and a wheel's tag may promise more than it keeps.
    An undefined ``std::`` symbol or "version `GLIBCXX_3.4.30' not found" means an old libstdc++,
    and has nothing to do with torch.
    """
    symbols = context.snapshot.symbols
    if symbols is None or not symbols.needs:
        return
    python, host = context.snapshot.python, context.snapshot.host
    here = {
        "GLIBC": (host.glibc if host is not None else None, "the C library"),
        "GLIBCXX": (
            python.glibcxx if python is not None else None,
            (python.libstdcxx if python is not None else None) or "libstdc++.so.6",
        ),
    }
    bad = [
        (each, f"{family}_{wanted}", f"{family}_{have}", where)
        for each in symbols.needs
        for family, wanted in (("GLIBC", each.glibc), ("GLIBCXX", each.glibcxx))
        for have, where in (here[family],)
        if wanted and have and selection.version(wanted) > selection.version(have)
    ]
    if bad:
        yield from (_too_old(context, *each) for each in bad)
    elif all(have for have, _ in here.values()):
        rest = f", {len(symbols.unread)} were not read in time" if symbols.unread else ""
        yield Finding(
            "python.packages.libraries",
            "unknown" if symbols.unread else "pass",
            f"glibc and libstdc++ are new enough for {len(symbols.needs)} packages{rest}",
            found=", ".join(f"{family}_{have}" for family, (have, _) in here.items()),
            expected="what the packages ask for",
        )


def _too_old(context: Context, needs: LibraryNeeds, wanted: str, have: str, where: str) -> Finding:
    status: Status = "fail" if context.target.serves else "warn"
    return Finding(
        "python.packages.libraries",
        status,
        f"{needs.package} asks for {wanted}, here is {have} in {where}",
        found=have,
        expected=f"at least {wanted}",
        evidence=(Evidence(wanted, needs.path), Evidence(have, where)),
        remedy=Remedy(
            "load a newer libstdc++ (conda's libstdcxx-ng, or LD_LIBRARY_PATH to that of a newer"
            f" gcc), or install {needs.package} from source here; it is no fault of torch"
            if wanted.startswith("GLIBCXX")
            else f"use a newer system or container, or install {needs.package} from source here"
        ),
    )


def _unresolved(context: Context, group: list[Unresolved]) -> Finding:
    """Return one finding for all modules of a package that lack symbols for one cause."""
    first = group[0]
    abi = first.kind == "torch-abi"
    symbols = list(dict.fromkeys(symbol for each in group for symbol in each.symbols))
    paths = dict.fromkeys(each.path for each in group)
    modules = ", ".join(path.rpartition("/")[2] for path in paths)
    shown = ", ".join(symbols[:_SHOWN])
    count = max(sum(each.count for each in group), len(symbols))
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    cause = (
        "built for another torch or C++ ABI"
        if abi
        else "kernels of its own were never compiled; torch is not the cause"
    )
    return Finding(
        "vllm.install.symbols",
        "fail" if context.target.serves else "warn",
        f"{first.owner} cannot be loaded, {cause}: {shown}{more}",
        found=f"{modules}: {'; '.join(dict.fromkeys(each.reason for each in group))}",
        expected="every symbol defined",
        evidence=tuple(
            Evidence(symbol, each.path) for each in group for symbol in each.symbols[:_SHOWN]
        ),
        remedy=_remedy(context, first, abi=abi),
    )


def _remedy(context: Context, each: Unresolved, *, abi: bool) -> Remedy:
    python = context.snapshot.python
    executable = python.executable if python is not None else "python3"
    if not abi:
        return Remedy(
            "build again with the architectures whose kernels are missing in TORCH_CUDA_ARCH_LIST,"
            " or take another revision: another torch does not help"
        )
    if each.owner == "vllm":
        dist = python.distribution("vllm") if python is not None else None
        asked = requirement.on(dist, "torch") if dist is not None else None
        torch = asked.text if asked is not None else f"torch=={context.release.torch.value}"
        return Remedy(
            "install the torch that this vLLM was built for, or build vLLM against this one",
            (remedies.pip_install(executable, "--force-reinstall", torch),),
        )
    return Remedy(
        f"build {each.owner} against the installed torch",
        (
            Command(env={"FLASH_ATTENTION_FORCE_BUILD": "TRUE"}),
            Command(argv=(executable, "-m", "pip", "install", "--no-build-isolation",
                          "--no-cache-dir", "--force-reinstall", "--no-deps", each.owner)),
        ),
    )  # fmt: skip
