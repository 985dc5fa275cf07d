"""Reports of family 1: host compiler, glibc, libstdc++."""

from __future__ import annotations

from tests.doctor.cases.case import Case
from tests.doctor.machines import ROOT, compiler, healthy, toolkit

from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.toolkit import PathChain, Picks, Toolkits
from dsv4_doctor.target import Target

BUILD = Target("0.24.0", ("sm_90",), (), "build")


def _compiled_with(gcc: str, release: str, gcc_max: int) -> Case:
    used = compiler(gcc)
    return Case(
        "F1-01",
        "instructlab/instructlab#2169",
        healthy(
            compilers=HostCompilers((used, compiler("13.2.0", "/usr/bin/g++-13")), used, "PATH"),
            toolkits=Toolkits(
                PathChain(ROOT, (), exists=True),
                (toolkit(release, gcc_max=gcc_max),),
                Picks(ROOT, ROOT, ROOT),
            ),
        ),
        BUILD,
        "host.compiler.ceiling",
        names=("13", "14"),
    )


CASES = (_compiled_with("14.2.1", "12.5", 13),)
