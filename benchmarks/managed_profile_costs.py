#!/usr/bin/env python3
"""The cost of an exact profile of bytes by function for a managed program: binary trees, in which
each call of a function is a managed call.

The profiled and the sampled program run in turn with the unprofiled one.  Their processor time is
divided by that of the unprofiled one.  `unnamed` is the program without managed calls.

--rounds=N (default 31), --depth=N (default 16).
"""

from ratios import option, print_ratio, processor_seconds, program

# label -> program, mode, period in rounds
WAYS = {
    "alloc, by the clock": ("managed_trees", "alloc", 1),
    "alloc, each block sampled": ("managed_trees", "sampled", 10),
    "unnamed": ("managed_trees_unnamed", "off", 1),
}


def seconds(name, depth, mode):
    return processor_seconds([program("managed_profile_costs", name), str(depth), mode])


def main():
    rounds, depth = option("rounds", 31), option("depth", 16)
    ratios = {label: [] for label in WAYS}
    for i in range(rounds):
        for label, (name, mode, every) in WAYS.items():
            if i % every == 0:
                off = seconds("managed_trees", depth, "off")
                ratios[label].append(seconds(name, depth, mode) / off)
    for label, found in ratios.items():
        print_ratio(label, found)


if __name__ == "__main__":
    main()
