"""Writes the outlines of a font's Latin characters: `python outlines.py Inter-Regular.woff2 > inter-regular.txt`.

Needs fonttools with its extra `woff`. Each line has a character's code, its advance width, and its contours, in
thousandths of the font size with the y axis downwards: `m`, `l` and `q` with relative coordinates as in SVG.
"""
import sys

from fontTools.pens.basePen import decomposeQuadraticSegment
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont

RANGES = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x192, 0x192), (0x218, 0x21B), (0x1E9E, 0x1E9E), (0x2010, 0x2015),
    (0x2018, 0x201E), (0x2020, 0x2022), (0x2026, 0x2026), (0x2030, 0x2030), (0x2032, 0x2033), (0x2039, 0x203A),
    (0x20AC, 0x20AC), (0x2122, 0x2122), (0x2190, 0x2193), (0x2212, 0x2212), (0x2260, 0x2260), (0x2264, 0x2265),
]

font = TTFont(sys.argv[1])
glyphs, names, metrics = font.getGlyphSet(), font.getBestCmap(), font["hmtx"]
scale = 1000 / font["head"].unitsPerEm
print(f"# {font['name'].getDebugName(4)}, version {font['head'].fontRevision:.3f}, as outlines.")
print(f"# {font['name'].getDebugName(0)}; SIL Open Font License 1.1, see OFL.txt.")
for code in (code for first, last in RANGES for code in range(first, last + 1) if code in names):
    pen = DecomposingRecordingPen(glyphs)
    glyphs[names[code]].draw(pen)
    at, out = (0, 0), []

    def relative(*points):
        """The points as text, each relative to the end of the previous segment, which moves to the last one."""
        global at
        rounded = [(round(x * scale), round(-y * scale)) for x, y in points]
        text = " ".join(f"{x - at[0]} {y - at[1]}" for x, y in rounded)
        at = rounded[-1]
        return text

    for kind, points in pen.value:
        if kind == "moveTo":
            out.append(f"m{relative(*points)}")
        elif kind == "lineTo":
            out.append(f"l{relative(*points)}")
        elif kind == "qCurveTo":
            if points[-1] is None:
                sys.exit(f"{names[code]}: a contour without a point on the curve")
            out.extend(f"q{relative(*segment)}" for segment in decomposeQuadraticSegment(points))
        elif kind != "closePath":
            sys.exit(f"{names[code]}: {kind}")
    print(f"{code:x} {round(metrics[names[code]][0] * scale)} {''.join(out)}".rstrip())
