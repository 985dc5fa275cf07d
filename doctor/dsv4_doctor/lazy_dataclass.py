"""The standard library's frozen dataclass, finished only when something of it is needed.

A check loads about seventy dataclasses, and the standard library compiles six methods for each: a
fifth of the processor time of the whole run, for methods most of which nobody calls. Here a class
gets a constructor that needs no compiling; fields, comparison, hash and text are those of the
standard library's own dataclass, made when one of them is first asked for.

``from dsv4_doctor.lazy_dataclass import dataclass`` is for modules that ``check`` loads; anywhere
else the standard library's decorator does.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["as_data", "dataclass", "field", "names_of", "replace"]

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass, field
else:

    def dataclass(*, frozen: bool, order: bool = False) -> Callable[[type], type]:
        """Return a decorator like :func:`dataclasses.dataclass`, for simple frozen classes.

        Args:
            frozen: Must be true; it is written so that a class reads as everywhere else.
            order: Whether instances can be ordered, as tuples of their fields.
        """

        def decorate(cls: type) -> type:
            own = sorted(_OWN & set(vars(cls)))
            if any(type(each).__module__ == "dataclasses" for each in vars(cls).values()):
                msg = f"{cls.__qualname__}: field() of this module, not of the standard library"
                raise TypeError(msg)
            if not frozen or cls.__bases__ != (object,) or own:
                brings = f" and without {', '.join(own)}" if own else ""
                msg = f"{cls.__qualname__}: only for frozen classes without bases{brings}"
                raise TypeError(msg)
            _prepare(cls, order=order)
            return cls

        return decorate

    def field(*, default_factory: Callable[[], Any]) -> Any:
        """Return what :func:`dataclasses.field` does, of which only a factory can be given."""
        return _Made(default_factory)


class _Made:
    """A default that is made anew for each instance."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.factory = factory


_METHODS = ("__repr__", "__eq__", "__hash__")
_COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__")
_DATA = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
# What a class may not bring itself, because here it would be overwritten or never called.
_OWN = frozenset({*_METHODS, *_COMPARISONS, "__init__", "__post_init__", "__slots__"})

# Probes run in threads, and two of them may be the first to need the same class.
_finishing = threading.RLock()


def _prepare(cls: type, *, order: bool) -> None:
    """Set the constructor, and what finishes the class when it is asked for."""
    annotations = cls.__annotations__
    namespace = {name: vars(cls)[name] for name in annotations if name in vars(cls)}
    methods = (*_METHODS, *_COMPARISONS) if order else _METHODS

    def finish() -> None:
        with _finishing:
            if isinstance(vars(cls)["__dataclass_fields__"], _Late):
                made = _standard(cls, annotations, namespace, order=order)
                for name in (*methods, *_DATA):
                    setattr(cls, name, vars(made)[name])

    for name, default in namespace.items():
        if isinstance(default, _Made):
            # As the standard library does: what is made anew is no attribute of the class.
            delattr(cls, name)
    for name in methods:
        setattr(cls, name, _late_method(name, finish))
    for name in _DATA:
        setattr(cls, name, _Late(name, finish))
    vars_of_class: dict[str, Any] = {
        "__init__": _constructor(tuple(annotations), namespace),
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }
    for name, value in vars_of_class.items():
        setattr(cls, name, value)


def _standard(
    cls: type, annotations: Mapping[str, str], namespace: Mapping[str, Any], *, order: bool
) -> type:
    """Return the dataclass that the standard library makes of the same fields."""
    import dataclasses  # noqa: PLC0415 - with what it imports, 20 ms of a check

    defaults = {
        name: dataclasses.field(default_factory=each.factory) if isinstance(each, _Made) else each
        for name, each in namespace.items()
    }
    about = {"__doc__": "", "__annotations__": annotations, "__module__": cls.__module__}
    twin = type(cls.__name__, (), {**about, **defaults})
    return dataclasses.dataclass(frozen=True, order=order)(twin)


def as_data(value: Any) -> Any:
    """Return a value as JSON has it, dataclasses as dictionaries in the order of their fields.

    It is what :func:`dataclasses.asdict` makes, with lists for tuples, but asks a class for nothing
    that would finish it and copies no text.
    """
    if isinstance(value, (tuple, list)):
        return [as_data(each) for each in value]
    if isinstance(value, dict):
        return {key: as_data(each) for key, each in value.items()}
    names = names_of(value)
    return value if names is None else {name: as_data(getattr(value, name)) for name in names}


def names_of(value: object) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields, in order; ``None`` for any other value."""
    return _names(type(value)) if "__dataclass_fields__" in vars(type(value)) else None


def replace(value: T, **changes: object) -> T:
    """Return what :func:`dataclasses.replace` does."""
    return type(value)(**{**vars(value), **changes})


_known: dict[type, tuple[str, ...]] = {}


def _names(cls: type) -> tuple[str, ...]:
    names = _known.get(cls)
    if names is None:
        names = _known[cls] = tuple(cls.__annotations__)
    return names


class _Late:
    """A class attribute that is made when it is first read."""

    def __init__(self, name: str, finish: Callable[[], None]) -> None:
        self._name = name
        self._finish = finish

    def __get__(self, instance: object, owner: type) -> Any:
        self._finish()
        # A class made from this one finds it there, too.
        return getattr(owner, self._name)


def _late_method(name: str, finish: Callable[[], None]) -> Callable[..., Any]:
    def method(self: object, *others: object) -> Any:
        finish()
        return getattr(type(self), name)(self, *others)

    return method


def _constructor(names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    count = len(names)

    def __init__(self: object, *values: object, **named: object) -> None:  # noqa: N807
        held = self.__dict__
        held.update(zip(names, values, strict=False))
        if named:
            if not named.keys().isdisjoint(held) or not named.keys() <= set(names):
                raise TypeError(_wrong(type(self), names, values, named))
            held.update(named)
        if len(held) < count:
            for name in names[len(values) :]:
                if name not in held:
                    if name not in defaults:
                        raise TypeError(_wrong(type(self), names, values, named))
                    held[name] = _default(defaults[name])
        if len(values) > count:
            raise TypeError(_wrong(type(self), names, values, named))

    return __init__


def _default(default: Any) -> Any:
    return default.factory() if isinstance(default, _Made) else default


def _wrong(
    cls: type, names: tuple[str, ...], values: tuple[object, ...], named: dict[str, object]
) -> str:
    given = [*map(str, range(1, len(values) + 1)), *named]
    return f"{cls.__qualname__}({', '.join(names)}) does not take {', '.join(given) or 'nothing'}"


def _refuse_to_set(_self: object, name: str, _value: object) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - see above

    msg = f"cannot assign to field {name!r}"
    raise FrozenInstanceError(msg)


def _refuse_to_delete(_self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - see above

    msg = f"cannot delete field {name!r}"
    raise FrozenInstanceError(msg)
