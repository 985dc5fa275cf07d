#!/usr/bin/env python3
"""Measures ``fleet`` on a made-up fleet: wall time, peak memory, size and speed of the HTML page.

    scripts/bench_fleet.py SNAPSHOT.json [--hosts 10000]

``cat`` over the same files in the same run is the peer: what reading them alone costs. The page is
opened in the system's Chromium where playwright is installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
FILTER = """() => {
  const box = document.getElementById("filter");
  const begun = performance.now();
  box.value = "gpu0123";
  box.dispatchEvent(new Event("input"));
  document.getElementById("rows").offsetHeight;
  return performance.now() - begun;
}"""


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--hosts", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        fleet, page = Path(place) / "fleet", Path(place) / "fleet.html"
        made = [sys.executable, str(HERE / "make_fleet.py"), str(options.snapshot), str(fleet)]
        subprocess.run([*made, "--hosts", str(options.hosts)], check=True)
        peer, _ = measure(["sh", "-c", f"cat {fleet}/*.json >/dev/null"])
        print(f"{options.hosts} hosts; reading the files alone: {peer:.2f} s")
        doctor = [sys.executable, "-m", "dsv4_doctor", "fleet", "report", str(fleet)]
        for form in ("text", "json", "html"):
            target = str(page) if form == "html" else str(Path(place) / form)
            seconds, peak = measure([*doctor, "--format", form, "--output", target])
            size = Path(target).stat().st_size / 1e6
            ratio = seconds / peer
            print(f"{form:5} {seconds:6.2f} s  {ratio:5.1f} x  {peak:5.0f} MB peak  {size:5.1f} MB")
        browse(page)


def measure(argv: list[str]) -> tuple[float, float]:
    """Return wall seconds and the peak memory of the largest process, in MB."""
    begun = time.monotonic()
    child = subprocess.Popen(argv)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in {0, 1, 3}:
        sys.exit(f"{argv}: exit status {child.returncode}")
    return time.monotonic() - begun, usage.ru_maxrss / 1024


def browse(page: Path) -> None:
    """Print how long the page takes to open and to filter."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None or find_spec("playwright") is None:
        print("page not opened: no Chromium, or no playwright")
        return
    with import_module("playwright.sync_api").sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        opened = started.new_page()
        begun = time.monotonic()
        opened.goto(page.as_uri())
        opened.wait_for_selector(".row")
        print(f"page opens in {time.monotonic() - begun:.2f} s,", end=" ")
        print(f"filters in {opened.evaluate(FILTER):.0f} ms")
        started.close()


if __name__ == "__main__":
    main()
