"""Which file of the wheel each extension becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from dsv4_doctor.knowledge.extract.cmake_state import Event
    from dsv4_doctor.knowledge.extract.setup_script import DeclaredExtension

DEFINES = frozenset({"define_extension_target", "define_gpu_extension_target"})


def file_of(extension: DeclaredExtension, events: Collection[Event]) -> str:
    """Return the shared object inside the wheel, empty for a component of Python files.

    setup.py builds every extension for the limited API. A target that is only a name for things
    to install has the shared object that it installs, if any; one that this tree does not define
    comes from a downloaded project, which defines it as a library.
    """
    module = extension.module.replace(".", "/")
    if any(each.name in DEFINES and _first(each) == extension.name for each in events):
        return f"{module}.abi3.so"
    if any(each.name == "python_add_library" and _first(each) == extension.name for each in events):
        return _library(extension, events)
    custom = any(
        each.name == "add_custom_target" and _first(each) == extension.name for each in events
    )
    if not custom:
        return f"{module}.abi3.so"
    for each in events:
        texts = [word.text for word in each.words]
        if each.name == "install" and extension.name in texts and "DESTINATION" in texts:
            shared = [text for text in texts if text.endswith(".so")]
            if shared:
                return f"{texts[texts.index('DESTINATION') + 1]}/{shared[0]}"
    return ""


def _library(extension: DeclaredExtension, events: Collection[Event]) -> str:
    """A module for one version of Python, named and placed by its properties and its install."""
    name, directory = extension.name, extension.module.replace(".", "/").rpartition("/")[0]
    for each in events:
        texts = [word.text for word in each.words]
        properties = each.name == "set_target_properties" and extension.name in texts
        if properties and "OUTPUT_NAME" in texts[:-1]:
            name = texts[texts.index("OUTPUT_NAME") + 1]
        installed = each.name == "install" and texts[:2] == ["TARGETS", extension.name]
        if installed and "DESTINATION" in texts[:-1]:
            directory = texts[texts.index("DESTINATION") + 1]
    return f"{directory}/{name}.cpython-*.so"


def _first(event: Event) -> str:
    return event.words[0].text if event.words else ""
