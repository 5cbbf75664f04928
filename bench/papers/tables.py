"""The tables of docs/papers.md, of comparisons and results."""

import statistics

from comparisons import COMPARISONS, RUNS

HEAD = ("| where | what | the paper | here | why the numbers differ |", "| --- | --- | --- | --- | --- |")


def number(result, key):
    value = result.get(key)
    return statistics.median(value) if isinstance(value, list) and value else value


def split(text):
    """BACKEND or BACKEND:KEY."""
    backend, _, key = text.partition(":")
    return backend, key or "seconds"


def fits(result, figure, backend):
    title = f" {result['of'].replace(', ', ' ')} "
    return (
        result["backend"] == backend
        and result["operation"] == figure.operation
        and all(f" {phrase} " in title for phrase in figure.of)
    )


def values(figure, results):
    """{ranks: [numbers]}: what the results say of a figure; empty where one that it needs is not there."""
    found = {}
    if figure.value:
        backend, key = split(figure.value)
        for r in results:
            if fits(r, figure, backend) and number(r, key) is not None:
                found.setdefault(r["ranks"], []).append(number(r, key) * figure.scale)
        return found
    (above, key_above), (below, key_below) = map(split, figure.divide)
    for a in results:
        if not fits(a, figure, above):
            continue
        for b in results:
            same = (a["of"], a["ranks"]) == (b["of"], b["ranks"])
            if same and fits(b, figure, below) and number(a, key_above) is not None and number(b, key_below):
                found.setdefault(a["ranks"], []).append(number(a, key_above) / number(b, key_below) * figure.scale)
    return found


def text_of(number_):
    if number_ == 0 or isinstance(number_, int):
        return f"{number_}"
    if abs(number_) >= 10:
        return f"{number_:.0f}"
    return f"{number_:.2f}" if abs(number_) >= 0.1 else f"{number_:.1g}"


def shown(figure, results):
    """One figure as text, "" if it was not measured: "label 9.50×, 8.20× (4, 16 ranks)"."""
    found = values(figure, results)
    if not found:
        return ""
    numbers = []
    for some in found.values():
        least, most = text_of(min(some)), text_of(max(some))
        numbers.append((least if least == most else f"{least} to {most}") + figure.unit)
    ranks = ", ".join(f"{count:,}" for count in found if count is not None)
    return " ".join(filter(None, [figure.label, ", ".join(numbers), f"({ranks} ranks)" if ranks else ""]))


def here(comparison, results):
    """What stands in the column of this library."""
    if comparison.absent:
        cell = f"not here: {comparison.absent}"
        return cell + (f"; {comparison.docs}" if comparison.docs else "")
    earlier = f"earlier: {comparison.docs}" if comparison.docs else ""
    if comparison.run not in results:
        return earlier or "not measured yet"
    measured = results[comparison.run]["results"]
    parts = [(figure, shown(figure, measured)) for figure in comparison.figures]
    if any(text for _, text in parts):
        return "; ".join(text or f"{figure.label}: no result" for figure, text in parts)
    missing = needed(comparison) - {r["backend"] for r in measured}
    of = f" of {', '.join(f'`{name}`' for name in sorted(missing))}" if missing else ""
    return "; ".join(filter(None, [f"no result{of}", earlier]))


def needed(comparison):
    """The backends that a comparison's numbers are made of."""
    return {split(text)[0] for f in comparison.figures for text in (f.divide or (f.value,))}


def divided(comparison):
    """Which results are divided, told once each."""
    pairs = dict.fromkeys(f"`{a}` ÷ `{b}`" for a, b in (f.divide for f in comparison.figures if f.divide))
    return ", ".join(pairs)


def row(comparison, results):
    what = comparison.what + (f": {divided(comparison)}" if divided(comparison) else "")
    if comparison.run:
        what += f" (*{comparison.run}*)"
    if comparison.by_hand:
        what += f" (by hand: `{comparison.by_hand}`)"
    cells = (comparison.place, what, comparison.theirs, here(comparison, results), comparison.differs)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def lines(comparison, results):
    """For the screen."""
    return [
        f"{comparison.paper} {comparison.place}: {comparison.what}",
        f"    the paper: {comparison.theirs}",
        f"    here: {here(comparison, results)}",
    ]


def section(paper, results, command):
    """The table of a paper, and its commands; `command(run)` is what a person would type for one that was not run."""
    some = [c for c in COMPARISONS if c.paper == paper]
    text = [*HEAD, *(row(c, results) for c in some), ""]
    for name in dict.fromkeys(c.run for c in some if c.run):
        done = results.get(name)
        said = f"measured {done['date']}, load {done['load']} before" if done else "not run on an idle machine yet"
        text += [f"*{name}* ({said}):", "", f"    {done['command'] if done else command(RUNS[name])}", ""]
    return "\n".join(text)


def markers(paper):
    return (f"<!-- {paper}: made by ./dev bench papers; do not edit -->\n\n", f"\n<!-- {paper}: end -->\n")


def between(page, paper):
    """Where the table of a paper stands in the text of the page: [begin, end)."""
    begin, end = markers(paper)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page needs the two markers of {paper} once, one behind the other")
    return page.index(begin) + len(begin), page.index(end)


def replaced(page, paper, text):
    """The page with another table of a paper."""
    begin, end = between(page, paper)
    return page[:begin] + text + page[end:]
