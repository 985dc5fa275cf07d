"""Texts in the layouts of collect_env and nvidia-smi, of machines that nobody has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TORCH: dict[str, str] = {
    "PyTorch version": "2.11.0+cu130",
    "Is debug build": "False",
    "CUDA used to build PyTorch": "13.0",
    "ROCM used to build PyTorch": "N/A",
}
SYSTEM: dict[str, str] = {
    "OS": "Ubuntu 24.04.1 LTS (x86_64)",
    "GCC version": "(Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0",
    "Clang version": "Could not collect",
    "CMake version": "version 4.1.0",
    "Libc version": "glibc-2.39",
}
PYTHON: dict[str, str] = {
    "Python version": "3.12.3 (main, Jan  1 2026, 00:00:00) [GCC 13.3.0] (64-bit runtime)",
    "Python platform": "Linux-6.8.0-1-generic-x86_64-with-glibc2.39",
}
CUDA: dict[str, str] = {
    "Is CUDA available": "True",
    "CUDA runtime version": "13.0.88",
    "CUDA_MODULE_LOADING set to": "LAZY",
    "GPU models and configuration": "\nGPU 0: NVIDIA H200\nGPU 1: NVIDIA H200\n",
    "Nvidia driver version": "580.65.06",
    "cuDNN version": "Probably one of the following:\n/usr/lib/libcudnn.so.9\n/opt/libcudnn.so.8",
    "HIP runtime version": "N/A",
    "MIOpen runtime version": "N/A",
    "Is XNNPACK available": "True",
}
CPU = """Architecture:                            x86_64
CPU op-mode(s):                          32-bit, 64-bit
CPU(s):                                  64
On-line CPU(s) list:                     0-63
Model name:                              Some CPU (R) @ 2.00GHz
NUMA node0 CPU(s):                       0-63
Vulnerability Spectre v2:                Mitigation; Something: else"""
CPU_IN_GERMAN = """Architektur:                             x86_64
CPU Operationsmodus:                     32-bit, 64-bit
CPU(s):                                  64
Liste der Online-CPU(s):                 0-63
Modellname:                              Irgendeine CPU"""
PACKAGES = """[pip3] numpy==2.2.6
[pip3] nvidia-cublas==13.1.0.3
[pip3] torch==2.11.0+cu130
[pip3] triton==3.6.0"""
CONDA = """[conda] numpy                     2.2.6                    pypi_0    pypi
[conda] torch                     2.11.0                   pypi_0    pypi"""
VARIABLES = """LD_LIBRARY_PATH=/usr/local/cuda/lib64
CUDA_HOME=/usr/local/cuda
NCCL_DEBUG=INFO
VLLM_API_KEY=do-not-tell
HF_TOKEN=do-not-tell"""
TOPOLOGY = """\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\t0-31\t0\t\tN/A
GPU1\tNV18\t X \t32-63\t1\t\tN/A

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks"""


def _lines(values: Mapping[str, str], width: int = 0) -> str:
    return "\n".join(f"{key:{width}}: {value}" for key, value in values.items())


def by_torch(
    *,
    torch: Mapping[str, str] = TORCH,
    system: Mapping[str, str] = SYSTEM,
    python: Mapping[str, str] = PYTHON,
    cuda: Mapping[str, str] = CUDA,
    cpu: str = CPU,
    packages: str = PACKAGES,
) -> str:
    """Return what ``torch.utils.collect_env`` prints; before torch 2.0 it knew no CPU."""
    described = f"\nCPU:\n{cpu}\n" if cpu else ""
    return (
        f"{_lines(torch)}\n\n{_lines(system)}\n\n{_lines(python)}\n{_lines(cuda)}\n{described}\n"
        f"Versions of relevant libraries:\n{packages}\n[conda] Could not collect\n"
    )


def by_old_vllm(**changes: Mapping[str, str]) -> str:
    """Return what vLLM's ``collect_env.py`` printed before 0.9: glued to what torch's prints."""
    text = by_torch(packages=f"{PACKAGES}\n{CONDA}", **changes)  # type: ignore[arg-type]
    text = text.removesuffix("\n[conda] Could not collect\n")
    return (
        f"Collecting environment information...\n{text}ROCM Version: Could not collect\n"
        "Neuron SDK Version: N/A\nvLLM Version: 0.8.5.post1\nvLLM Build Flags:\n"
        "CUDA Archs: Not Set; ROCm: Disabled; Neuron: Disabled\n"
        f"GPU Topology:\n{TOPOLOGY.lstrip()}\n\n{VARIABLES}\n"
    )


def _heading(title: str) -> str:
    bar = "=" * 30
    return f"{bar}\n{title:^30}".rstrip() + f"\n{bar}\n"


def by_vllm(
    *,
    torch: Mapping[str, str] = TORCH,
    cuda: Mapping[str, str] = CUDA,
    vllm: str = "0.24.0",
    variables: str = VARIABLES,
) -> str:
    """Return what vLLM's ``collect_env`` prints today."""
    parts = {
        "System Info": _lines(SYSTEM, 29),
        "PyTorch Info": _lines(torch, 29),
        "Python Environment": _lines(PYTHON, 29),
        "CUDA / GPU Info": _lines(cuda, 29),
        "CPU Info": CPU,
        "Versions of relevant libraries": PACKAGES + "\n[conda] Could not collect",
        "vLLM Info": f"{_lines({'ROCM Version': 'Could not collect', 'vLLM Version': vllm}, 29)}\n"
        f"vLLM Build Flags:\n  CUDA Archs: Not Set; ROCm: Disabled\nGPU Topology:\n  {TOPOLOGY}",
        "Environment Variables": variables,
    }
    body = "\n\n".join(_heading(title) + text for title, text in parts.items())
    return f"Collecting environment information...\n{body}\n"


