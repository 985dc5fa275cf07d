"""nvidia-smi in its three forms, from drivers before and after R610."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.ingest import texts

from dsv4_doctor.errors import InputError
from dsv4_doctor.ingest.load import parse
from dsv4_doctor.snapshot import Snapshot

MIB = 1 << 20


def read(text: str) -> Snapshot:
    return parse(text.encode(), "paste.txt")


def why(snapshot: Snapshot, name: str) -> str:
    run = snapshot.probe(name)
    return (run.error or "") if run is not None else ""


FORMS = {
    "-q": texts.smi_q(),
    "-q of R610": texts.smi_q(new=True),
    "-q -x": texts.smi_xml(),
    "-q -x of v10": texts.smi_xml(dtd=10),
    "table": texts.smi_table(),
    "table of R610": texts.smi_table(new=True),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_form_tells_driver_and_gpus(text: str) -> None:
    found = read(text)
    assert found.driver is not None
    assert (found.driver.nvml, found.driver.cuda) == ("580.65.06", "13.0")
    assert [gpu.name for gpu in found.gpus or ()] == ["NVIDIA H200", "NVIDIA H200"]
    assert [gpu.pci for gpu in found.gpus or ()] == ["0000:01:00.0", "0000:02:00.0"]
    assert {gpu.memory for gpu in found.gpus or ()} == {143771 * MIB}
    assert {gpu.mig for gpu in found.gpus or ()} == {False}
    assert {gpu.compute_capability for gpu in found.gpus or ()} == {"9.0"}
    assert why(found, "gpus") == ""
    assert found.python is None
    assert "not told by" in why(found, "python")


@pytest.mark.parametrize("text", [texts.smi_q(), texts.smi_xml()])
def test_only_the_logs_tell_bar1(text: str) -> None:
    assert {gpu.bar1 for gpu in read(text).gpus or ()} == {262144 * MIB}
    assert {gpu.bar1 for gpu in read(texts.smi_table()).gpus or ()} == {None}


@pytest.mark.parametrize("new", [False, True])
def test_a_deprecation_text_is_no_version(new: bool) -> None:
    text = texts.smi_q(driver="610.57.04", cuda="13.3", new=new)
    found = read(text.replace("580.65.06", "610.57.04")).driver
    assert found is not None
    assert (found.nvml, found.cuda) == ("610.57.04", "13.3")
    assert read('Driver Version: Deprecated, see "KMD version" instead\n' + text).driver == found


def test_the_memory_of_a_mig_instance_is_not_that_of_the_gpu() -> None:
    (gpu,) = read(texts.smi_q(["NVIDIA H200"], mig="Enabled")).gpus or ()
    assert gpu.mig is True
    assert gpu.memory == 143771 * MIB


@pytest.mark.parametrize("text", [texts.smi_q(), texts.smi_xml()])
def test_health_and_links(text: str) -> None:
    for gpu in read(text).gpus or ():
        assert (gpu.ecc, gpu.ecc_uncorrected) == (True, 3)
        assert (gpu.remapped_rows, gpu.remap_pending, gpu.remap_failed) == (3, True, False)
        assert (gpu.retired_pages, gpu.retirement_pending) == (None, None)
        assert gpu.throttle == ("hw_power_brake_slowdown",)
        assert (gpu.power_limit, gpu.power_limit_default) == (500.0, 700.0)
        assert (gpu.link_generation, gpu.link_generation_max) == (1, 5)
        assert (gpu.link_width, gpu.link_width_max) == (8, 16)
        assert (gpu.fabric_state, gpu.fabric_status) == ("Completed", 0)
        assert (gpu.performance_state, gpu.recovery_action) == (8, "None")


def test_old_names_of_the_same() -> None:
    old = """    Power Readings
        Power Limit                       : 250.00 W
        Default Power Limit               : 250.00 W
        Enforced Power Limit              : 200.00 W
    Clocks Throttle Reasons
        HW Slowdown                       : Active
    Ecc Errors
        Volatile
            Double Bit
                Device Memory             : 4
                Total                     : 5
    Retired Pages
        Double Bit ECC                    : 6
        Pending Page Blacklist            : Yes
    Remapped Rows                         : N/A
