#!/usr/bin/env python3
"""Holds `diagnose` against public failures: is the right cause named first, is any named wrongly?

    scripts/diagnose_cases.py CASES.jsonl [--expected FILE] [--verbose]

Each record has an ``id`` and ``key_errors``, the lines by which the failure is known. They are put
into a longer log that has nothing to do with it. ``diagnose_cases.json`` beside this script says
which signatures are right for which record: a cause, or a hint where the record itself has no more
than a guess; an empty list where no line of it shows an error. A record that the file does not
know is shown with what was named for it, and not counted.

Exit status: 0 when at least 95 % are right and none is named wrongly with confidence, else 1.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.logs.session import diagnose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.logs.diagnosis import Diagnosis

EXPECTED = Path(__file__).with_suffix(".json")
WANTED = 0.95

_BEFORE = (
    "Processing /src/vllm",
    "  Installing build dependencies: started",
    "  Installing build dependencies: finished with status 'done'",
    *(f"Requirement already satisfied: package-{n} in /venv/lib (1.{n})" for n in range(60)),
    "-- The CXX compiler identification is GNU 13.3.0",
    "-- Check for working CXX compiler: /usr/bin/c++ - skipped",
    "-- Performing Test HAS_FLAG - Failed",
    *(f"[{n}/400] Building CUDA object CMakeFiles/_C.dir/csrc/k{n}.cu.o" for n in range(1, 200)),
    'csrc/quantization/k.cu(31): warning #177-D: variable "x" was declared but never referenced',
    *(f"INFO 03-01 10:{n:02}:00 [model.py:{n}] step {n} of the start is done" for n in range(60)),
)
_AFTER = (
    "Traceback (most recent call last):",
    '  File "/venv/lib/python3.12/site-packages/app/main.py", line 10, in <module>',
    "    run()",
    "subprocess.CalledProcessError: Command '['cmake']' returned non-zero exit status 1.",
    "ninja: build stopped: subcommand failed.",
    "RuntimeError: Engine core initialization failed. See root cause above.",
)


@dataclass(frozen=True)
class Outcome:
    """What was said of one record.

    Attributes:
        verdict: ``right``, ``later`` (a cause, but not the first), ``wrong``, ``nothing``,
            ``no error line`` or ``not known``.
    """

    id: str
    verdict: str
    named: tuple[str, ...]
    hints: tuple[str, ...]


def log_of(lines: Sequence[str]) -> str:
    """Return a log that has these lines in it."""
    # What shows itself by the log's end has nothing after it.
    return "\n".join((*_BEFORE, *lines, *_AFTER)) + "\n"


def judge(record_id: str, found: Diagnosis, expected: Sequence[str] | None) -> Outcome:
    """Hold what was said against what is right."""
    named = tuple(each.id for each in found.causes)
    hints = tuple(each.id for each in found.hints)
    said = named or hints

    def right(identifier: str) -> bool:
        return any(fnmatchcase(identifier, each) for each in expected or ())

    if expected is None:
        verdict = "not known"
    elif not expected:
        verdict = "wrong" if named else "no error line"
    elif said and right(said[0]):
        verdict = "right"
    elif any(right(each) for each in said):
        verdict = "later"
    else:
        verdict = "wrong" if named else "nothing"
    return Outcome(record_id, verdict, named, hints)


def main(arguments: Sequence[str]) -> int:
    """Print the table and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--expected", type=Path, default=EXPECTED)
    parser.add_argument("--verbose", action="store_true", help="also show those that are right")
    options = parser.parse_args(arguments)
    expected = json.loads(options.expected.read_text(encoding="utf-8"))["cases"]
    outcomes = []
    for line in options.cases.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        log = log_of(record["key_errors"]).encode()
        found = diagnose(io.BytesIO(log), record["id"])
        outcomes.append(judge(record["id"], found, expected.get(record["id"])))
    return _report(outcomes, verbose=options.verbose)


def _report(outcomes: Sequence[Outcome], *, verbose: bool) -> int:
    for each in outcomes:
        if verbose or each.verdict not in {"right", "no error line"}:
            said = ", ".join(each.named) or ", ".join(f"({hint})" for hint in each.hints) or "-"
            print(f"{each.id:<8} {each.verdict:<14} {said}")
    counts = Counter(each.verdict for each in outcomes)
    judged = sum(counts[each] for each in ("right", "later", "wrong", "nothing"))
    share = counts["right"] / judged if judged else 0.0
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    print(f"right cause first: {counts['right']} of {judged} ({share:.1%})")
    return 0 if share >= WANTED and not counts["wrong"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
