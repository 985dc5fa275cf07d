"""What must be inside a binary, and whether it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary import version_requirements
from dsv4_doctor.binary.compatibility import sass_runs_on
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge.gpu_archs import gpu_archs
from dsv4_doctor.knowledge.kernels import families

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dsv4_doctor.binary.contents import Inspection, SharedObject
    from dsv4_doctor.binary.version_requirements import VersionRequirement
    from dsv4_doctor.knowledge.kernels import Family

Status: TypeAlias = Literal["present", "missing", "unknown"]

_PTX_PREFIX = "compute_"


@dataclass(frozen=True)
class Requirement:
    """One thing that must be there.

    Attributes:
        text: As the user wrote it.
        family: The family of kernels, or ``None``.
        sass: The architecture of the machine code, or ``None``.
        ptx: The architecture of the PTX, or ``None``.
        versions: Versions of torch, CUDA or glibc, or ``None``.
    """

    text: str
    family: Family | None = None
    sass: Arch | None = None
    ptx: Arch | None = None
    versions: VersionRequirement | None = None


@dataclass(frozen=True)
class Decision:
    """Whether one requirement is met.

    Attributes:
        requirement: As the user wrote it.
        status: ``unknown`` means that it could not be told; it is never a pass.
        reason: Why, in one line.
        object: The object that proves it, empty when none does.
        arch: The architecture of the code that proves it.
        kernel: Mangled name of a kernel that proves it, empty for an architecture.
        count: Kernels that prove it, or images of the architecture, in that object.
        objects: How many objects prove it.
    """

    requirement: str
    status: Status
    reason: str
    object: str = ""
    arch: str = ""
    kernel: str = ""
    count: int = 0
    objects: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the decision as plain data."""
        return asdict(self)


