"""Output of reports, diffs and traces: a summary that fits a terminal, bars in a notebook."""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .profiling import Report


class Screen(NamedTuple):
    """A terminal: its size in characters, and whether it shows colours (no-color.org)."""

    columns: int
    lines: int
    has_colors: bool


def screen() -> Screen | None:
    """The terminal of standard output; None if it is not a terminal."""
    stream = sys.stdout  # a program may replace it by an object that only has write()
    is_terminal = getattr(stream, "isatty", None)
    if is_terminal is None or getattr(stream, "closed", False) or not is_terminal():
        return None
    columns, lines = shutil.get_terminal_size()
    return Screen(columns, lines, not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def summary(report: Report, shown: Screen) -> str:
    return report.summary(max(40, shown.columns), colored=shown.has_colors).rstrip("\n")  # print() ends the line


# Replaces the page's style, which would change the rest of a notebook.
_STYLE = """<style>
.opdyno .row{display:grid;grid-template-columns:minmax(0,15em) 1fr 12em;gap:0 12px;align-items:center;margin:3px 0}
.opdyno .who{text-align:right;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.opdyno .track{height:16px;background:rgba(128,128,128,.15);border-radius:3px}
.opdyno .bar{display:block;height:100%;min-width:1px;background:#1f6feb;border-radius:3px}
.opdyno .slower{background:#cf222e}
.opdyno .conclusion{font-weight:600}
</style>"""


def report_html(page: str) -> str:
    """Returns the sentence, the bars and the table of a report's page, for a notebook."""
    sentence = re.search(r'<p class="conclusion">.*?</p>', page, re.S)
    bars = re.search(r"<h2>Time per operator</h2>\n(.*?)(?=<h2>)", page, re.S)
    table = page[page.index("<table>") : page.index("</table>") + len("</table>")]
    return f'<div class="opdyno">{_STYLE}{sentence[0] if sentence else ""}{bars[1] if bars else ""}{table}</div>'


def _number(row: dict[str, Any], *names: str) -> float | None:
    return next((float(row[name]) for name in names if name in row), None)


def _percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{round(100 * share, digits) + 0.0:+.{digits}f} %"  # + 0.0: never -0.00


def _split(report: Report) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The rows of the operators, and the row of the total. If there is only one operator, it is the total."""
    rows = report.calls
    total = next((row for row in rows if row.get("Kind") == "total"), rows[0] if rows else None)
    return [row for row in rows if row is not total], total


def diff_sentence(report: Report) -> str:
    """A sentence that says whether the program became slower, by how much, and which operators changed most."""
    rows, total = _split(report)
    if total is None:
        return "no run has an operator"
    change, low, high = (_number(total, name) for name in ("Change", "Change Low", "Change High"))
    interval = "" if low is None or high is None else f" ({_percent(low)} to {_percent(high)})"
    if total["Verdict"] in ("regression", "improvement") and change is not None:
        text = f"{abs(100 * change):.1f} % {'slower' if change > 0 else 'faster'}{interval}"
    elif total["Verdict"] == "same":
        text = f"as fast as before{interval}"
    else:
        text = f"undecided{interval}" if interval else "too few runs to tell whether it is faster"
    changed = [row for row in rows if row["Verdict"] not in ("same", "undecided") and row.get("Kind") != "replaced"]
    for row in changed[:3]:
        known = _number(row, "Change")
        text += f"; {row['Name']} {row['Verdict'] if known is None else _percent(known, 0)}"
    return text + (f"; {len(changed) - 3} more changed" if len(changed) > 3 else "")


def _labels(rows: list[dict[str, Any]]) -> list[str]:
    """The names of the rows. If several rows have one name, their shapes are added."""
    names = [str(row["Name"]) for row in rows]
    return [
        f"{name} ({row['Argument Shapes']})" if names.count(name) > 1 and row.get("Argument Shapes") else name
        for name, row in zip(names, rows)
    ]


def _fitted(names: list[str], width: int) -> list[str]:
    """Shortens names in the middle. Different names stay different; if that is not possible, they get numbers."""
    cut = names
    for head in [2 * width // 3, *range(width - 1, -1, -1)]:
        tail = width - 1 - head
        cut = [n if len(n) <= width else f"{n[:head]}…{n[len(n) - tail:]}" for n in names]
        if len(set(cut)) == len(set(names)):
            return cut
    numbers = {name: f"~{i}" for i, name in enumerate(dict.fromkeys(names), 1)}
    return [n if len(n) <= width else n[: width - 1 - len(numbers[n])] + "…" + numbers[n] for n in names]


def diff_text(report: Report, shown: Screen) -> str:
    """The rows that change the total most, as many as fit the terminal, then the total and a sentence."""
    rows, total = _split(report)
    sentence = textwrap.wrap(diff_sentence(report), shown.columns)
    # Leaves room for the head, the number of further rows, the total and the prompt.
    room = max(3, shown.lines - 4 - len(sentence))
    lines = [*rows[:room], *([total] if total else [])]

    def time(row: dict[str, Any], side: str) -> str:
        us = _number(row, f"{side} (us)", side)
        return "-" if us is None else "<0.01" if us < 0.005 else f"{us:.2f}"

    table = [["Before (us)", "After (us)", "Change"]]
    table += [[time(row, "Before"), time(row, "After"), _percent(_number(row, "Change"), 2)] for row in lines]
    widths = [max(len(line[i]) for line in table) for i in range(3)]
    verdicts = ["Verdict", *(str(row["Verdict"]) for row in lines)]
    labels = ["Operator", *_labels(lines)]
    least = 20  # the least width of names; on a narrow terminal, times are left out, first those of before
    while (most := shown.columns - sum(w + 2 for w in widths) - max(map(len, verdicts)) - 2) < least and len(widths) > 1:
        widths, table = widths[1:], [cells[1:] for cells in table]
    most = max(least, most)
    names = _fitted(labels, min(most, max(map(len, labels))))
    width = max(map(len, names))
    text = [
        "  ".join([name.ljust(width), *(cell.rjust(w) for cell, w in zip(cells, widths)), verdict])
        for name, cells, verdict in zip(names, table, verdicts)
    ]
    if len(rows) > room:
        text.insert(len(text) - 1, f"and {len(rows) - room} more, which change the total less")
    return "\n".join([*text, *sentence])


def diff_html(report: Report) -> str:
    """The sentence, each operator's effect on the total as a bar, and the table, for a notebook."""
    rows, _ = _split(report)
    effects = [(label, _number(row, "Effect") or 0.0) for label, row in zip(_labels(rows), rows)][:20]
    most = max((abs(effect) for _, effect in effects), default=0) or 1
    bars = "".join(
        f'<div class="row"><span class="who">{html.escape(label)}</span><span class="track">'
        f'<span class="bar{" slower" if effect > 0 else ""}" style="width:{100 * abs(effect) / most:.2f}%"></span></span>'
        f"<span>{_percent(effect)} of the total</span></div>"
        for label, effect in effects
    )
    page = report.to_html()
    table = page[page.index("<table>") : page.index("</table>") + len("</table>")]
    sentence = html.escape(diff_sentence(report))
    return f'<div class="opdyno">{_STYLE}<p class="conclusion">{sentence}</p><div class="bars">{bars}</div>{table}</div>'
