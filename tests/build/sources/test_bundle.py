from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.build.sources import upstream as making
from tests.build.sources.archives import vllm_sdist
from tests.build.sources.upstream import HOST, Upstream, git, pulled

from dsv4_build.sources import bundle, manifest, packfile, unbundle, verify
from dsv4_build.sources.git import Repository
from dsv4_build.sources.model import Archive, Pin
from dsv4_build.sources.resolve import resolve
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import BuildError, DoctorError, InputError, UsageError


def _sources(store: Store, upstream: Upstream, tmp_path: Path) -> tuple[list[Archive], list[Pin]]:
    file = tmp_path / "vllm-0.24.0.tar.gz"
    archive = store.keep(file if file.exists() else vllm_sdist(tmp_path))
    return [archive], list(resolve(store, (upstream.project(),)).pins)


@pytest.fixture
def packed(store: Store, upstream: Upstream, tmp_path: Path) -> Path:
    """A bundle of the project and an sdist."""
    pulled(store, upstream)
    target = tmp_path / "sources.tar"
    bundle.pack(store, *_sources(store, upstream, tmp_path), target)
    return target


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """The cache of a machine without a network."""
    return Store(tmp_path / "other" / "sources")


def _unpack(store: Store, file: Path) -> manifest.Manifest:
    return unbundle.unpack(store, file, os.environ, lambda _: None)


def test_another_machine_has_the_same_sources(
    packed: Path, store: Store, other: Store, upstream: Upstream, tmp_path: Path
) -> None:
    _unpack(other, packed)
    there, here = (resolve(each, (upstream.project(),)) for each in (other, store))
    assert there == here
    assert len(there.pins) == 4
    assert [each.error for each in verify.verify(other, os.environ)] == [""] * 5
    assert dict(other.archives()).keys() == dict(store.archives()).keys()


