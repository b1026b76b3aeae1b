"""The interpreters that are tested: Debian's, and those that ALLOMON_PYTHONS names."""

import os

DEBIANS = [f"/usr/bin/python3.{minor}" for minor in range(11, 15)]


def interpreters():
    """At least one; else an error that says what to install."""
    named = [path for path in os.environ.get("ALLOMON_PYTHONS", "").split(":") if path]
    found = [path for path in DEBIANS + named if os.path.exists(path)]
    if not found:
        raise FileNotFoundError(f"needs one of {', '.join(DEBIANS)} (Debian's package python3)")
    return found
