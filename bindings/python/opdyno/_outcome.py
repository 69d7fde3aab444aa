"""The common base of comparisons of calls, and the conversion of their options."""

import os
from collections.abc import Mapping

from ._report import Report


class Outcome:
    """Base of results with a report, whose verdict is a sentence. True if the report's entry `_HOLDS` is true."""

    _HOLDS: str

    def __init__(self, report: Report) -> None:
        self._report = report

    @property
    def verdict(self) -> str:
        """One sentence that says whether both sides have the same results, and what differs."""
        return str(self._report.configuration["Verdict"])

    def _entry(self, name: str) -> str | None:
        entry = self._report.configuration.get(name)
        return None if entry is None else str(entry)

    def __bool__(self) -> bool:
        return bool(self._report.configuration[self._HOLDS].value)

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.verdict}>"


def tolerance_text(given: float | Mapping[str, float] | None) -> str | None:
    """Converts a tolerance to the form of opd_compare_options."""
    if given is None or given == {}:
        return None
    if isinstance(given, Mapping):
        return ",".join(f"{dtype}={float(number)!r}" for dtype, number in given.items())
    return repr(float(given))


def path_text(given: str | os.PathLike[str] | None) -> str | None:
    return None if given is None else os.fspath(given)
