"""The text of ``torch.utils.collect_env`` and of vLLM's ``collect_env.py``, in every layout.

Both print ``KEY: VALUE`` lines; vLLM's pads the keys and adds headings since 0.9. Whoever pastes
it adds indentation, log lines in between, fences, or loses a line break; so the keys decide where
a line begins, wherever they stand.

The rules of what a value means are read in ``torch/utils/collect_env.py`` (torch 2.11.0):
``pretty_str`` writes ``No CUDA`` when torch sees no GPU and no nvcc, driver or GPU was found, and
``Could not collect`` when a program was not there or failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dsv4_doctor.ingest.collect_env_lines import GLUED, TORCH, Part, cut
from dsv4_doctor.ingest.told import Told, ToldGpu
from dsv4_doctor.probes import environment, site_packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KIND = "collect_env text"
_NOTHING = frozenset({"", "N/A", "None", "Could not collect", "No CUDA", "Unknown"})
_NO_CUDA = "No CUDA"

# Where the first word of a distribution's full name is not its identifier in os-release.
_DISTRIBUTIONS = {"red": "rhel", "oracle": "ol", "amazon": "amzn", "opensuse": "opensuse-leap"}

_PACKAGE = re.compile(r"\[(?:pip3?|uv)\][ \t]+([\w.-]+)==([\w.+!-]+)")
_CONDA = re.compile(r"\[conda\][ \t]+([\w.-]+)[ \t]+(\d[\w.+!-]*)[ \t]")
_GPU = re.compile(r"[ \t]*GPU (\d{1,3}): (.+?)(?: \(UUID:.*)?[ \t]*$")
_NEXT_GPU = re.compile(r"[ \t](?=GPU \d{1,3}: )")
_MIG = re.compile(r"[ \t]*MIG \d+g\.")
_VARIABLE = re.compile(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_GCC = re.compile(r"(\d+\.\d+(?:\.\d+)?)(?:[ \t]+\d{8}\b.*)?$")


def read(lines: Sequence[str], first: int) -> Told | None:
    """Read one text.

    Args:
        lines: Its lines, with whatever stands around it.
        first: Number of the first line, from 1.

    Returns:
        What it tells, or ``None`` when none of its keys stands there.
    """
    parts = cut(lines, first)
    values: dict[str, str] = {}
    for part in parts:
        values.setdefault(part.key, part.value)
    if not values.keys() & {TORCH, "GPU models and configuration", "Nvidia driver version"}:
        return None
    by_vllm = any(part.key in {"vLLM Version", "vLLM Build Flags"} for part in parts)
    torch = _torch(values)
    gpus, no_gpus = _gpus(parts, values, torch)
    packages = _packages(lines)
    vllm = _known(values.get("vLLM Version"))
    if vllm is not None and _NUMBER.match(vllm):
        packages["vllm"] = vllm.split(" ")[0]
    driver = _match(_NUMBER, values.get("Nvidia driver version"))
    return Told(
        kind=f"{KIND} of {'vLLM' if by_vllm else 'PyTorch'}",
        first=parts[0].number,
        last=parts[-1].number + len(parts[-1].more),
        host=_host(values),
        driver={"nvml": driver} if driver else {},
        gpus=gpus,
        no_gpus=no_gpus,
        python=_match(re.compile(r"\d+\.\d+(?:\.\d+)?"), values.get("Python version")),
        torch=torch,
        packages=packages,
        nvcc=_match(_NUMBER, values.get("CUDA runtime version")),
        gcc=_gcc(values.get("GCC version")),
        tools=_tools(values),
        environment=_environment(parts) if by_vllm else None,
        foreign=_foreign(values, torch),
    )


def _known(value: str | None) -> str | None:
    return None if value is None or value in _NOTHING else value


def _match(pattern: re.Pattern[str], value: str | None) -> str | None:
    match = pattern.match(value) if value else None
    return match[0] if match else None


def _gcc(value: str | None) -> str | None:
    """Return the version in ``(Ubuntu 13.3.0-6ubuntu2~24.04.1) 13.3.0``, ``(GCC) 11.2.1 20220127``.

    What stands last is the version; what a distribution writes before it is its package's.
    """
    known = _known(value)
    match = _GCC.search(known) if known else None
    return match[1] if match else None


def _tools(values: Mapping[str, str]) -> dict[str, str]:
    cmake = _NUMBER.search(_known(values.get("CMake version")) or "")
    return {"cmake": cmake[0]} if cmake else {}


def _torch(values: Mapping[str, str]) -> dict[str, Any]:
    """Return version, CUDA and ROCm of torch; only what is sure.

    ``N/A`` is what stands there when torch could not be imported, for whatever reason.
    """
    version = _known(values.get(TORCH))
    if version is None or not version[0].isdigit():
        return {}
    told: dict[str, Any] = {"version": version.split(" ")[0]}
    cuda, hip = values.get("CUDA used to build PyTorch"), values.get("ROCM used to build PyTorch")
    if cuda is not None:
        told["cuda"] = _match(_NUMBER, cuda)
    if hip is not None:
        told["hip"] = _match(_NUMBER, hip)
    return told


def _gpus(
    parts: Sequence[Part], values: Mapping[str, str], torch: Mapping[str, Any]
) -> tuple[tuple[ToldGpu, ...] | None, str]:
    listed = next((part for part in parts if part.key == "GPU models and configuration"), None)
    if listed is None:
        return None, "the text does not list GPUs"
    found: dict[int, ToldGpu] = {}
    # Where line breaks were lost, several stand in one line.
    for line in (*_NEXT_GPU.split(listed.value), *listed.more):
        match = _GPU.match(line)
        if match:
            found[int(match[1])] = ToldGpu(int(match[1]), {"name": match[2].strip()})
        elif found and _MIG.match(line):
            last = max(found)
            found[last] = ToldGpu(last, {**found[last].values, "mig": True})
    if found:
        gap = sorted(found) != list(range(len(found)))
        told = tuple(found[index] for index in sorted(found))
        return told, "the list of GPUs in the text has a gap" if gap else ""
    # nvidia-smi lists none. It may be missing while CUDA works, as under WSL or with NVML broken;
    # only a CUDA build of torch that sees no GPU settles it, or that nothing of NVIDIA is there.
    unseen = values.get("Is CUDA available") in {"False", "No"}
    if unseen and (torch.get("cuda") or listed.value == _NO_CUDA):
        return (), ""
    return None, f"the text says of the GPUs: {listed.value or 'nothing'}"


def _packages(lines: Iterable[str]) -> dict[str, str]:
    """Return the packages that matter; those of pip are what Python imports."""
    by_pip: dict[str, str] = {}
    by_conda: dict[str, str] = {}
    for line in lines:
        if "[" not in line:
            continue
        for pattern, found in ((_PACKAGE, by_pip), (_CONDA, by_conda)):
            for name, version in pattern.findall(line):
                found.setdefault(site_packages.normalise(name), version)
    both = {**by_conda, **by_pip}
    return {name: both[name] for name in sorted(both) if site_packages.matters(name)}


def _host(values: Mapping[str, str]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    system = (_known(values.get("OS")) or "").split()
    if system:
        told["distribution"] = _DISTRIBUTIONS.get(system[0].lower(), system[0].lower())
        numbers = (word for word in system[1:] if re.fullmatch(r"\d+(\.\d+)*", word))
        told["distribution_version"] = next(numbers, "")
        machine = re.fullmatch(r"\((x86_64|aarch64|ppc64le)\)", system[-1])
        if machine is not None:
            told["machine"] = machine[1]
    libc = re.match(r"glibc-(\d[\d.]*\d)", values.get("Libc version", ""))
    if libc is not None:
        told["glibc"] = libc[1]
    kernel = re.match(r"Linux-(.+?)-(x86_64|aarch64|ppc64le)\b", values.get("Python platform", ""))
    if kernel is not None:
        told["kernel"], told["machine"] = kernel[1], kernel[2]
        told["wsl"] = "microsoft" in kernel[1].lower()
        told["tegra"] = "" if "tegra" in kernel[1] else None
    for key, name in (("CPU(s)", "cpus"), ("NUMA node(s)", "numa_nodes")):
        number = values.get(key, "")
        if number.isascii() and number.isdecimal() and len(number) < 6 and int(number) > 0:
            told[name] = int(number)
    return told


def _environment(parts: Sequence[Part]) -> dict[str, str]:
    """Return the variables, which stand after everything that vLLM adds."""
    last = next((part for part in reversed(parts) if part.key in {"GPU Topology", *GLUED}), None)
    found: dict[str, str] = {}
    for line in last.more if last is not None else ():
        match = _VARIABLE.match(line)
        if match:
            found[match[1]] = match[2].strip()
        elif found and line.strip():
            break
    return environment.select(found)


def _foreign(values: Mapping[str, str], torch: Mapping[str, Any]) -> str:
    system, platform = values.get("OS", ""), values.get("Python platform", "")
    if "macOS" in system or platform.startswith(("macOS", "Darwin")):
        return "macOS"
    if "Windows" in system or platform.startswith("Windows"):
        return "Windows"
    if torch.get("hip") and not torch.get("cuda"):
        return f"a machine for ROCm {torch['hip']}"
    return ""