def test_the_bytes_do_not_depend_on_how_the_cache_was_filled(
    packed: Path, upstream: Upstream, other: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With all of its history, packed in another way, in another place, umask and time zone.
    for name in ("deep", "inner", "Example/outer", "rocm/kernels"):
        path = name if "/" in name else f"example/{name}"
        repository = other.repository(f"{HOST}{path}")
        repository.create()
        source = (upstream.mirror / f"{path}.git").as_uri()
        repository.tell("fetch", "-q", source, "+refs/*:refs/upstream/*", "refs/tags/*:refs/tags/*")
        repository.tell("repack", "-adfq", "--depth=0")
    pulled(other, upstream)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    before = os.umask(0o077)
    try:
        again = tmp_path / "again.tar"
        bundle.pack(other, *_sources(other, upstream, tmp_path), again)
    finally:
        os.umask(before)
    assert again.read_bytes() == packed.read_bytes()


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.xz"])
def test_a_compressed_bundle_is_the_same_each_time_and_is_read(
    store: Store, other: Store, upstream: Upstream, tmp_path: Path, suffix: str
) -> None:
    pulled(store, upstream)
    sources = _sources(store, upstream, tmp_path)
    files = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    made = [bundle.pack(store, *sources, file) for file in files]
    assert made[0].sha256 == made[1].sha256
    assert made[0].size < made[0].inside
    _unpack(other, files[0])
    assert resolve(other, (upstream.project(),)).missing == ()


def test_a_bundle_joins_what_is_there(packed: Path, other: Store, upstream: Upstream) -> None:
    main = git(upstream.mirror / "Example/outer.git", "rev-parse", "main")
    pulled(other, upstream, revision=main)
    _unpack(other, packed)
    _unpack(other, packed)
    outer = other.repository(f"{HOST}example/outer")
    assert outer.pinned() == tuple(sorted([main, upstream.commits["outer"]]))
    assert verify.check_repository(outer, other.log, os.environ) == ""


def test_a_tag_that_the_cache_has_otherwise_is_not_moved(
    packed: Path, other: Store, tmp_path: Path
) -> None:
    moved = making.make(tmp_path / "mirror")
    git(moved.mirror / "Example/outer.git", "tag", "-f", "v1", "main")
    pulled(other, moved)
    with pytest.raises(InputError, match="tag v1 is"):
        _unpack(other, packed)
    assert not other.repository(f"{HOST}example/deep").exists()


def test_a_name_that_tells_no_form(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"NAME\.tar\.xz"):
        bundle.pack(store, [], [], tmp_path / "sources.zip")


def test_a_file_that_is_not_there(other: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        _unpack(other, tmp_path / "absent.tar")
    (tmp_path / "text.tar").write_text("no archive\n")
    with pytest.raises(InputError, match=r"could not be opened successfully$"):
        _unpack(other, tmp_path / "text.tar")


# What somebody may have done to a bundle: each is refused, and nothing of it is in the cache.


def _rewritten(packed: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> Path:
    with tarfile.open(packed) as archive:
        members = [(each, archive.extractfile(each).read()) for each in archive]  # type: ignore[union-attr]
    change(members)
    target = packed.with_name("changed.tar")
    with tarfile.open(target, "w") as archive:
        for member, content in members:
            if member.isreg():
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target


def _table(members: list[tuple[tarfile.TarInfo, bytes]], change: Callable[..., None]) -> None:
    data = json.loads(members[0][1])
    change(data)
    members[0] = (members[0][0], json.dumps(data).encode())


def _append_escape(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members.append((tarfile.TarInfo("../../escaped"), b"x"))


def _link(kind: bytes) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        made = tarfile.TarInfo(members[1][0].name)
        made.type, made.linkname = kind, "/etc/passwd"
        members[1] = (made, b"")

    return change


def _flip(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    member, content = members[-1]
    members[-1] = (member, content[:-30] + bytes([content[-30] ^ 1]) + content[-29:])


def _reorder(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members[1], members[2] = members[2], members[1]


def _drop(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members.pop()


def _place(place: str) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        _table(members, lambda data: data["repositories"][0].update(place=place))

    return change


def _tree(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    def change(data: dict[str, list[dict[str, dict[str, str]]]]) -> None:
        commits = data["repositories"][0]["commits"]
        data["repositories"][0]["commits"] = dict.fromkeys(commits, "0" * 40)

    _table(members, change)


def _tag(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    _table(members, lambda data: data["repositories"][0].update(tags={"-x": "0" * 40}))


def _file(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    _table(members, lambda data: data["archives"][0].update(file="../../x.tar.gz"))


def _other_version(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    _table(members, lambda data: data["archives"][0].update(file="vllm-9.tar.gz"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_append_escape, "holds more than"),
        (_link(tarfile.SYMTYPE), "is no plain file"),
        (_link(tarfile.LNKTYPE), "is no plain file"),
        (_link(tarfile.CHRTYPE), "is no plain file"),
        (_link(tarfile.FIFOTYPE), "is no plain file"),
        (_link(tarfile.DIRTYPE), "is no plain file"),
        (_flip, "is not what the bundle says"),
        (_reorder, "has to be"),
        (_drop, "its end where"),
        (_place("../../x/y.git"), "does not|broken|unusual|no address"),
        (_place("github.com/../y.git"), "unusual"),
        (_place("/etc/x.git"), "no address"),
        (_place("github.com/Example/outer.git"), "is broken"),
        (_tree, "no commit .* with tree"),
        (_tag, "does not belong there"),
        (_file, "does not belong there"),
        (_other_version, r"vllm-9\.tar\.gz is vllm 0\.24\.0"),
    ],
)
def test_a_changed_bundle_is_refused_and_nothing_of_it_is_kept(
    packed: Path,
    other: Store,
    change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None],
    message: str,
) -> None:
    changed = _rewritten(packed, change)
    with pytest.raises(InputError, match=message):
        _unpack(other, changed)
    _nothing_left(other)


def _nothing_left(store: Store) -> None:
    files = [each for each in store.root.rglob("*") if each.is_file() and each.name != ".lock"]
    assert files == []


def test_an_object_that_a_commit_needs_and_the_pack_lacks(
    store: Store, other: Store, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled(store, upstream)
    real = packfile._listed

    def without_blobs(repository: Repository, roots: list[str], scratch: Path) -> list[str]:
        found = real(repository, roots, scratch)
        kinds = {oid: repository.tell("cat-file", "-t", oid).strip() for oid in found}
        return [oid for oid in found if kinds[oid] != "blob"]

    monkeypatch.setattr(packfile, "_listed", without_blobs)
    target = tmp_path / "lacking.tar"
    bundle.pack(store, [], resolve(store, (upstream.project(),)).pins, target)
    with pytest.raises(InputError, match=r"is broken: (missing|broken) "):
        _unpack(other, target)
    _nothing_left(other)


def test_a_disk_without_room_is_said_first(
    packed: Path, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(BuildError, match="bytes of disk"):
        _unpack(other, packed)
    _nothing_left(other)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_damage_is_refused(
    tmp_path_factory: pytest.TempPathFactory, small: bytes, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(small) - 1))
    kind = data.draw(st.sampled_from(["cut", "change", "insert"]))
    damaged = {
        "cut": small[:place],
        "change": small[:place] + bytes([small[place] ^ 0x55]) + small[place + 1 :],
        "insert": small[:place] + b"\0garbage" + small[place:],
    }[kind]
    directory = tmp_path_factory.mktemp("damaged")
    (directory / "x.tar").write_bytes(damaged)
    store = Store(directory / "sources")
    try:
        content = _unpack(store, directory / "x.tar")
    except DoctorError:
        _nothing_left(store)
    else:  # Only what is no content of it was touched, such as the padding.
        assert content.size > 0
        assert {digest for digest, _ in store.archives()} == {
            each.sha256 for each in content.archives
        }


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A bundle with one sdist and nothing else, which is read fast."""
    directory = tmp_path_factory.mktemp("small")
    store = Store(directory / "sources")
    archive = store.keep(vllm_sdist(directory))
    bundle.pack(store, [archive], [], directory / "small.tar")
    return (directory / "small.tar").read_bytes()


@given(content=st.binary() | st.text().map(str.encode))
def test_a_table_of_contents_of_any_bytes(content: bytes) -> None:
    with pytest.raises(InputError):
        manifest.read(content, "x.tar")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(archives=_JSON, repositories=_JSON)
def test_a_table_of_contents_of_any_shape(archives: object, repositories: object) -> None:
    data = {"schema": manifest.SCHEMA, "archives": archives, "repositories": repositories}
    try:
        found = manifest.read(json.dumps(data).encode(), "x.tar")
    except InputError:
        return
    assert found.members == ()


@given(st.binary(max_size=200_000))
def test_a_stored_stream_is_read_back_by_zlib(content: bytes) -> None:
    import zlib  # noqa: PLC0415 - the peer

    assert zlib.decompress(b"".join(packfile.stored(content))) == content


@given(st.sampled_from([1, 2, 3, 4]), st.integers(0, 1 << 60))
def test_a_header_is_read_back(kind: int, size: int) -> None:
    made = packfile.header(kind, size)
    read, shift = made[0] & 0xF, 4
    for byte in made[1:]:
        read |= (byte & 0x7F) << shift
        shift += 7
    assert (made[0] >> 4 & 7, read) == (kind, size)
    assert [byte >> 7 for byte in made] == [1] * (len(made) - 1) + [0]
