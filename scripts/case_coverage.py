#!/usr/bin/env python3
"""Which public failure reports the checks would have named, as a table.

    scripts/case_coverage.py CASES.jsonl

Each line of the file is a JSON object with at least ``id`` and ``title``. A report is covered when
tests/doctor/cases has facts of it for which a finding names the cause (pytest runs them), invisible
when a reason is given there why no fact of the machine tells it before the failure.
Exit status: 0 at least 95 % of those that can be seen are covered, 1 fewer.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.doctor.cases.test_cases import CASES, INVISIBLE

WANTED = 0.95


def main() -> int:
    """Print one line a report and the share that is covered."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", metavar="CASES.jsonl", type=Path)
    lines = parser.parse_args().cases.read_text(encoding="utf-8").splitlines()
    reports = [json.loads(line) for line in lines if line.strip()]
    covered = {case.id: f"{case.status} {case.finding}" for case in CASES}
    hidden = {case.id: f"not visible: {case.why}" for case in INVISIBLE}
    for report in reports:
        identifier = report["id"]
        how = covered.get(identifier) or hidden.get(identifier) or "NOT COVERED"
        print(f"{identifier}  {report['title'][:70]:70}  {how}")
    visible = [report["id"] for report in reports if report["id"] not in hidden]
    named = [identifier for identifier in visible if identifier in covered]
    share = len(named) / len(visible) if visible else 1.0
    print(f"{len(named)} of {len(visible)} that can be seen are named ({share:.1%});", end=" ")
    print(f"{len(reports) - len(visible)} cannot be seen before the failure")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
