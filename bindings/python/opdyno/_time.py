"""Conversion of times from the user's units to the library's."""

import numbers


def nanoseconds(name: str, amount: float, unit: float = 1e9) -> int:
    """Converts `amount`, by default in seconds, to nanoseconds. A positive amount is at least 1, because 0 means no
    limit."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(amount).__name__}")
    if not amount >= 0:
        raise ValueError(f"{name} must be at least 0, but is {amount!r}")
    return max(int(min(amount * unit, 2**63 - 1)), int(amount > 0))


def limit_ns(name: str, seconds: float | None) -> int:
    """Converts a limit of time to nanoseconds. None is no limit, which is 0 in C. 0 seconds are over at once."""
    return 0 if seconds is None else max(1, nanoseconds(name, seconds))
