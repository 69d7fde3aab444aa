"""Times in the user's units, and in the library's."""

import numbers


def nanoseconds(name: str, amount: float, unit: float = 1e9) -> int:
    """`amount` of units, by default seconds. 0 is no limit, so any more is at least 1."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(amount).__name__}")
    if not amount >= 0:
        raise ValueError(f"{name} must be at least 0, but is {amount!r}")
    return max(int(min(amount * unit, 2**63 - 1)), int(amount > 0))