def parse_requirements(texts: Sequence[str]) -> tuple[Requirement, ...]:
    """Read requirements as given on the command line, comma-separated or repeated.

    A family (``fa3``) asks for its kernels. ``sm_90`` asks for machine code that a GPU of compute
    capability 9.0 runs, ``sm_90a`` or ``sm_100f`` for exactly this, ``compute_80`` for PTX.
    ``torch==2.11``, ``cuda>=13`` and ``glibc<=2.28`` ask for versions.

    Raises:
        UsageError: One of them does not exist; the message lists those that do.
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    whole = version_requirements.join(part for part in parts if part)
    return tuple(_requirement(each) for each in dict.fromkeys(whole))


def families_of(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """Return the families to look for, for ``Options.prove``."""
    return tuple(each.family.id for each in requirements if each.family)


def archs_of_requirements(requirements: Iterable[Requirement]) -> tuple[Arch, ...]:
    """Return the architectures asked for, for ``Options.prefer``."""
    return tuple(each.sass for each in requirements if each.sass)


def needs_linkage(requirements: Iterable[Requirement]) -> bool:
    """Whether they can only be decided with ``Options.linkage``."""
    return any(each.versions for each in requirements)


def decide(inspection: Inspection, requirements: Iterable[Requirement]) -> tuple[Decision, ...]:
    """Decide requirements on what was found.

    Raises:
        ValueError: A family is asked for that the inspection did not look for.
    """
    return tuple(_decide(inspection, each) for each in requirements)


def _requirement(text: str) -> Requirement:
    family = next((each for each in families() if each.id == text.lower()), None)
    if family is not None:
        return Requirement(text, family=family)
    versions = version_requirements.parse(text)
    if versions is not None:
        return Requirement(text, versions=versions)
    try:
        arch = Arch.parse(text)
    except ValueError:
        arch = None
    if arch is None or arch.base not in gpu_archs():
        known = ", ".join(each.id for each in families())
        archs = ", ".join(each.sm for each in gpu_archs())
        msg = (
            f"unknown requirement {text!r}; known: {known}; {archs}, each also with a or f for "
            f"exactly that code; compute_NN for PTX; versions of torch, cuda and glibc, such as "
            f"torch==2.11"
        )
        raise UsageError(msg)
    if text.lower().startswith(_PTX_PREFIX):
        return Requirement(text, ptx=arch)
    return Requirement(text, sass=arch)


def _decide(inspection: Inspection, requirement: Requirement) -> Decision:
    if requirement.family is not None:
        return _decide_family(inspection, requirement.text, requirement.family)
    if requirement.versions is not None:
        return _decide_versions(inspection, requirement.text, requirement.versions)
    return _decide_arch(inspection, requirement)


def _decide_versions(inspection: Inspection, text: str, versions: VersionRequirement) -> Decision:
    status, reason = version_requirements.answer(versions, inspection.linkage)
    broken = next((each for each in inspection.objects if each.error is not None), None)
    if status == "present" and broken is not None and versions.subject != "torch":
        # What could not be read may ask for something else.
        return Decision(text, "unknown", f"{reason}, but {broken.name} could not be read")
    return Decision(text, status, reason)


def _decide_arch(inspection: Inspection, requirement: Requirement) -> Decision:
    accepts, wanted = _accepted(requirement)
    proofs = [
        (each, image)
        for each in inspection.objects
        for image in each.images
        if accepts(image.kind, image.arch)
    ]
    if not proofs:
        return _not_found(inspection, requirement.text, f"no object holds {wanted}")
    counts: dict[str, int] = {}
    for each, image in proofs:
        counts[each.name] = counts.get(each.name, 0) + image.count
    best = max(counts, key=lambda name: counts[name])
    archs = sorted({image.arch for each, image in proofs if each.name == best})
    amount = _amount(counts[best], "PTX image" if requirement.ptx else "cubin")
    others = f", and {_amount(len(counts) - 1, 'more object')}" if len(counts) > 1 else ""
    return Decision(
        requirement=requirement.text,
        status="present",
        reason=f"{best} has {amount} for {', '.join(archs)}{others}",
        object=best,
        arch=archs[0],
        count=counts[best],
        objects=len(counts),
    )


def _accepted(requirement: Requirement) -> tuple[Callable[[str, str], bool], str]:
    if requirement.ptx is not None:
        name = requirement.ptx.compute
        return (lambda kind, arch: kind == "ptx" and arch == name), f"PTX for {name}"
    code = requirement.sass
    if code is None or code.suffix:
        name = str(code)
        return (lambda kind, arch: kind == "cubin" and arch == name), f"a cubin for {name}"

    def runs(kind: str, arch: str) -> bool:
        return kind == "cubin" and sass_runs_on(code, Arch.parse(arch))

    return runs, f"machine code that a GPU of compute capability {code.dotted} runs"


def _decide_family(inspection: Inspection, text: str, family: Family) -> Decision:
    if not family.variants:
        return Decision(text, "unknown", f"{family.title}: {family.note}")
    if family.id not in inspection.searched:
        msg = f"the inspection of {inspection.path} did not look for {family.id}"
        raise ValueError(msg)
    proofs = [
        (each.name, found)
        for each in inspection.objects
        for found in each.families
        if found.family == family.id
    ]
    if not proofs:
        needed = sorted({arch for variant in family.variants for arch in variant.archs})
        where = f" in a cubin for {' or '.join(map(str, needed))}" if needed else ""
        return _not_found(inspection, text, f"no {family.id} kernel{where}", family)
    name, best = max(proofs, key=lambda proof: proof[1].kernels)
    kernels, cubins = _amount(best.kernels, "kernel"), _amount(best.cubins, "cubin")
    least = "" if inspection.complete else "at least "
    return Decision(
        requirement=text,
        status="present",
        reason=f"{name} has {least}{kernels} in {cubins} for {best.arch}",
        object=name,
        arch=best.arch,
        kernel=best.example,
        count=best.kernels,
        objects=len({proof[0] for proof in proofs}),
    )


def _not_found(
    inspection: Inspection, text: str, reason: str, family: Family | None = None
) -> Decision:
    doubts = [doubt for each in inspection.objects for doubt in _doubts(each, family)]
    if not doubts:
        return Decision(text, "missing", reason)
    more = f" (and {len(doubts) - 1} more)" if len(doubts) > 1 else ""
    return Decision(text, "unknown", f"{reason}, but {doubts[0]}{more}")


def _doubts(each: SharedObject, family: Family | None) -> Iterator[str]:
    if each.error is not None:
        yield f"{each.name} could not be read: {each.error}"
    for unread in each.unread:
        if family is not None and family.accepts(Arch.parse(unread.arch)):
            cubins = _amount(unread.count, "cubin")
            yield f"{cubins} for {unread.arch} in {each.name} could not be read: {unread.reason}"


def _amount(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
