"""The shapes of the knowledge files, as frozen dataclasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from dsv4_doctor.arch import Arch
    from dsv4_doctor.knowledge.places import Cited, Place

ANY_VERSION = SpecifierSet()


@dataclass(frozen=True)
class CompilerFloor:
    """The oldest gcc that a release accepts.

    Attributes:
        minimum: Such as ``11.3``.
        scope: ``all`` targets, or ``cuda`` builds only.
    """

    minimum: Version
    scope: Literal["all", "cuda"]
    place: Place


@dataclass(frozen=True)
class ArchRange:
    """The architectures that a release compiles for, under a condition on nvcc.

    Attributes:
        nvcc: Versions of nvcc for which this list holds.
    """

    nvcc: SpecifierSet
    archs: tuple[Arch, ...]
    place: Place

    def covers(self, arch: Arch) -> bool:
        """Whether a build for this architecture gets kernels.

        vLLM takes the newest architecture of the list that is of the same major and not newer.
        """
        return any(each.major == arch.major and each.minor <= arch.minor for each in self.archs)


@dataclass(frozen=True)
class Feature:
    """How one feature stands in one release.

    Attributes:
        name: Such as ``fa3``.
        present: Whether the release has it.
        archs: Architectures that it has machine code for with nvcc 13.0, when they are among
            those of the build; empty for all supported ones.
        ptx: Architectures whose PTX it carries besides, for newer GPUs to compile at load.
        nvcc: Versions of nvcc that the build asks for; empty for any.
        runtime_nvcc: Versions of nvcc that a server needs, because kernels are compiled there;
            ``None`` when it needs no nvcc.
        component: Extension module that carries it, such as ``_vllm_fa3_C``.
        file: That module inside the wheel, a glob where its name has the Python version;
            empty when there is no shared object.
        units: Sources that it is compiled from.
        optional: Whether the build goes on without it and says nothing.
        compute_majors: Compute capability majors it runs on at run time; empty for all.
        refused: Compute capabilities of these majors that it refuses at run time nevertheless.
        needs: Other features that it cannot run without.
        first: First release that has it, when known.
        last: Last release that has it, when it is gone from a later one.
        note: What a reader must know.
        unknown: Attributes of this feature that could not be read from the release's tree.
        places: Where all this stands.
    """

    name: str
    present: bool
    places: tuple[Place, ...]
    archs: tuple[Arch, ...] = ()
    ptx: tuple[Arch, ...] = ()
    nvcc: SpecifierSet = ANY_VERSION
    runtime_nvcc: SpecifierSet | None = None
    component: str = ""
    file: str = ""
    units: tuple[str, ...] = ()
    optional: bool = False
    compute_majors: tuple[int, ...] = ()
    refused: tuple[Arch, ...] = ()
    needs: tuple[str, ...] = ()
    first: str = ""
    last: str = ""
    note: str = ""
    unknown: tuple[str, ...] = ()

    def has_kernels_for(self, arch: Arch) -> bool:
        """Whether it has kernels that run on an architecture, as far as is known."""
        if self.compute_majors and arch.major not in self.compute_majors:
            return False
        if arch.base in self.refused:
            return False
        if not self.archs or any(each.major <= arch.major for each in self.ptx):
            return True
        return any(
            each.base == arch.base
            or (each.suffix != "a" and each.major == arch.major and each.minor <= arch.minor)
            for each in self.archs
        )


@dataclass(frozen=True)
class Extension:
    """One extension module that a release's setup.py declares.

    Attributes:
        name: Target name, such as ``_flashmla_C``.
        file: Shared object inside the wheel, a glob where its name has the Python version;
            empty for a component of Python files.
        optional: Whether the build goes on without it and says nothing.
        nvcc: Versions of nvcc for which it is declared.
        python: Versions of Python for which it is declared.
    """

    name: str
    file: str
    optional: bool
    nvcc: SpecifierSet
    place: Place
    python: SpecifierSet = ANY_VERSION


@dataclass(frozen=True)
class ExternalProject:
    """One source tree that a release's CMake downloads.

    Attributes:
        revision: Commit or tag that the release pins.
        override: Environment variable that names a local tree instead.
        cmake: The file of the release's tree that fetches it.
        components: Extension modules that are built or installed from it; empty when the
            main extensions themselves need it.
    """

    name: str
    repository: str
    revision: str
    override: str
    cmake: str
    components: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class Release:
    """What one vLLM release needs and has, each value with its place in that release's tree.

    Attributes:
        torch: Version of torch that the build pins.
        torch_cuda: CUDA version of the default wheel of that torch, ``None`` for a torch of
            which nothing is known.
        triton: Requirement on triton, which comes with torch; ``None`` as before.
        main_cuda: CUDA version of the release's default wheel.
        cmake: Oldest CMake, by the stricter of CMakeLists.txt and the build requirements.
        cxx_standard: C++ standard that its CMake sets, ``None`` when torch's decides.
        not_established: What its tree does not say in a form that the extractor reads.
    """

    name: str
    sdist_sha256: str
    requires_python: Cited
    torch: Cited
    torch_cuda: Cited | None
    triton: Cited | None
    main_cuda: Cited
    cmake: Cited
    cxx_standard: Cited | None
    gcc: tuple[CompilerFloor, ...]
    cuda_archs: tuple[ArchRange, ...]
    features: dict[str, Feature]
    extensions: tuple[Extension, ...]
    external_projects: tuple[ExternalProject, ...]
    not_established: tuple[str, ...] = ()

    @property
    def version(self) -> Version:
        """The release as a comparable version."""
        return Version(self.name)

    def has(self, feature: str) -> bool:
        """Whether the release has this feature."""
        known = self.features.get(feature)
        return known is not None and known.present

    def absence(self, feature: str) -> str:
        """Say that it lacks a feature, and which release has it: for after "the release has"."""
        known = self.features.get(feature)
        if known is not None and known.last:
            return f"no {feature}: the last release with it is {known.last}"
        if known is not None and known.first:
            return f"no {feature}: the first release with it is {known.first}"
        return f"no {feature}"

    def archs_for(self, nvcc: str) -> ArchRange | None:
        """Return the supported architectures for this version of nvcc."""
        return next((each for each in self.cuda_archs if accepts(each.nvcc, nvcc)), None)


def accepts(specifier: SpecifierSet, version: str) -> bool:
    """Whether a version satisfies a specifier, pre-releases and local tags included.

    An unreadable version satisfies nothing.
    """
    try:
        return specifier.contains(Version(version).public, prereleases=True)
    except InvalidVersion:
        return False


@dataclass(frozen=True)
class ToolkitRelease:
    """What is known of one CUDA release before it is installed; an installed one says it itself.

    Attributes:
        name: ``major.minor``.
        gcc_max: Newest major of gcc that its ``crt/host_config.h`` accepts.
        driver_min: Driver that ships with its first update, ``None`` when not established.
        ptx: Newest PTX ISA that its assembler reads.
        archs: Architectures that its assembler makes machine code for, suffixes included.
        place: The header.
        driver_place: Where the driver stands.
        ptx_place: Where the PTX ISA stands.
        archs_place: Where the architectures stand.
    """

    name: str
    gcc_max: int | None
    driver_min: str | None
    ptx: str | None
    place: Place
    driver_place: Place | None = None
    ptx_place: Place | None = None
    archs: tuple[Arch, ...] = ()
    archs_place: Place | None = None


@dataclass(frozen=True)
class DriverFloor:
    """The oldest driver branch that runs binaries of one CUDA major version."""

    cuda_major: int
    driver: str
    place: Place


@dataclass(frozen=True)
class Claim:
    """One line of a profile's matrix, and what upstream's source says of it.

    Attributes:
        subject: ``cuda``, or the name of a Python distribution such as ``torch``.
        versions: The versions that the profile asks for.
        upstream: What the release's own source says of it, empty when there is nothing to add
            to the verdict.
        verdict: ``silent`` when upstream's source neither asks for these versions nor refuses
            them.
        place: Where the source says so.
    """

    subject: str
    versions: tuple[str, ...]
    upstream: str
    verdict: Literal["confirmed", "contradicted", "silent"]
    place: Place | None


@dataclass(frozen=True)
class Profile:
    """A matrix of versions that somebody recommends, kept apart from what upstream says."""

    name: str
    title: str
    release: str
    claims: tuple[Claim, ...]
    origin: Place


@dataclass(frozen=True)
class Project:
    """What this project itself asks for.

    Attributes:
        cuda_minimum: The oldest CUDA toolkit.
        assembled_cuda: The CUDA release that ``dsv4-doctor toolchain`` assembles from PyPI.
        default_features: The features that the default release must have together.
        feature_titles: What each feature is, in words.
    """

    cuda_minimum: Cited
    assembled_cuda: Cited
    default_features: tuple[str, ...]
    feature_titles: dict[str, str]
