"""From the external projects of a release to every commit that its build reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsv4_build.sources import address
from dsv4_build.sources.model import LeftOut, Missing, Pin, Resolved
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsv4_build.sources.git import Repository
    from dsv4_build.sources.store import Store
    from dsv4_doctor.knowledge.model import ExternalProject

# Deeper than any project nests its submodules; one that does so without end is stopped.
_DEPTH = 12

_GITLINK = "160000"


@dataclass(frozen=True)
class Wanted:
    """A commit that something asks for."""

    project: str
    path: str
    module: str
    url: str
    revision: str

    def missing(self, reason: str = "") -> Missing:
        """Return that it is not there."""
        return Missing(self.project, self.path, self.url, self.revision, reason)


@dataclass
class _Walk:
    """The state of one walk over projects and their submodules."""

    store: Store
    leave_out: Sequence[str]
    bring: Callable[[Wanted], str]
    pins: list[Pin] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def take(self, wanted: Wanted, depth: int = 0) -> None:
        if wanted.path and self._unwanted(wanted):
            left = LeftOut(wanted.project, wanted.path, wanted.module, wanted.url)
            self.left_out.append(left)
            return
        reason = self.bring(wanted)
        repository = self.store.repository(wanted.url)
        commit = repository.commit(wanted.revision) if repository.exists() else None
        tree = repository.tree(commit) if commit is not None else None
        if commit is None or tree is None:
            self.missing.append(wanted.missing(reason))
            return
        pin = Pin(
            wanted.project, wanted.path, wanted.module, wanted.url, wanted.revision, commit, tree
        )
        self.pins.append(pin)
        if depth == _DEPTH:
            msg = f"{pin.name}: submodules nest deeper than {_DEPTH}"
            raise BuildError(msg)
        for each in submodules(repository, pin):
            self.take(each, depth + 1)

    def _unwanted(self, wanted: Wanted) -> bool:
        where = address.parse(wanted.url)
        return any(where.called(name) for name in self.leave_out)


def resolve(
    store: Store,
    projects: Sequence[ExternalProject],
    leave_out: Sequence[str] = (),
    bring: Callable[[Wanted], str] = lambda _: "",
) -> Resolved:
    """Return every commit that a build of these projects reads.

    Args:
        leave_out: Repositories, as ``owner/name``, that no submodule may be taken from.
        bring: Called for each commit before it is looked for; returns why it could not be had.

    Raises:
        InputError: An address is none.
        BuildError: git does not answer.
    """
    walk = _Walk(store, leave_out, bring)
    for project in projects:
        walk.take(Wanted(project.name, "", "", project.repository, project.revision))
    return Resolved(tuple(walk.pins), tuple(walk.missing), tuple(walk.left_out))


def submodules(repository: Repository, pin: Pin) -> Iterator[Wanted]:
    """Yield the submodules that git would fetch for a commit, in the order of their paths.

    As git does, one without an entry in ``.gitmodules``, or that is set to ``update = none``, is
    not taken.

    Raises:
        BuildError: git does not answer.
    """
    entries = _entries(repository, pin.commit)
    paths = {values["path"]: name for name, values in entries.items() if values.get("path")}
    links = _links(repository, pin.commit, sorted(paths))
    for path, commit in links.items():
        values = entries[paths[path]]
        if values.get("update") == "none" or not values.get("url"):
            continue
        yield Wanted(
            project=pin.project,
            path=f"{pin.path}/{path}" if pin.path else path,
            module=paths[path],
            url=address.join(pin.url, values["url"]),
            revision=commit,
        )


def _entries(repository: Repository, commit: str) -> dict[str, dict[str, str]]:
    """Read ``.gitmodules`` of a commit as git itself reads it."""
    blob = f"{commit}:.gitmodules"
    if not repository.ask("cat-file", "-e", blob).ok:
        return {}
    found: dict[str, dict[str, str]] = {}
    for entry in repository.tell("config", "-z", f"--blob={blob}", "--list").split("\0"):
        key, _, value = entry.partition("\n")
        section, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        if section == "submodule" and name:
            found.setdefault(name, {})[variable] = value
    return found


def _links(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, str]:
    if not paths:
        return {}
    listed = repository.tell(
        "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", *paths
    )
    found: dict[str, str] = {}
    for line in listed.split("\0"):
        head, _, path = line.partition("\t")
        if head.startswith(f"{_GITLINK} commit "):
            found[path] = head.rpartition(" ")[2]
    return found
