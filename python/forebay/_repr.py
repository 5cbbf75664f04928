"""How datasets and variables show themselves: as text, and as HTML in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._dataset import Dataset, Variable

_ROWS = 60  # variables that are listed; with more, the middle is left out


def size_text(count: int) -> str:
    """Bytes for people: "1.5 GiB"."""
    if count < 1024:
        return f"{count} B"
    value, unit = float(count), "B"
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):  # noqa: B007  # the last one is used below
        value /= 1024
        if value < 1024:
            break
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def _value(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value).replace("\n", " ")
    return text if len(text) <= 72 else text[:69] + "..."


def _shape(variable: Variable) -> str:
    return ", ".join(f"{d.name}: {n}" for d, n in zip(variable._dims, variable.shape, strict=True))


def _storage(variable: Variable) -> str:
    if variable.codec is None:
        return ""
    shape = "×".join(map(str, variable.chunks)) if variable.chunks else "shape not chosen yet"
    return f"chunks {shape}, {variable.codec}"


def _head(variable: Variable) -> str:
    return f"{variable.name} ({_shape(variable)}) {variable.dtype}".replace(" ()", "")


def _attribute_lines(attributes: Any, indent: str) -> list[str]:
    return [f"{indent}{name}: {_value(value)}" for name, value in attributes.items()]


def variable(self: Variable) -> str:
    if self._dataset.closed:
        return f"<forebay.Variable {_head(self)}, closed>"
    lines = [f"<forebay.Variable {_head(self)}, {size_text(self.nbytes)}>"]
    if self.codec is not None:
        lines.append(f"stored in {_storage(self)}")
    return "\n".join(lines + _attribute_lines(self.attributes, "    "))


def dataset(self: Dataset) -> str:
    if self.closed:
        return f"<forebay.{type(self).__name__} {self.path!r}, closed>"
    lines = [f"<forebay.{type(self).__name__} {self.path!r} ({self.format})>", "Dimensions:"]
    lines += [f"    {d.name}: {d.size}{' (unlimited)' if d.unlimited else ''}" for d in self._dims]
    lines.append(f"Variables: {len(self)}")
    shown = list(self._vars.values())
    left_out = len(shown) - _ROWS
    if left_out > 0:
        shown = shown[: _ROWS // 2] + [None] + shown[-_ROWS // 2 :]
    for v in shown:
        if v is None:
            lines.append(f"    ... {left_out} more ...")
        else:
            storage = _storage(v)
            lines.append(f"    {_head(v)}" + (f"  [{storage}]" if storage else ""))
    if self.groups:
        lines.append("Groups: " + ", ".join(self.groups))
    if self.left_out:
        lines += ["Left out:", *(f"    {name}: {why}" for name, why in self.left_out.items())]
    attributes = self.attributes
    if attributes:
        lines += ["Attributes:", *_attribute_lines(attributes, "    ")]
    return "\n".join(lines)


_STYLE = (
    "<style>.forebay table{border-collapse:collapse}.forebay td,.forebay th{text-align:left;padding:1px 10px 1px 0;"
    "vertical-align:top}.forebay summary{cursor:pointer}.forebay .quiet{opacity:.65}</style>"
)


def _attribute_table(attributes: Any) -> str:
    rows = "".join(f"<tr><td>{escape(n)}</td><td>{escape(_value(v))}</td></tr>" for n, v in attributes.items())
    return f"<table>{rows}</table>"


def _variable_row(v: Variable) -> str:
    count = len(v.attributes)
    attributes = f"<details><summary>{count}</summary>{_attribute_table(v.attributes)}</details>" if count else ""
    cells = (f"<b>{escape(v.name)}</b>", escape(_shape(v)), str(v.dtype), size_text(v.nbytes), escape(_storage(v)))
    return "<tr>" + "".join(f"<td>{c}</td>" for c in cells) + f"<td>{attributes}</td></tr>"


def dataset_html(self: Dataset) -> str:
    if self.closed:
        return f"<p>{escape(dataset(self))}</p>"
    dims = ", ".join(
        f"<b>{escape(d.name)}</b>: {d.size}{' <span class=quiet>(unlimited)</span>' if d.unlimited else ''}"
        for d in self._dims
    )
    head = "".join(f"<th>{t}</th>" for t in ("variable", "dimensions", "type", "size", "stored", "attributes"))
    listed = list(self._vars.values())
    rows = "".join(_variable_row(v) for v in listed[:_ROWS])
    if len(listed) > _ROWS:
        rows += f"<tr><td colspan=6>... {len(listed) - _ROWS} more</td></tr>"
    attributes = self.attributes
    parts = "".join(f"<p>Group <b>{escape(n)}</b></p>{dataset_html(g)}" for n, g in self.groups.items())
    for name, why in self.left_out.items():
        parts += f"<p class=quiet>left out: {escape(name)} ({escape(why)})</p>"
    own = (
        f"<details><summary>{len(attributes)} attributes</summary>{_attribute_table(attributes)}</details>"
        if attributes
        else ""
    )
    return (
        f"{_STYLE}<div class=forebay><p>forebay.{type(self).__name__} <code>{escape(self.path)}</code> "
        f"<span class=quiet>({self.format})</span></p><p>Dimensions: {dims or 'none'}</p>"
        f"<table><tr>{head}</tr>{rows}</table>{own}{parts}</div>"
    )


def variable_html(self: Variable) -> str:
    if self._dataset.closed:
        return f"<p>{escape(variable(self))}</p>"
    storage = f"<p>stored in {escape(_storage(self))}</p>" if self.codec is not None else ""
    return (
        f"{_STYLE}<div class=forebay><p>forebay.Variable <b>{escape(self.name)}</b> ({escape(_shape(self))}) "
        f"{self.dtype} <span class=quiet>{size_text(self.nbytes)}</span></p>{storage}"
        f"{_attribute_table(self.attributes)}</div>"
    )
