"""Lines over points, as an SVG picture that needs no library."""

import math
from html import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 80, 36, 40, 55
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito


def steps(most):
    """A few round whole numbers from 0 to `most` or just beyond it."""
    step = next(digit * 10 ** power for power in range(20) for digit in (1, 2, 5)
                if most <= 6 * digit * 10 ** power)
    return list(range(0, math.ceil(most) + step, step))


def line_chart(path, title, across, up, lines, names=None):
    """`across` and `up` are names of axes from 0 on; `lines` are (label, [(x, y), ...]). With `names` of
    places along the axis x counts them."""
    xs = range(len(names)) if names else steps(max(x for _, points in lines for x, _ in points))
    ys = steps(max(y for _, points in lines for _, y in points))

    def place(x, y):
        return (LEFT + x / xs[-1] * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - y / ys[-1] * (HEIGHT - TOP - BOTTOM))

    def text(x, y, words, anchor="middle", more=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             text(WIDTH / 2, 22, title, more='font-size="14"')]
    for y in ys:
        left, height = place(0, y)
        parts.append(f'<line x1="{left:.1f}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" '
                     'stroke="#e4e4e4"/>')
        parts.append(text(left - 8, height + 4, f"{y:,}".replace(",", " "), "end"))
    for x in xs:
        left, height = place(x, 0)
        parts.append(text(left, height + 18, names[x] if names else f"{x:g}"))
    parts.append(text(WIDTH / 2, HEIGHT - 12, across))
    parts.append(text(18, HEIGHT / 2, up, more=f'transform="rotate(-90 18 {HEIGHT / 2:.0f})"'))
    for number, (label, points) in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        places = [place(x, y) for x, y in points]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
                     + " ".join(f"{x:.1f},{y:.1f}" for x, y in places) + '"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(text(LEFT + 16, TOP + 20 + 18 * number, label, "start", f'fill="{colour}"'))
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")
