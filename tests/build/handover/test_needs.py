from __future__ import annotations

from pathlib import Path

import pytest
from tests.build import planning

from dsv4_build.handover import needs
from dsv4_build.plan import Plan
from dsv4_build.planner import make_plan
from dsv4_build.proof import absent
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.knowledge import load

RELEASE = load.release("0.24.0")
FILES = {each.name: each.file.replace("*", "312") for each in RELEASE.extensions if each.file}


def _plan(tmp_path: Path, *asked: str, arch: str = "sm_90") -> Plan:
    tree = planning.vllm_tree(tmp_path)
    request = planning.vllm_request(tree, features=asked, archs=(arch,))
    return make_plan(request, planning.machine(), planning.around(tmp_path))


def _require(plan: Plan, *without: str) -> None:
    names = [file for name, file in FILES.items() if name not in without]
    needs.require(plan, absent(plan, names))


def test_deepseek_v4_stands_for_what_it_needs(tmp_path: Path) -> None:
    scope = _plan(tmp_path, "deepseek-v4", "fa3").scope
    assert [each.name for each in scope.modules] == ["flashmla", "deep-gemm", "fa3"]
    # DeepGEMM has no kernels in its module that could be proved.
    assert sorted(each.name for each in scope.features) == ["fa3", "flashmla"]


@pytest.mark.parametrize(
    ("module", "feature"), [("_flashmla_C", "flashmla"), ("_deep_gemm_C", "deep-gemm")]
)
def test_a_module_that_was_skipped_is_fatal_where_it_was_asked_for(
    tmp_path: Path, module: str, feature: str
) -> None:
    with pytest.raises(BuildError, match=rf"{module} \({feature}\): it asks for nvcc"):
        _require(_plan(tmp_path, "deepseek-v4"), module)


def test_it_is_not_where_nobody_asked(tmp_path: Path) -> None:
    _require(_plan(tmp_path), "_flashmla_C", "_deep_gemm_C")


def test_one_that_it_does_not_need_may_be_skipped(tmp_path: Path) -> None:
    _require(_plan(tmp_path, "deepseek-v4"), "_qutlass_C")


def test_architectures_that_none_of_its_parts_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="flashmla, deep-gemm, which have no code for sm_80"):
        _plan(tmp_path, "deepseek-v4", arch="sm_80")


def test_what_needs_a_module_is_told() -> None:
    assert needs.needed_by("_flashmla_C", RELEASE.features) == ("deepseek-v4",)
    assert needs.needed_by("_qutlass_C", RELEASE.features) == ()