LAYOUTS = {"torch": by_torch(), "old vllm": by_old_vllm(), "vllm": by_vllm()}

NOBODY = "GPU-12345678-1234-1234-1234-123456789abc"


HEALTH = """    Performance State                   : P8
    GPU Recovery Action                 : None
    PCI
        GPU Link Info
            PCIe Generation
                Max                     : 5
                Current                 : 1
            Link Width
                Max                     : 16x
                Current                 : 8x
    Clocks Event Reasons
        Idle                            : Active
        HW Slowdown                     : Not Active
            HW Thermal Slowdown         : Not Active
            HW Power Brake Slowdown     : Active
        SW Thermal Slowdown             : Not Active
    ECC Mode
        Current                         : Enabled
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity   : 0
            SRAM Uncorrectable SEC-DED  : 1
            DRAM Uncorrectable          : 2
        Aggregate
            DRAM Uncorrectable          : 7
    Retired Pages
        Double Bit ECC                  : N/A
        Pending Page Blacklist          : N/A
    Remapped Rows
        Uncorrectable Error             : 3
        Pending                         : Yes
        Remapping Failure Occurred      : No
    GPU Power Readings
        Current Power Limit             : 500.00 W
        Default Power Limit             : 700.00 W
    Fabric
        State                           : Completed
        Status                          : Success
        ClusterUUID                     : 00000000-0000-0000-0000-000000000000"""

HEALTH_XML = """<performance_state>P8</performance_state>
<gpu_recovery_action>None</gpu_recovery_action>
<pci><pci_gpu_link_info>
<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width>
<current_link_width>8x</current_link_width></link_widths>
</pci_gpu_link_info></pci>
<clocks_event_reasons>
<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
<clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
<clocks_event_reason_hw_power_brake_slowdown>Active</clocks_event_reason_hw_power_brake_slowdown>
<clocks_event_reason_sw_thermal_slowdown>Not Active</clocks_event_reason_sw_thermal_slowdown>
</clocks_event_reasons>
<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
<ecc_errors><volatile>
<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
<sram_uncorrectable_secded>1</sram_uncorrectable_secded>
<dram_uncorrectable>2</dram_uncorrectable>
</volatile></ecc_errors>
<retired_pages><double_bit_retirement><retired_count>N/A</retired_count></double_bit_retirement>
<pending_retirement>N/A</pending_retirement></retired_pages>
<remapped_rows><remapped_row_unc>3</remapped_row_unc>
<remapped_row_pending>Yes</remapped_row_pending>
<remapped_row_failure>No</remapped_row_failure></remapped_rows>
<gpu_power_readings><current_power_limit>500.00 W</current_power_limit>
<default_power_limit>700.00 W</default_power_limit></gpu_power_readings>
<fabric><state>Completed</state><status>Success</status>
<clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid></fabric>"""


def smi_q(
    names: Sequence[str] = ("NVIDIA H200", "NVIDIA H200"),
    *,
    driver: str = "580.65.06",
    cuda: str = "13.0",
    new: bool = False,
    memory: str = "143771 MiB",
    bar1: str = "262144 MiB",
    mig: str = "Disabled",
    attached: int | None = None,
) -> str:
    """Return what ``nvidia-smi -q`` prints; from R610 on with notes behind the old names."""
    note = " [Deprecated; will be removed in CUDA 14.0. Use another name instead]" if new else ""
    head = {"Driver Version": driver + note, "CUDA Version": cuda + note}
    if new:
        head |= {"KMD Version": driver, "CUDA UMD Version": cuda}
    lines = ["", "==============NVSMI LOG==============", "", f"{'Timestamp':40}: Sun Nov  1 2026"]
    lines += [f"{key:40}: {value}" for key, value in head.items()]
    lines += ["", f"{'Attached GPUs':40}: {len(names) if attached is None else attached}"]
    for index, name in enumerate(names):
        lines += _smi_q_gpu(index, name, memory, bar1, mig)
    return "\n".join(lines) + "\n"


