"""A bar chart of compare.py's ratios on a logarithmic scale, as SVG."""

import html
import math

from compare_report import GRID, number

LABEL_WIDTH, CHART_WIDTH, BAR, GAP = 330, 560, 13, 26
COLOURS = {
    "allomon": "#1b6ca8",
    "tcmalloc": "#d1812c",
    "jemalloc": "#5f9e54",
    "heaptrack": "#9a5fa8",
    "glibc": "#888888",
}


def text(x, y, content, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{html.escape(content)}</text>'


def scale_of(medians):
    """The x of a ratio.  The ratio 1 is always inside."""
    low = math.floor(min([0, *(math.log10(it) for it in medians)]) * 2) / 2
    high = math.ceil(max([0.5, *(math.log10(it) for it in medians)]))
    return low, high, lambda ratio: (
        LABEL_WIDTH + (math.log10(ratio) - low) / (high - low) * CHART_WIDTH
    )


def grid_lines(low, high, x, height):
    for power in range(math.ceil(low), high + 1):
        for digit in (1, 2, 5):
            at = x(digit * 10.0**power)
            if at > LABEL_WIDTH + CHART_WIDTH + 1:
                continue
            colour = "#000000" if (power, digit) == (0, 1) else "#dddddd"
            yield f'<line x1="{at:.1f}" x2="{at:.1f}" y1="20" y2="{height - 6}" stroke="{colour}"/>'
            yield text(at, 14, f"{digit * 10.0**power:g}", ' text-anchor="middle"')


def bar(y, column, summary, x):
    """A bar from 1 to the median, with a line from quartile to quartile."""
    median, lower, upper = summary
    left, right = sorted((x(1), x(median)))
    colour = COLOURS.get(column[0].split()[0], "#888888")
    middle = y + BAR / 2
    yield text(LABEL_WIDTH - 8, y + BAR - 3, " / ".join(column), ' text-anchor="end"')
    yield (
        f'<rect x="{left:.1f}" y="{y + 1:.1f}" width="{max(right - left, 1):.1f}" '
        f'height="{BAR - 2}" fill="{colour}"/>'
    )
    yield (
        f'<line x1="{x(lower):.1f}" x2="{x(upper):.1f}" y1="{middle:.1f}" y2="{middle:.1f}" '
        'stroke="#000000"/>'
    )
    yield text(max(right, x(upper)) + 4, y + BAR - 3, number(median))


def digest(rows, grid):
    """The rows without the single rows of the grid, if the mean of the grid is among them."""
    return {name: row for name, row in rows.items() if GRID not in rows or name not in grid}


def svg(rows):
    """Draws rows as compare_report.summarise() returns them."""
    rows = {name: row for name, row in rows.items() if row}
    low, high, x = scale_of([median for row in rows.values() for median, _, _ in row.values()])
    height = 30 + sum(GAP + BAR * len(row) for row in rows.values())
    width = LABEL_WIDTH + CHART_WIDTH + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="10">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *grid_lines(low, high, x, height),
    ]
    y = 20
    for name, row in rows.items():
        parts.append(text(8, y + 16, name, ' font-weight="bold" font-size="11"'))
        y += GAP
        for column, summary in row.items():
            parts.extend(bar(y - 4, column, summary, x))
            y += BAR
    return "\n".join([*parts, "</svg>"]) + "\n"
