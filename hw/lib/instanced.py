"""Components whose copies are instances of one Verilog module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, Self

from amaranth import hdl
from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, In

Key = tuple[Any, ...]


class Instanced(wiring.Component):
    """A component that is defined once for all copies of the same class and equal arguments.

    A design with many equal parts is generated and compiled in the time of one. What ``elaborate``
    makes depends on the constructor's arguments alone, is clocked by ``sync`` alone, and meets the
    outside only at the component's members. Arguments are hashable, or mappings, sequences and
    dataclasses of such.

    Platform overrides: ``get_instance(component)`` returns an instance, or None to elaborate.
    """

    key: Key
    _parameters: inspect.Signature

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls, *args, src_loc_at=1, **kwargs)  # warnings name the caller
        bound = cls._parameters.bind(self, *args, **kwargs)
        bound.apply_defaults()
        self.key = (cls, *map(_frozen, list(bound.arguments.values())[1:]))
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._parameters = inspect.signature(cls.__init__)
        elaborate = getattr(cls, "elaborate", None)
        if elaborate is not None and not hasattr(elaborate, "__wrapped__"):
            cls.elaborate = _instance_or(elaborate)


def _frozen(value: Any) -> Any:
    """A hashable value that is equal where ``value`` is."""
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), *(_frozen(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    return value


def _instance_or(elaborate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @wraps(elaborate)
    def wrapper(self: Instanced, platform: Any) -> Any:
        if hasattr(platform, "get_instance") and (instance := platform.get_instance(self)):
            return instance
        return elaborate(self, platform)

    return wrapper


def ports_of(component: wiring.Component) -> Iterator[tuple[str, Value, Flow]]:
    """Names of the Verilog ports of a component's members, their values and directions.

    Members without bits have no port.
    """
    for path, member, signal in component.signature.flatten(component):
        value = Value.cast(signal)
        if len(value):
            yield "__".join(map(str, path)), value, member.flow


def instance_of(component: wiring.Component, module: str, clocks: Container[str]) -> Instance:
    """An instance of the Verilog module that defines a component, in its place.

    ``clocks``: which of ``clk`` and ``rst`` the module has.
    """
    values = {"clk": ClockSignal(), "rst": ResetSignal(allow_reset_less=True)}
    return Instance(
        module,
        *(("i", name, value) for name, value in values.items() if name in clocks),
        *(("i" if flow == In else "o", *port) for *port, flow in ports_of(component)),
    )


class ResetInserter(hdl.ResetInserter):
    """Does what Amaranth's does; resets instances with the rest."""

    def on_fragment(self, fragment: Fragment) -> Fragment:
        fragment = super().on_fragment(fragment)
        if isinstance(fragment, Instance) and "rst" in fragment.ports:
            reset = self.controls.get(fragment.ports["clk"][0].domain, 0)
            fragment.ports["rst"] = fragment.ports["rst"][0] | reset, "i"
        return fragment


class EnableInserter(hdl.EnableInserter):
    """Does what Amaranth's does; raises ``ValueError`` for instances, which have no clock
    enable."""

    def on_fragment(self, fragment: Fragment) -> Fragment:
        if isinstance(fragment, Instance):
            raise ValueError(f"instance of {fragment.type}: has no clock enable")
        return super().on_fragment(fragment)
