"""setup.py, values of Python files, and requirements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.knowledge.extract import serve_tree

from dsv4_doctor.knowledge.extract import dockerfile, python_values, requirements
from dsv4_doctor.knowledge.extract.setup_script import extensions
from dsv4_doctor.knowledge.extract.tables import read_variables

GATES = st.sampled_from(["_is_cuda()", "_is_hip()", "_is_cpu()", "CUDA_HOME"])


def declared(test: str) -> list[tuple[str, str, str]]:
    code = f"if {test}:\n    m.append(CMakeExtension(name='vllm._C'))\n"
    return [(each.name, each.nvcc, each.python) for each in extensions(code)[0]]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("_is_cuda()", [("_C", "", "")]),
        ("_is_hip()", []),
        ("not _is_xpu()", [("_C", "", "")]),
        ("get_nvcc_cuda_version() >= Version('12.3')", [("_C", ">=12.3", "")]),
        ("get_nvcc_cuda_version() < Version('13.0')", [("_C", "<13.0", "")]),
        ("sys.version_info >= (3, 11)", [("_C", "", ">=3.11")]),
        ("_is_hip() or get_nvcc_cuda_version() >= Version('12.9')", [("_C", ">=12.9", "")]),
    ],
)
def test_gates(test: str, expected: list[tuple[str, str, str]]) -> None:
    assert declared(test) == expected


def test_a_strict_comparison_of_major_and_minor_is_not_claimed() -> None:
    # 12.3 fails it and 12.4 passes, and no version in between stands in the script.
    code = "if get_nvcc_cuda_version() > Version('12.3'):\n    x(CMakeExtension(name='vllm._C'))\n"
    assert extensions(code) == ((), ("setup.py:2: when vllm._C is declared",))


def test_the_other_branch_has_the_opposite_gate() -> None:
    code = (
        "if get_nvcc_cuda_version() >= Version('12.3'):\n    pass\n"
        "else:\n    m.append(CMakeExtension(name='vllm._old_C'))\n"
    )
    (only,) = extensions(code)[0]
    assert (only.nvcc, only.gate_line, only.line) == ("<12.3", 1, 4)


def test_what_cannot_be_told_is_said() -> None:
    code = "if _something_new():\n    m.append(CMakeExtension(name='vllm._new_C'))\n"
    found, unclear = extensions(code)
    assert not found
    assert unclear == ("setup.py:2: when vllm._new_C is declared",)
    assert extensions("CMakeExtension(name=NAME)")[1]


@given(st.lists(GATES, min_size=1, max_size=4), st.sampled_from([" and ", " or "]))
def test_gates_without_versions_are_plain_logic(names: list[str], word: str) -> None:
    values = [name in {"_is_cuda()", "CUDA_HOME"} for name in names]
    expected = all(values) if "and" in word else any(values)
    assert bool(declared(word.join(names))) is expected


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ('X = "12.1"', "12.1"),
        ('d = {"X": lambda: os.getenv("X", "").lower() or "13.0"}', "13.0"),
        ('d = {"X": lambda: os.getenv("X", "12.8")}', "12.8"),
        ('d = {"X": lambda: os.getenv("X", "12.9").lower()}', "12.9"),
        ('d = {"X": lambda: f()}', None),
        ("X = f()", None),
        ("", None),
    ],
)
def test_assigned_values(code: str, value: str | None) -> None:
    found = python_values.assigned(code, "X")
    assert (found[0] if found is not None else None) == value


def test_the_variables_that_a_script_reads() -> None:
    code = (
        "a = os.getenv('A')\nb = os.environ['B']\nos.environ['C'] = 'x'\n"
        "d = envs.D\ne = envs.load\nf = os.environ.get('A', 1)\n"
    )
    tree = serve_tree.tree(**{"setup.py": code})
    found = read_variables(tree)
    read = {name: line for name, (says, _, line) in found.items() if "setup.py" in says["read_by"]}
    assert read == {"A": 1, "B": 2, "D": 4}


def test_build_requirements_have_their_lines() -> None:
    text = '[tool.x]\nrequires = [\n"no",\n]\n[build-system]\nrequires = [\n  "a>=1",\n  "b",\n]\n'
    found = [(each.name, line) for each, line in requirements.build_requires(text)]
    assert found == [("a", 7), ("b", 8)]


def test_requirement_lines() -> None:
    text = "# c\n-r x.txt\ntorch == 2.5.1 # why\n\nxformers==1; python_version < '3.13'\n!!!\n"
    found = [(each.name, str(each.specifier), line) for each, line in requirements.lines(text)]
    assert found == [("torch", "==2.5.1", 3), ("xformers", "==1", 5)]


@given(st.text(max_size=80))
def test_any_requirements_file_can_be_read(text: str) -> None:
    for requirement, line in (*requirements.lines(text), *requirements.build_requires(text)):
        assert requirement.name
        assert 1 <= line <= len(text.splitlines())


def test_packages_of_the_build_and_of_the_server() -> None:
    files = {
        "pyproject.toml": '[build-system]\nrequires = [\n  "torch == 2.11.0",\n  "Ninja",\n]\n',
        "requirements/cuda.txt": "torch==2.11.0\n",
        "requirements/common.txt": (
            "six>=1.16; python_version > '3.11'\ntorch\nsix; python_version < '3.12'\n"
        ),
    }
    assert requirements.every(serve_tree.tree(**files)) == {
        "build ninja": ({"asks": ["any"]}, "pyproject.toml", 4),
        "build torch": ({"asks": ["==2.11.0"]}, "pyproject.toml", 3),
        "run six": (
            {"asks": ['>=1.16; python_version > "3.11"', 'any; python_version < "3.12"']},
            "requirements/common.txt",
            1,
        ),
        "run torch": ({"asks": ["==2.11.0", "any"]}, "requirements/cuda.txt", 1),
    }


@given(st.text(max_size=80))
def test_any_requirements_are_packages(text: str) -> None:
    tree = serve_tree.tree(**{"requirements/cuda.txt": text, "pyproject.toml": text})
    for says, _, line in requirements.every(tree).values():
        assert says["asks"]
        assert 1 <= line <= len(text.splitlines())


@given(st.text(max_size=80))
def test_any_dockerfile_can_be_read(text: str) -> None:
    for name, value, line in dockerfile.defaults(text):
        assert name
        assert value
        assert 1 <= line <= len(text.splitlines())
