"""Keeping the account of a build, also of one that does not come to its end."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dsv4_build.publish import REPORT
from dsv4_build.reporting import html
from dsv4_build.reporting.compose import compose, document
from dsv4_doctor.errors import DoctorError
from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dsv4_build.caching.statistics import Statistics
    from dsv4_build.plan import Plan
    from dsv4_build.reporting.model import Outcome
    from dsv4_build.work import Workspace

PAGE = "build-report.html"


@dataclass
class Account:
    """What a build adds to its account while it runs.

    Attributes:
        family: Tells the family of an object.
        cache: What the compiler cache did.
        result: The document of what was built.
        content: The whole account, once the build is over; empty when it could not be written.
    """

    plan: Plan
    work: Workspace
    family: Callable[[str], str]
    cache: Statistics | None = None
    result: dict[str, Any] | None = None
    content: dict[str, Any] = field(default_factory=dict)


@contextmanager
def accounted(
    account: Account, places: list[Path], say: Callable[[str], None]
) -> Iterator[Account]:
    """Write the account of a build when it ends, however it ends.

    Args:
        places: Directories that get it besides the work directory; none may stop a build.
        say: Told where it is.
    """
    ended: tuple[Outcome, str] = ("failed", "")
    try:
        yield account
        ended = ("built", "")
    except KeyboardInterrupt:
        ended = ("interrupted", "it was interrupted")
        raise
    except DoctorError as error:
        ended = ("failed", "\n".join(filter(None, (str(error), error.hint))))
        raise
    except BaseException as error:
        ended = ("failed", repr(error))
        raise
    finally:
        try:
            say(f"report: {_write(account, ended, [account.work.root, *places])}")
        except (OSError, ValueError, DoctorError) as error:
            # The build's own end matters more than its account.
            say(f"no report could be written: {error}")


def _write(account: Account, ended: tuple[Outcome, str], places: list[Path]) -> str:
    """Write the account to every place and return the last page."""
    work = account.work
    report = compose(account.plan, work, ended, account.cache, account.family)
    account.content = document(report, account.result)
    page = html.render(report)
    if not report.steps and (work.root / REPORT).is_file() and (work.root / PAGE).is_file():
        # Nothing was to be done: what is worth telling is how it was done before.
        before = json.loads((work.root / REPORT).read_text(encoding="utf-8"))
        account.content = {**before, "result": account.result}
        page = (work.root / PAGE).read_text(encoding="utf-8")
    text = (json.dumps(account.content, indent=2) + "\n").encode()
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        atomically(place / REPORT, lambda file: file.write(text))
        atomically(place / PAGE, lambda file: file.write(page.encode()))
    return str(places[-1] / PAGE)
