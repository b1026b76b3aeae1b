"""How a program is run: plain, and in each of the ways in which people preload Allomon."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Mode:
    """One set of variables.  `profile` tells whether every process leaves a profile."""

    name: str
    variables: dict
    profile: bool
    says: str


PLAIN = Mode("plain", {}, False, "without the library")

# Each takes another way through the allocator.  The guard takes one of 100 samples at one sample
# per 100 words, that is, a block per 80 kB: at the default rate most programs would not have any.
MODES = (
    Mode("no", {"ALLOMON_PROFILE": "no"}, False, "the allocator alone"),
    Mode("alloc", {"ALLOMON_RATE": "1e-4"}, True, "the default"),
    Mode("exact", {"ALLOMON_RATE": "1"}, True, "every block"),
    Mode(
        "live",
        {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1"},
        True,
        "every block is followed to its end",
    ),
    Mode("time", {"ALLOMON_PROFILE": "time", "ALLOMON_HZ": "1000"}, True, "a signal every ms"),
    Mode(
        "guard",
        {"ALLOMON_PROFILE": "no", "ALLOMON_GUARD": "1/100", "ALLOMON_RATE": "0.01"},
        False,
        "a block per 80 kB between two pages",
    ),
)


def named(names):
    """The modes of these names, in the order of MODES.  Another name is an error."""
    known = {mode.name: mode for mode in MODES}
    wanted = {known[name].name for name in names}
    return tuple(mode for mode in MODES if mode.name in wanted)
