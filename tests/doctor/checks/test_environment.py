"""Checks of environment variables, containers and the network's settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.cases.multi_gpu import with_nccl
from tests.doctor.checks.test_toolkit import findings
from tests.doctor.machines import bare, driver, gpu, healthy, resources

from dsv4_doctor.checks import env_torch, require_cuda
from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.facts.topology import Topology
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Purpose, Target

DOCKER = {"docker": "/usr/bin/docker"}
CDI = ("/etc/cdi/nvidia.yaml",)


def status(
    snapshot: Snapshot, identifier: str, purpose: Purpose = "serve", release: str = "0.24.0"
) -> str | None:
    found = findings(snapshot, purpose=purpose, release=release).get(identifier)
    return found.status if found else None


def with_environment(environ: dict[str, str], purpose: Purpose = "serve") -> dict[str, Finding]:
    return findings(healthy(environment=environ), purpose=purpose)


ARTICLE = ("VLLM_ENABLE_FLASH_ATTN", "VLLM_ENABLE_PAGED_ATTENTION_V2", "VLLM_USE_TRITON")


@pytest.mark.parametrize("purpose", ["build", "serve"])
def test_variables_of_the_articles_do_nothing(purpose: Purpose) -> None:
    finding = with_environment(dict.fromkeys(ARTICLE, "1"), purpose)["env.vllm.unknown"]
    assert finding.status == "warn"
    assert all(name in finding.title for name in ARTICLE)


def test_a_letter_that_is_wrong() -> None:
    remedy = with_environment({"VLLM_LOGING_LEVEL": "DEBUG"})["env.vllm.unknown"].remedy
    assert remedy is not None
    assert "VLLM_LOGGING_LEVEL" in remedy.text


@pytest.mark.parametrize(
    ("name", "release", "told"),
    [
        ("VLLM_ATTENTION_BACKEND", "0.24.0", "the last release with it is 0.14.1"),
        ("VLLM_ATTENTION_BACKEND", "0.7.2", None),
        ("VLLM_ENABLE_CUDA_COMPATIBILITY", "0.7.2", "the next release with it is 0.17.0"),
        ("VLLM_LOGGING_LEVEL", "0.24.0", None),
        ("VLLM_MAX_SIZE_MB", "0.24.0", None),
    ],
)
def test_variables_of_other_releases(name: str, release: str, told: str | None) -> None:
    found = findings(healthy(environment={name: "1"}), release=release)
    assert "env.vllm.unknown" not in found
    finding = found.get("env.vllm.dropped")
    assert (told in finding.title if told and finding else finding) == (True if told else None)


def test_a_release_that_the_table_does_not_know() -> None:
    release = replace(load.release("0.24.0"), name="0.99.0")
    machine = healthy(environment={"VLLM_ATTENTION_BACKEND": "x"})
    made = run_checks(Context(machine, Target("0.99.0"), release))
    assert not [each for each in made if each.id.startswith("env.vllm.")]


@pytest.mark.parametrize(
    ("value", "release", "expected"),
    [
        ("0,1", "0.24.0", "pass"),
        ("", "0.24.0", "fail"),
        ("0,2", "0.24.0", "warn"),
        ("1,1", "0.24.0", "warn"),
        ("0,-1", "0.24.0", "warn"),
        ("zero", "0.24.0", "warn"),
        ("0,", "0.24.0", "warn"),
        ("GPU-00000000-0000-0000-0000-000000000001", "0.24.0", "pass"),
        ("GPU-00000000-0000-0000-0000-000000000001", "0.20.2", "fail"),
    ],
)
def test_gpus_that_are_chosen(value: str, release: str, expected: str) -> None:
    machine = healthy(environment={"CUDA_VISIBLE_DEVICES": value})
    assert status(machine, "env.cuda.visible_devices", release=release) == expected
    assert status(machine, "env.cuda.visible_devices", "build") is None


@given(st.text(max_size=30))
def test_any_choice_of_gpus_is_judged(value: str) -> None:
    assert status(healthy(environment={"CUDA_VISIBLE_DEVICES": value}), "env.cuda.visible_devices")


@pytest.mark.parametrize(
    ("identifier", "environ", "told"),
    [
        ("env.cuda.launch_blocking", {"CUDA_LAUNCH_BLOCKING": "1"}, True),
        ("env.cuda.launch_blocking", {"CUDA_LAUNCH_BLOCKING": "0"}, False),
        ("env.loader.preload", {"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"}, False),
        ("env.loader.preload", {"LD_PRELOAD": "/x/libcudart.so.12:/y/libfoo.so"}, True),
        ("env.loader.preload", {"LD_PRELOAD": "/cuda/lib64/stubs/libfoo.so"}, True),
        ("env.nccl.buffers", {"NCCL_BUFFSIZE": "8388608"}, True),
        ("env.nccl.buffers", {"NCCL_DEBUG": "WARN"}, False),
        ("env.nccl.cumem", {"NCCL_CUMEM_ENABLE": "0"}, True),
        ("env.nccl.cumem", {"NCCL_CUMEM_ENABLE": "1"}, False),
        ("env.nccl.switches", {"NCCL_P2P_DISABLE": "1"}, True),
        ("env.nccl.switches", {"NCCL_P2P_DISABLE": "0"}, False),
        ("env.torch.allocator", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, False),
        ("env.torch.allocator", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments=True"}, True),
    ],
)
def test_variables_that_a_server_minds(
    identifier: str, environ: dict[str, str], told: bool
) -> None:
    assert (identifier in with_environment(environ)) is told
    if identifier != "env.loader.preload":
        assert identifier not in with_environment(environ, "build")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("eth0", False),
        ("eth", False),
        ("=eth0", False),
        ("=eth", True),
        ("ib0,eth", False),
        ("^docker,lo", False),
        ("^eth,lo,docker", True),
        ("eth0:6000", False),
        ("bond0", True),
    ],
)
def test_the_interface_that_nccl_takes(value: str, told: bool) -> None:
    machine = healthy(
        topology=Topology(interfaces=("docker0", "eth0", "lo")),
        environment={"NCCL_SOCKET_IFNAME": value},
    )
    assert ("env.nccl.interface" in findings(machine, purpose="serve")) is told
    unknown = replace(machine, topology=Topology())
    assert "env.nccl.interface" not in findings(unknown, purpose="serve")


def test_a_switch_of_nccl_is_right_without_nvlink() -> None:
    machine = healthy(gpus=(gpu(0, nvlinks=()),), environment={"NCCL_P2P_DISABLE": "1"})
    assert status(machine, "env.nccl.switches") is None


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("9.0a", False),
        ("9.0a;10.0 12.0+PTX", False),
        ("Hopper", False),
        ("sm_90", True),
        ("9.0,10.0", True),
        ("90", True),
        ("9.0+ptx", False),
    ],
)
def test_architectures_of_a_build(value: str, told: bool) -> None:
    found = with_environment({"TORCH_CUDA_ARCH_LIST": value}, "build")
    assert ("env.arch_list.format" in found) is told
    assert "env.arch_list.format" not in with_environment({"TORCH_CUDA_ARCH_LIST": value})


def test_no_list_is_no_fault() -> None:
    assert "env.arch_list.format" not in with_environment({}, "build")
    assert "env.arch_list.format" not in with_environment({"TORCH_CUDA_ARCH_LIST": " "}, "build")


@given(st.text())
def test_any_text_as_list(text: str) -> None:
    good, bad = env_torch.parse_arch_list(text)
    assert all(each in text for each in (*good, *bad))


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("expandable_segments:True,max_split_size_mb:512", ()),
        ("roundup_power2_divisions:[256:1,512:2,>:8]", ()),
        ("garbage_collection_threshold:0.8", ()),
        ("backend: cudaMallocAsync", ()),
        ("max_split_size_mb=512", ("max_split_size_mb=512",)),
        ("expandable_segments:True,", ("",)),
    ],
)
def test_settings_of_the_allocator(text: str, unread: tuple[str, ...]) -> None:
    assert env_torch.parse_allocator(text) == unread


@given(st.text())
def test_any_text_as_settings(text: str) -> None:
    env_torch.parse_allocator(text)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"PIP_INDEX_URL": "https://download.pytorch.org/whl/cu128"}, True),
        ({"PIP_INDEX_URL": "https://mirror.example/pypi/simple"}, False),
        ({"PIP_EXTRA_INDEX_URL": "https://download.pytorch.org/whl/cu128"}, False),
        ({"PIP_NO_INDEX": "1"}, True),
        ({"PIP_NO_INDEX": "0"}, False),
    ],
)
def test_an_index_that_replaces_pypi(environ: dict[str, str], told: bool) -> None:
    assert ("env.index.replaced" in with_environment(environ, "build")) is told
    assert "env.index.replaced" not in with_environment(environ)


def test_an_index_in_a_file_of_settings() -> None:
    indexes = {"/etc/pip.conf: index-url": "https://download.pytorch.org/whl/cu121"}
    machine = healthy(resources=resources(package_indexes=indexes))
    assert status(machine, "env.index.replaced", "build") == "warn"
    unknown = healthy(resources=resources(package_indexes=None))
    assert status(unknown, "env.index.replaced", "build") is None


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"https_proxy": "http://proxy:3128"}, False),
        ({"http_proxy": "http://proxy:3128"}, True),
        ({"HTTP_PROXY": "http://proxy:3128", "ALL_PROXY": "socks5://proxy:1080"}, False),
        ({"https_proxy": "proxy:3128"}, True),
        ({}, False),
    ],
)
def test_proxies(environ: dict[str, str], told: bool) -> None:
    assert ("env.proxy.form" in with_environment(environ, "build")) is told


def engines(**changes: Any) -> Snapshot:
    made = Containers(**{"programs": DOCKER, **changes})
    return healthy(containers=made)


def inside(machine: Snapshot, **changes: Any) -> Snapshot:
    assert machine.host is not None
    return replace(machine, host=replace(machine.host, container="docker"), **changes)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (engines(), "warn"),
        (engines(programs={**DOCKER, "nvidia-ctk": "/usr/bin/nvidia-ctk"}), "pass"),
        (engines(cdi_specs=CDI, docker_cdi=True), "pass"),
        (engines(programs={}), None),
        (inside(engines()), None),
        (bare(containers=Containers(DOCKER)), None),
    ],
)
def test_an_engine_hands_gpus_on(machine: Snapshot, expected: str | None) -> None:
    assert status(machine, "container.engine.toolkit") == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"docker_version": "28.0.0"}, "warn"),
        ({"docker_version": "28.2.0"}, None),
        ({"docker_version": "27.5.1", "docker_cdi": True}, None),
        ({"docker_version": "29.0.0", "docker_cdi": False}, "warn"),
        ({"docker_version": None}, None),
    ],
)
def test_docker_takes_cdi_devices(changes: dict[str, Any], expected: str | None) -> None:
    assert status(engines(cdi_specs=CDI, **changes), "container.docker.cdi") == expected


def test_docker_of_the_snap_store_and_its_configuration() -> None:
    assert status(engines(docker_snap=True), "container.docker.snap") == "warn"
    assert status(engines(), "container.docker.snap") is None
    broken = engines(docker_error="daemon.json: Expecting value")
    assert status(broken, "container.docker.configuration") == "warn"
    assert status(engines(), "container.docker.configuration") is None


def test_the_image_of_the_release_against_the_driver() -> None:
    old = driver(cuda="12.8")
    assert status(replace(engines(), driver=old), "container.image.driver") == "warn"
    assert status(engines(), "container.image.driver") is None
    assert status(healthy(driver=old), "container.image.driver") is None


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [("cuda>=12.4", "pass"), ("cuda>=14.0", "fail"), ("arch>=9.9", None)],
)
def test_what_an_image_demands(requirement: str, expected: str | None) -> None:
    machine = inside(healthy(environment={"NVIDIA_REQUIRE_CUDA": requirement}))
    assert status(machine, "container.image.driver") == expected


@pytest.mark.parametrize(
    ("requirement", "cuda", "version", "brand", "expected"),
    [
        ("", "12.0", "525.1", None, True),
        ("cuda>=12.4", "12.1", "530.30", "Tesla", False),
        ("cuda>=12.4 brand=tesla,driver>=525,driver<526", "12.0", "525.60", "Tesla", True),
        ("cuda>=12.4 brand=tesla,driver>=525,driver<526", "12.0", "525.60", "GeForce", False),
        ("cuda>=12.4 brand=tesla,driver>=525", "12.0", "525.60", None, None),
        ("cuda>=12.10", "12.2", "535.1", None, False),
        ("brand!=geforce", "12.0", "525.1", "GeForce RTX", True),
        ("cuda!=12.0", "12.0", "525.1", None, False),
        ("cuda=12.0,driver>500", "12.0", "525.1", None, True),
        ("nonsense", "12.0", "525.1", None, None),
        ("cuda>=11.0", None, None, None, None),
    ],
)
def test_alternatives_and_conditions(
    requirement: str,
    cuda: str | None,
    version: str | None,
    brand: str | None,
    expected: bool | None,
) -> None:
    met = require_cuda.satisfied(requirement, cuda=cuda, driver=version, brand=brand)
    assert met is expected


@given(st.text(alphabet="cudabrnive=><!,. 0123456789"))
def test_any_requirement(text: str) -> None:
    require_cuda.satisfied(text, cuda="12.4", driver="550.1", brand="Tesla")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"NVIDIA_VISIBLE_DEVICES": "void"}, "fail"),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, None),
        ({"NVIDIA_DRIVER_CAPABILITIES": "utility"}, "fail"),
        ({"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}, None),
        ({}, None),
    ],
)
def test_the_gpus_of_a_container(environ: dict[str, str], expected: str | None) -> None:
    machine = inside(bare(environment=environ))
    assert status(machine, "container.devices.visible") == expected
    assert status(bare(environment=environ), "container.devices.visible") is None


def test_gpus_that_are_there_in_spite_of_the_variable() -> None:
    machine = inside(healthy(environment={"NVIDIA_VISIBLE_DEVICES": "void"}))
    assert status(machine, "container.devices.visible") is None


@pytest.mark.parametrize(("version", "expected"), [("2.25.1", "fail"), ("2.28.9", "pass")])
def test_nccl_for_two_workstation_gpus(version: str, expected: str) -> None:
    machine = with_nccl(version)
    assert status(machine, "nccl.version.gpu") == expected
    assert status(replace(machine, gpus=(machine.gpus or ())[:1]), "nccl.version.gpu") is None


def test_a_jetson_is_named() -> None:
    machine = healthy()
    assert machine.host is not None
    assert status(machine, "host.jetson.wheels") is None
    for release in ("R36.3.0", ""):
        jetson = replace(machine, host=replace(machine.host, tegra=release))
        assert status(jetson, "host.jetson.wheels") == "warn"