"""
    (gpu,) = read(texts.smi_q(["Tesla V100"]).replace(texts.HEALTH, old.rstrip())).gpus or ()
    assert (gpu.power_limit, gpu.power_limit_default) == (200.0, 250.0)
    assert gpu.throttle == ("hw_slowdown",)
    assert gpu.ecc_uncorrected == 5
    assert (gpu.retired_pages, gpu.retirement_pending) == (6, True)
    assert gpu.remap_failed is None


@pytest.mark.parametrize(
    ("gone", "field"),
    [
        ("Remapping Failure Occurred", "gpus.remap_failed"),
        ("SRAM Uncorrectable SEC-DED", "gpus.ecc_uncorrected"),
        ("Pending Page Blacklist", "gpus.retirement_pending"),
        ("        Status ", "gpus.fabric_status"),
    ],
)
def test_a_sign_of_health_that_was_cut_off_is_not_told(gone: str, field: str) -> None:
    text = texts.smi_q()
    assert why(read(text), field) == ""
    kept = [line for line in text.splitlines() if gone not in line]
    assert "not told" in why(read("\n".join(kept)), field)


@pytest.mark.parametrize(
    ("text", "told"), [("96.00.A5.00.1A", "96.00.A5.00.1A"), ("N/A", None), ("x", None)]
)
def test_firmware_of_the_board(text: str, told: str | None) -> None:
    line = f"{'    VBIOS Version':40}: {text}"
    uuid = f"{'    GPU UUID':40}"
    (gpu,) = read(texts.smi_q(["NVIDIA H200"]).replace(uuid, f"{line}\n{uuid}")).gpus or ()
    assert gpu.vbios == told


def test_lists_of_gpus_and_links() -> None:
    listed, linked = read(texts.smi_list()), read(texts.smi_list(links="uud"))
    for found in (listed, linked):
        assert [gpu.name for gpu in found.gpus or ()] == ["NVIDIA H200"] * 2
        assert [(gpu.uuid or "")[-1] for gpu in found.gpus or ()] == ["0", "1"]
    assert [gpu.nvlinks for gpu in linked.gpus or ()] == [(True, True, False)] * 2
    assert "not told" in why(listed, "gpus.nvlinks")


def test_a_link_that_was_cut_off_leaves_the_links_open() -> None:
    text = texts.smi_list(["NVIDIA H200"], "uudu").replace("\t Link 2: <inactive>\n", "")
    assert "not told" in why(read(text), "gpus.nvlinks")


def test_all_links_inactive() -> None:
    line = "NVML: Unable to retrieve NVLink information as all links are inactive\n"
    found = read(texts.smi_list() + line)
    assert [gpu.nvlinks for gpu in found.gpus or ()][1] == (False,)
    only = read(f"GPU 6: NVIDIA H200 (UUID: {texts.NOBODY})\n{line}")
    assert [(gpu.index, gpu.nvlinks) for gpu in only.gpus or ()] == [(6, (False,))]
    assert "does not name every GPU" in why(only, "gpus")


MATRIX = """\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tPIX\tSYS\t0-31\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tNODE\t0-31\t0\t\tN/A
GPU2\tPIX\tSYS\t X \tPHB\t32-63\t1\t\tN/A
NIC0\tSYS\tNODE\tPHB\t X

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_0
"""


@pytest.mark.parametrize("spread", [lambda text: text, lambda text: text.expandtabs(8)])
def test_topology(spread: object) -> None:
    assert callable(spread)
    found = read(spread(MATRIX)).topology
    assert found is not None
    pairs = [(each.first, each.second, each.path, each.nvlink) for each in found.peers]
    assert pairs == [(0, 1, None, "OK"), (0, 2, "PIX", None), (1, 2, "SYS", None)]
    assert found.rdma == ("mlx5_0",)


def test_a_matrix_with_a_hole_tells_no_peers() -> None:
    found = read(MATRIX.replace("GPU0\t X", "GPX0\t X"))
    assert found.topology is None
    assert "not told" in why(found, "topology")
    assert len(found.gpus or ()) == 3


def test_versions() -> None:
    old = "NVIDIA-SMI version  : 590.48\nNVML version : 590.48\nDRIVER version      : 590.48.01\n"
    new = (
        'NVIDIA-SMI version  : 610.57\nDRIVER version : Deprecated, see "KMD version" instead\n'
        "KMD version         : 610.57.04\nCUDA UMD version    : 13.3\n"
    )
    for text, versions in ((old, ("590.48.01", None)), (new, ("610.57.04", "13.3"))):
        found = read(text).driver
        assert found is not None
        assert (found.nvml, found.cuda) == versions


@pytest.mark.parametrize(
    "message",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.86",
        "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
    ],
)
def test_messages_of_a_driver_that_does_not_answer(message: str) -> None:
    found = read(f"$ nvidia-smi\n{message}\n")
    assert found.driver is not None
    assert found.driver.nvml is None
    assert (found.driver.nvml_error or "").startswith(message.splitlines()[0][:20])
    assert found.driver.nvml_library == ("570.86" if "570.86" in message else None)
    assert found.gpus is None


@pytest.mark.parametrize("unknown", ["N/A", "Not Supported", "[Unknown Error]", ""])
def test_a_value_that_is_none_is_not_told(unknown: str) -> None:
    for text in (texts.smi_q(memory=unknown, bar1=unknown), texts.smi_xml(memory=unknown)):
        assert {gpu.memory for gpu in read(text).gpus or ()} == {None}
    (gpu,) = read(texts.smi_table(["NVIDIA GB10"], memory=f"{unknown:22}")).gpus or ()
    assert gpu.memory is None


@pytest.mark.parametrize("text", [texts.smi_q(attached=8), texts.smi_xml(attached=8)])
def test_fewer_gpus_than_are_attached_are_not_all(text: str) -> None:
    found = read(text)
    assert len(found.gpus or ()) == 2
    assert "cut short" in why(found, "gpus")


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_xml_that_ends_early_is_read_as_far_as_it_goes(kept: float) -> None:
    text = texts.smi_xml()
    found = read(text[: int(len(text) * kept)])
    assert "cut short" in why(found, "gpus")


def test_a_fragment_without_driver_tells_the_gpu() -> None:
    gpu = "<product_name>NVIDIA H200</product_name><uuid>x</uuid>"
    found = read(f'<nvidia_smi_log>\n<gpu id="00000000:01:00.0">{gpu}</gpu>\n</nvidia_smi_log>')
    assert [each.name for each in found.gpus or ()] == ["NVIDIA H200"]
    assert found.driver is None


def test_entities_do_not_expand() -> None:
    levels = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">\n' for n in range(1, 12))
    bomb = f"<!DOCTYPE nvidia_smi_log [\n<!ENTITY a0 '0123456789'>\n{levels}]>\n"
    text = f"{bomb}<nvidia_smi_log><driver_version>&a11;</driver_version></nvidia_smi_log>\n"
    found = read(text)
    assert found.driver is None
    assert "cut short" in why(found, "gpus")


def test_a_document_type_with_entities_elsewhere_is_not_fetched() -> None:
    text = texts.smi_xml().replace("SYSTEM", 'PUBLIC "x"')
    assert read(text.replace("nvsmi_device_v13.dtd", "file:///dev/zero")).driver is not None


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 2080 ...", "NVIDIA RTX PRO 6000 Blac..."])
def test_a_name_that_the_table_cuts_agrees_with_the_whole_one(name: str) -> None:
    whole = {"2080": "NVIDIA GeForce RTX 2080 SUPER",
             "6000": "NVIDIA RTX PRO 6000 Blackwell Server Edition"}  # fmt: skip
    full = next(value for key, value in whole.items() if key in name)
    table = texts.smi_table(["X"]).replace(f"{'X':27}", f"{name:27}")
    for text in (table + texts.smi_q([full]), texts.smi_q([full]) + table):
        found = read(text)
        assert len(found.origin) == 1
        assert [gpu.name for gpu in found.gpus or ()] == [full]


@pytest.mark.parametrize("mode", ["WDDM", "TCC", "MCDM"])
def test_windows_is_another_kind_of_machine(mode: str) -> None:
    assert read(texts.smi_table(mode=mode)).foreign == "Windows"
    assert read(texts.smi_xml(model=mode)).foreign == "Windows"


def test_a_row_that_was_lost_is_noticed() -> None:
    lines = texts.smi_table().splitlines()
    for gone in (row for row in range(len(lines)) if "00000000:" in lines[row]):
        found = read("\n".join(lines[:gone] + lines[gone + 1 :]))
        assert "cut short" in why(found, "gpus")


@settings(deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.data())
def test_any_damage_gives_facts_or_a_clear_error(form: str, data: st.DataObject) -> None:
    text = FORMS[form]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    put = data.draw(st.text(alphabet="|<>&/ :\n09azGPU+-=.\t\0é", max_size=20))
    with contextlib.suppress(InputError):
        read(text[:start] + put + text[end:])
