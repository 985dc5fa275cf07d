"""``--gpu-test``: the kernels that were built, once each on this machine's GPU."""

from __future__ import annotations

import zipfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dsv4_build.trial.run import Case, Module, Outcome, Spec, run_child
from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dsv4_build.plan import Plan
    from dsv4_build.scope import Scope
    from dsv4_build.tree import Tree
    from dsv4_doctor.knowledge.model import Feature
    from dsv4_doctor.snapshot import Snapshot

# Seconds for one child: it imports torch, makes a CUDA context and loads up to some hundred
# megabytes of kernels; torch's own import took 4.5 s on a machine with an H200.
LIMIT = 300.0

# By the file of the cases, then by feature: what it is called, and the function.
_CASES: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {
    "smoke": {
        "paged-v2": (("paged_attention_v2", "paged_attention_v2"),),
        "fa3": (
            ("FlashAttention-3 forward", "flash_forward"),
            ("FlashAttention-3 forward, causal", "flash_forward_causal"),
        ),
    },
    "vllm": {
        "paged-v2": (("paged_attention_v2", "paged_attention_v2"),),
        "fa3": (
            ("FlashAttention-3, varlen", "flash_varlen"),
            ("FlashAttention-3, paged", "flash_paged"),
            ("FlashAttention-3, split", "flash_split"),
        ),
    },
}


@dataclass(frozen=True)
class Tried:
    """One kernel that ran and agreed with its reference.

    Attributes:
        error: Largest absolute error.
        tolerance: How large it may be.
        seconds: Wall time, the reference included.
    """

    name: str
    feature: str
    error: float
    tolerance: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def require(tree: Tree, scope: Scope, snapshot: Snapshot) -> None:
    """Refuse a test that cannot be made here, before hours are spent on the build.

    Raises:
        UsageError: Nothing that is built has a test.
        BuildError: This machine has no GPU, or none that can run what is built.
    """
    if not cases(tree, scope):
        known = ", ".join(_CASES[tree.recipe.name])
        msg = f"--gpu-test: nothing that is built has a test; there are tests of {known}"
        raise UsageError(msg)
    found = [gpu.compute_capability for gpu in snapshot.gpus or () if gpu.compute_capability]
    away = "leave --gpu-test out; the features are proved from the bytes all the same"
    if not found:
        msg = "--gpu-test: this machine has no GPU that could be asked"
        raise BuildError(msg, hint=away)
    if Arch.parse(found[0]).base not in scope.archs:
        built = ", ".join(arch.sm for arch in scope.archs)
        msg = (
            f"--gpu-test: the first GPU is {Arch.parse(found[0]).sm}, and the build is for {built}"
        )
        raise BuildError(msg, hint=f"CUDA_VISIBLE_DEVICES names another GPU, or {away}")


def cases(tree: Tree, scope: Scope) -> tuple[Case, ...]:
    """Return the tests of what will be proved."""
    return cases_of(tree.recipe.name, scope.features)


def cases_of(recipe: str, features: Sequence[Feature]) -> tuple[Case, ...]:
    """Return the tests of features of a recipe's trees."""
    known = _CASES[recipe]
    return tuple(
        Case(name, feature.name, feature.component, f"{recipe}:{function}")
        for feature in features
        for name, function in known.get(feature.name, ())
    )


def test_wheel(plan: Plan, wheel: Path, scratch: Path) -> tuple[Tried, ...]:
    """Run the tests of a wheel from its own modules.

    Args:
        scratch: Directory to unpack the modules into.

    Raises:
        BuildError: A kernel disagrees with its reference, or does not run.
    """
    wanted = cases(plan.tree, plan.scope)
    features = {each.name: each for each in plan.scope.features}
    with zipfile.ZipFile(wheel) as archive:
        modules = [
            Module(each, archive.extract(_member(features, wanted, each), scratch))
            for each in dict.fromkeys(case.module for case in wanted)
        ]
    return _run(plan, modules, wanted, lazy=False)


def test_modules(plan: Plan, modules: Sequence[Module]) -> tuple[Tried, ...]:
    """Run the tests of modules that hold only a part of their units.

    Raises:
        BuildError: A kernel disagrees with its reference, or does not run.
    """
    return _run(plan, modules, cases(plan.tree, plan.scope), lazy=True)


def _member(features: dict[str, Feature], wanted: Sequence[Case], module: str) -> str:
    feature = next(case.feature for case in wanted if case.module == module)
    return features[feature].file


def _run(
    plan: Plan, modules: Sequence[Module], wanted: Sequence[Case], *, lazy: bool
) -> tuple[Tried, ...]:
    spec = Spec(tuple(modules), tuple(wanted), torch=plan.tree.release is not None, lazy=lazy)
    outcomes = run_child(plan.choices.python.executable, spec, limit=LIMIT)
    failed = [line for line in map(failure, outcomes) if line]
    if failed:
        lines = "\n".join(f"  {line}" for line in failed)
        msg = f"gpu-test: what was built does not do on this GPU\n{lines}"
        raise BuildError(
            msg, hint=f"nothing was put into {plan.destination}; the result is in {plan.work}"
        )
    by_name = {each.name: each for each in outcomes}
    return tuple(_tried(case, by_name[case.name]) for case in wanted)


def failure(outcome: Outcome) -> str:
    """Return why an outcome is none that a result may have, empty when it is."""
    if outcome.problem:
        return f"{outcome.name}: {outcome.problem}"
    if not outcome.done:
        return f"{outcome.name}: not reached"
    # Infinity stands for a result that is no number.
    if outcome.error is not None and not outcome.error <= (outcome.tolerance or 0.0):
        return f"{outcome.name}: error {outcome.error:.2e}, at most {outcome.tolerance:.2e} allowed"
    return ""


def _tried(case: Case, outcome: Outcome) -> Tried:
    return Tried(
        case.name,
        case.feature,
        outcome.error or 0.0,
        outcome.tolerance or 0.0,
        outcome.seconds or 0.0,
    )
