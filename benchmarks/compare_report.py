"""Ratios of what compare.py measured, as Markdown, JSON and goals.

`times` is workload -> configuration -> processor seconds per unit, one per round: a unit is an
operation, a program, or a start.  Round i of one configuration is divided by round i of the
other, since these ran close together.
"""

import json
import math
import statistics

GRID = "geometric mean of the grid"


def quartiles(values):
    """The median, the lower and the upper quartile."""
    if len(values) == 1:
        return (values[0],) * 3
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return median, lower, upper


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def ratios(times, workload, column):
    """A ratio for each round.  Empty if one of the two was not measured."""
    over, under = (times.get(workload, {}).get(name, []) for name in column)
    return [a / b for a, b in zip(over, under) if a > 0 and b > 0]


def grid_ratios(times, grid, column):
    """The geometric mean over the grid in each round.  Empty unless the grid is complete."""
    rows = [ratios(times, workload, column) for workload in grid]
    if not rows or not all(rows):
        return []
    return [geometric_mean(round_) for round_ in zip(*rows)]


def summarise(times, grid, columns):
    """row -> column -> (median, lower, upper quartile) of the ratios"""
    rows = {}
    for workload in times:
        found = {column: ratios(times, workload, column) for column in columns}
        rows[workload] = {column: quartiles(it) for column, it in found.items() if it}
    if grid and set(grid) <= set(times):
        found = {column: grid_ratios(times, grid, column) for column in columns}
        position = list(rows).index(grid[-1]) + 1
        mean = {column: quartiles(it) for column, it in found.items() if it}
        rows = dict([*list(rows.items())[:position], (GRID, mean), *list(rows.items())[position:]])
    return rows


def number(value):
    """Three digits, or all digits before the point if these are more."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def cell(summary):
    if summary is None:
        return ""
    median, lower, upper = summary
    return f"{number(median)} ({number(lower)}-{number(upper)})"


def duration(seconds):
    for unit, name in (1, "s"), (1e-3, "ms"), (1e-6, "us"):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def markdown(rows, columns, times):
    """One table.  The second column is mimalloc's time, all others are ratios."""
    used = [column for column in columns if any(column in row for row in rows.values())]
    heads = ["", "mimalloc", *(f"{over} / {under}" for over, under in used)]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for name, row in rows.items():
        measured = times.get(name, {}).get("mimalloc")
        base = duration(statistics.median(measured)) if measured else ""
        cells = [name, base, *(cell(row.get(column)) for column in used)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_json(rows, times, about, goals):
    return {
        **about,
        "rows": {
            name: [
                {"over": over, "under": under, "median": m, "lower": lower, "upper": upper}
                for (over, under), (m, lower, upper) in row.items()
            ]
            for name, row in rows.items()
        },
        "seconds": times,
        "goals": [
            {"row": row, "over": over, "under": under, "goal": goal, "measured": measured}
            for row, (over, under), goal, measured in goals
        ],
    }


def write_json(path, *figures):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(as_json(*figures), file, indent=1)
        file.write("\n")


GOALS = [
    (GRID, ("allomon 1e-4", "mimalloc"), 1.00),
    ("python3 JSON", ("allomon 1e-4", "mimalloc"), 1.02),
    ("python3 JSON, no pymalloc", ("allomon 1e-4", "mimalloc"), 1.02),
    ("sqlite3 in memory", ("allomon 1e-4", "mimalloc"), 1.02),
    ("pair, 64 B", ("allomon 8 KiB", "allomon off"), 1.15),
    ("random order, 256 B", ("allomon 8 KiB", "allomon off"), 1.10),
    *(
        (f"pair, {size} B", ("allomon all", "allomon off"), 6.00)
        for size in (16, 64, 256, 4096)
    ),
    ("start-up, /bin/true", ("allomon 1e-4", "mimalloc"), 1.25),
]


def goals_of(rows):
    """(row, column, goal, measured median) of each goal whose row was measured."""
    return [
        (row, column, goal, rows[row][column][0])
        for row, column, goal in GOALS
        if column in rows.get(row, {})
    ]


def goal_lines(goals):
    """A list in Markdown.  A goal is compared with the printed number, which has two digits."""
    lines = []
    for row, (over, under), goal, measured in goals:
        missed = round(measured, 2) - goal
        verdict = "met" if missed <= 0 else f"missed by {missed:.2f}"
        lines.append(f"- {row}, {over} / {under}: {measured:.2f}, goal {goal:.2f}: {verdict}")
    return "\n".join(lines) + "\n"
