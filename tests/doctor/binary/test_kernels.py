"""The families: real names of real wheels, and what a name alone does not prove."""

from __future__ import annotations

import pytest

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.families import Tally
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.kernels import families

# Parts of mangled names in the x86_64 wheels of vLLM 0.7.2, 0.24.0 and 0.33.0.
REAL = {
    "paged-v1": (
        "sm_80",
        ["_ZN4vllm25paged_attention_v1_kernelI13__nv_bfloat16hLi256ELi32ELi128E"],
    ),
    "paged-v2": (
        "sm_80",
        [
            "_ZN4vllm25paged_attention_v2_kernelIfhLi256ELi32ELi128ELNS_18Fp8KVCacheDataTypeE1E",
            "_ZN4vllm32paged_attention_v2_reduce_kernelIfLi256ELi128ELi512EEEvPT_PKfS4_PKS1_PKiiS4_",
        ],
    ),
    "fa2": ("sm_80", ["_ZN5flash24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_traitsILi256E"]),
    "fa3": (
        "sm_90a",
        ["_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90INS1_25C"],
    ),
    "flashmla": ("sm_90a", ["_ZN4sm9028flash_fwd_splitkv_mla_kernelI6TraitsIN7cutlass6half_tEE"]),
    "marlin": ("sm_80", ["_ZN16marlin_moe_wna166MarlinILl1125899906910725ELl562949953487106E"]),
    "machete": (
        "sm_90a",
        ["IN4cute5tupleIJiiiiEEEN7machete20MacheteCollectiveMmaINS5_IJNS_27vllm_biased_integer_su"],
    ),
    "cutlass-c3x": (
        "sm_90a",
        ["_ZN7cutlass13device_kernelIN4vllm15cutlass_3x_gemmIaNS_10bfloat16_tENS1_3c3x14Scaled"],
    ),
    "cutlass": ("sm_75", ["_ZN7cutlass7Kernel2I19enable_sm75_to_sm80INS_4gemm6kernel22Default"]),
}
OTHER_VARIANTS = [
    ("fa2", "sm_90", "_Z24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_traitsILi96ELi64ELi128ELi4E"),
    ("fa2", "sm_90", "_Z16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128ELi64ELi4ELb0E"),
    ("flashmla", "sm_100f", "_ZN5sm1006decode6head6439flash_fwd_splitkv_mla_fp8_sparse_kernelIL"),
    ("flashmla", "sm_90a", "_ZN6legacy4sm906decode5dense28flash_fwd_splitkv_mla_kernelIN7cutlass"),
    ("marlin", "sm_80", "_ZN6marlin6MarlinILl1125899906909960ELl562949953487106ELl1125899906909"),
    ("marlin", "sm_90", "_ZN10marlin_moe9MarlinMoEILl1125899907892224ELi128ELi4ELi8ELi4ELb0ELi4"),
    ("cutlass-c3x", "sm_100f", "_ZN7cutlass13device_kernelIN4vllm29cutlass_3x_gemm_fp8_blockwise"),
    ("cutlass-c3x", "sm_90a", "_ZN55_GLOBAL__N__2507a13e_grouped_mm_c3x21cutlass_3x_group_gemmIN"),
]
NOT_THESE = [
    ("fa2", "sm_90", "_ZN13pytorch_flash16flash_fwd_kernelINS_23Flash_fwd_kernel_traitsILi32E"),
    ("fa2", "sm_90a", "_ZN5flash28flash_fwd_splitkv_mla_kernelI27Flash_fwd_kernel_traits_mla"),
    ("fa3", "sm_90a", "_ZN7cutlass13device_kernelIN5flash19FlashAttnFwdCombineIN4cute5tuple"),
    ("fa3", "sm_80", REAL["fa3"][1][0]),
    ("fa3", "sm_90", REAL["fa3"][1][0]),
    ("flashmla", "sm_100f", REAL["flashmla"][1][0]),
    ("flashmla", "sm_90a", OTHER_VARIANTS[1][2]),
    ("machete", "sm_90", REAL["machete"][1][0]),
    ("machete", "sm_90a", "_ZN7machete16prepack_B_kernelINS_23PrepackedLayoutBTemplateIN7cutlass"),
    ("marlin", "sm_75", "_ZN6marlin13MarlinDefaultEPK4int4S1_PS_S2_S1_PKfS1_S4_S1_PKiiiiiPibbbi"),
    ("paged-v2", "sm_80", REAL["paged-v2"][1][0]),
    ("paged-v2", "sm_80", REAL["paged-v2"][1][1]),
    ("paged-v1", "sm_80", REAL["paged-v2"][1][0]),
]


def proves(family: str, arch: str, names: list[str]) -> bool:
    wanted = next(each for each in families() if each.id == family)
    tally = Tally([wanted])
    tally.add(Arch.parse(arch), [(name, 128) for name in names])
    return tally.proves(wanted)


@pytest.mark.parametrize(("family", "case"), REAL.items(), ids=REAL.keys())
def test_real_names(family: str, case: tuple[str, list[str]]) -> None:
    assert proves(family, *case)


@pytest.mark.parametrize(("family", "arch", "name"), OTHER_VARIANTS)
def test_real_names_of_other_variants(family: str, arch: str, name: str) -> None:
    assert proves(family, arch, [name])


@pytest.mark.parametrize(("family", "arch", "name"), NOT_THESE)
def test_names_that_prove_nothing(family: str, arch: str, name: str) -> None:
    assert not proves(family, arch, [name])


def test_every_family_that_can_be_proved_is_tested_here() -> None:
    assert set(REAL) == {each.id for each in families() if each.variants}


def test_both_halves_must_be_for_one_architecture() -> None:
    wanted = next(each for each in families() if each.id == "paged-v2")
    main, reduce = REAL["paged-v2"][1]
    tally = Tally([wanted])
    tally.add(Arch(80), [(main, 1)])
    tally.add(Arch(90), [(reduce, 9000)])
    assert not tally.proves(wanted)
    tally.add(Arch(90), [("unrelated", 9), (main, 700)])
    (evidence,) = tally.evidence()
    assert (evidence.arch, evidence.cubins, evidence.kernels) == ("sm_90", 2, 2)
    assert (evidence.example, evidence.code) == (main, 700)


def test_features_that_the_releases_know() -> None:
    known = {feature for name in load.release_names() for feature in load.release(name).features}
    assert {each.feature for each in families()} - {""} <= known


def test_families_without_kernels_in_any_binary_say_why() -> None:
    jit = {each.id: each.note for each in families() if not each.variants}
    assert set(jit) == {"deep-gemm", "fa4"}
    assert all("no binary holds them" in note for note in jit.values())


def test_every_family_has_a_place_and_a_unique_name() -> None:
    assert len({each.id for each in families()}) == len(families())
    assert all(each.title and each.places and each.places[0].file for each in families())
