"""The version of a wheel, with a local tag that tells CUDA and architectures.

``0.24.0+cu130.sm90`` says what a binary is for, in ``pip show`` and in ``vllm --version``, and
keeps two builds of one release apart in an index. A requirement ``vllm==0.24.0`` accepts it: a
specifier without a local label ignores that of a candidate (PyPA's version specifiers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.tree import Tree
    from dsv4_doctor.arch import Arch

# setup.py takes this version as it is from then on; before, it adds a CUDA tag of its own when
# nvcc is another one than the release's (knowledge/variables.json).
OVERRIDE = "VLLM_VERSION_OVERRIDE"
_OVERRIDE_SINCE = Version("0.11.1")


def tag(nvcc: str, archs: Sequence[Arch]) -> str:
    """Return the local label of a build, such as ``cu130.sm80.sm90``.

    Args:
        nvcc: Version of the compiler.
    """
    return ".".join([cuda_tag(nvcc), *(f"sm{arch.number}" for arch in sorted(archs))])


def cuda_tag(nvcc: str) -> str:
    """Return ``cu130`` for nvcc 13.0.88, as PyTorch's and vLLM's own wheels spell it."""
    version = Version(nvcc)
    return f"cu{version.major}{version.minor}"


def given(tree: Tree, nvcc: str, archs: Sequence[Arch]) -> str:
    """Return the version that is given to the tree's build.

    Raises:
        UsageError: The tree's own version is none.
    """
    label = tag(nvcc, archs)
    if _adds_cuda(tree, nvcc):
        label = label.partition(".")[2]
    return _labelled(tree, label)


def expected(tree: Tree, nvcc: str, archs: Sequence[Arch]) -> str:
    """Return the version that the wheel has to have.

    Raises:
        UsageError: The tree's own version is none.
    """
    made = given(tree, nvcc, archs)
    return f"{made}.{cuda_tag(nvcc)}" if _adds_cuda(tree, nvcc) else made


def _adds_cuda(tree: Tree, nvcc: str) -> bool:
    if tree.release is None or Version(tree.release.name) >= _OVERRIDE_SINCE:
        return False
    return cuda_tag(nvcc) != cuda_tag(tree.release.main_cuda.value)


def _labelled(tree: Tree, label: str) -> str:
    own = tree.recipe.version or tree.source.version
    try:
        version = Version(own)
    except InvalidVersion as error:
        msg = f"{tree.source.path} says that its version is {own!r}, which is none"
        raise UsageError(msg) from error
    # Commits after a tag are a label already.
    return f"{version}{'.' if version.local else '+'}{label}"
