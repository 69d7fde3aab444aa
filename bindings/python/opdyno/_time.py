"""Conversion of times from the user's units to the library's."""

import numbers


def nanoseconds(name: str, amount: float, unit: float = 1e9) -> int:
    """Converts `amount` of units, by default seconds. 0 means no limit, so a positive amount is at least 1."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(amount).__name__}")
    if not amount >= 0:
        raise ValueError(f"{name} must be at least 0, but is {amount!r}")
    return max(int(min(amount * unit, 2**63 - 1)), int(amount > 0))
