"""The directory that vLLM is built in."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass, field


@dataclass(frozen=True)
class BuildTree:
    """A directory as a build in it would find it, read from its files.

    Attributes:
        path: The directory.
        vllm: Whether it is a source tree of vLLM.
        sdist: Whether it says its version itself (``PKG-INFO``), as a source distribution does.
        work_tree: Top of the git work tree that it lies in, ``None`` for none.
        shallow: Whether the history of that work tree is cut off.
        tags: How many tags it has.
        owner: User id of the work tree's owner, where it is not the one who runs this.
        git_error: What git said when it was asked about a work tree of another owner.
        current: Whether it is the current directory, from which Python imports.
        compiled: Whether extension modules of vLLM are in it.
        overrides: Variables that name a source tree for the build which is not there, such as
            ``VLLM_CUTLASS_SRC_DIR``, with what they name.
    """

    path: str
    vllm: bool
    sdist: bool
    work_tree: str | None
    shallow: bool = False
    tags: int = 0
    owner: int | None = None
    git_error: str | None = None
    current: bool = False
    compiled: bool = False
    overrides: dict[str, str] = field(default_factory=dict)