def _smi_q_gpu(index: int, name: str, memory: str, bar1: str, mig: str) -> list[str]:
    instance = ["    MIG Device", f"{'        Index':40}: 0", "        FB Memory Usage",
                f"{'            Total':40}: 20096 MiB"]  # fmt: skip
    return [
        f"GPU 00000000:{index + 1:02X}:00.0",
        f"{'    Product Name':40}: {name}",
        f"{'    Persistence Mode':40}: Enabled",
        "    MIG Mode",
        f"{'        Current':40}: {mig}",
        f"{'        Pending':40}: {mig}",
        *(instance if mig == "Enabled" else []),
        "    Driver Model",
        f"{'        Current':40}: N/A",
        f"{'    GPU UUID':40}: {NOBODY}",
        "    FB Memory Usage",
        f"{'        Total':40}: {memory}",
        f"{'        Used':40}: 0 MiB",
        "    BAR1 Memory Usage",
        f"{'        Total':40}: {bar1}",
        *HEALTH.splitlines(),
        "",
    ]


def smi_xml(
    names: Sequence[str] = ("NVIDIA H200", "NVIDIA H200"),
    *,
    dtd: int = 13,
    driver: str = "580.65.06",
    cuda: str = "13.0",
    model: str = "N/A",
    memory: str = "143771 MiB",
    bar1: str = "262144 MiB",
    attached: int | None = None,
) -> str:
    """Return what ``nvidia-smi -q -x`` prints."""
    gpus = "".join(
        f'\t<gpu id="00000000:{index + 1:02X}:00.0">\n'
        f"\t\t<product_name>{name}</product_name>\n"
        "\t\t<mig_mode>\n\t\t\t<current_mig>Disabled</current_mig>\n\t\t</mig_mode>\n"
        f"\t\t<driver_model>\n\t\t\t<current_dm>{model}</current_dm>\n\t\t</driver_model>\n"
        f"\t\t<uuid>{NOBODY}</uuid>\n"
        f"\t\t<fb_memory_usage>\n\t\t\t<total>{memory}</total>\n\t\t</fb_memory_usage>\n"
        f"\t\t<bar1_memory_usage>\n\t\t\t<total>{bar1}</total>\n\t\t</bar1_memory_usage>\n"
        f"{HEALTH_XML}\n"
        "\t</gpu>\n"
        for index, name in enumerate(names)
    )
    return (
        '<?xml version="1.0" ?>\n'
        f'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v{dtd}.dtd">\n<nvidia_smi_log>\n'
        f"\t<driver_version>{driver}</driver_version>\n\t<cuda_version>{cuda}</cuda_version>\n"
        f"\t<attached_gpus>{len(names) if attached is None else attached}</attached_gpus>\n"
        f"{gpus}\n</nvidia_smi_log>\n"
    )


def smi_table(
    names: Sequence[str] = ("NVIDIA H200", "NVIDIA H200"),
    *,
    driver: str = "580.65.06",
    cuda: str = "13.0",
    new: bool = False,
    mode: str = "On",
    memory: str = "1MiB / 143771MiB",
) -> str:
    """Return the table; from R610 on the banner has other names."""
    driver_name, cuda_name = ("KMD", "CUDA UMD") if new else ("Driver", "CUDA")
    versions = f"{driver_name} Version: {driver}     {cuda_name} Version: {cuda}"
    banner = f"NVIDIA-SMI {driver}     {versions}"
    bar = f"+{'-' * 41}+{'-' * 24}+{'-' * 22}+"
    rows = "".join(
        f"|{index:4}  {name[:26]:27}{mode:>7} | {f'00000000:{index + 1:02X}:00.0 Off':>22} |"
        f"{'0':>21} |\n"
        f"| N/A   30C    P0             76W /  700W | {memory:>22} |{'0%      Default':>21} |\n"
        f"|{'':41}|{'':24}|{'Disabled':>21} |\n{bar}\n"
        for index, name in enumerate(names)
    )
    return (
        f"Sun Nov  1 12:00:00 2026\n+{'-' * 89}+\n| {banner:88}|\n{bar}\n"
        f"| GPU  Name{'Persistence-M':>30} | Bus-Id          Disp.A | Volatile ECC         |\n"
        f"|{'=' * 41}+{'=' * 24}+{'=' * 22}|\n{rows}\n"
        f"+{'-' * 89}+\n| Processes:{'':78}|\n+{'-' * 89}+\n"
    )


def smi_list(names: Sequence[str] = ("NVIDIA H200", "NVIDIA H200"), links: str = "") -> str:
    """Return what ``nvidia-smi -L`` prints, or ``nvlink -s`` with links: ``u`` up, ``d`` down."""
    lines = []
    for index, name in enumerate(names):
        lines.append(f"GPU {index}: {name} (UUID: {NOBODY[:-1]}{index})")
        for number, state in enumerate(links):
            speed = "26.562 GB/s" if state == "u" else "<inactive>"
            lines.append(f"\t Link {number}: {speed}")
    return "\n".join(lines) + "\n"
