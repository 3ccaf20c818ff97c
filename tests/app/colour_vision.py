"""How colours look to people who see fewer of them, and how far apart two colours are. After the published models; used by tests only.

Dichromatic vision after Brettel, Viénot and Mollon (1997) in the form with one plane of Viénot, Brettel and Mollon (1999): a colour is
moved along the axis of the missing cone until it lies on the plane through black, white and a colour that both kinds of eyes see alike.
Differences of colours are CIEDE2000.
"""

import math

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

_TO_LMS: Matrix = (
    (17.8824, 43.5161, 4.11935),
    (3.45565, 27.1554, 3.86714),
    (0.0299566, 0.184309, 1.46709),
)
"""Linear RGB of a screen to what the three cones answer (Viénot et al. 1999)."""

MISSING = {"protanopia": 0, "deuteranopia": 1, "tritanopia": 2}
"""Which cone is missing."""
_ALIKE = {"protanopia": (0.0, 0.0, 1.0), "deuteranopia": (0.0, 0.0, 1.0), "tritanopia": (1.0, 0.0, 0.0)}
"""A colour of the screen, linear, that is seen alike without that cone."""


def seen(colour: str, deficiency: str) -> Triple:
    """`#rrggbb` as somebody without one kind of cones sees it, in linear RGB within 0 and 1."""
    cones = list(_times(_TO_LMS, linear(colour)))
    lost = MISSING[deficiency]
    one, other = (place for place in range(3) if place != lost)
    white, anchor = _times(_TO_LMS, (1.0, 1.0, 1.0)), _times(_TO_LMS, _ALIKE[deficiency])
    # The plane: lost = a · one + b · other, through white and the anchor.
    span = white[one] * anchor[other] - white[other] * anchor[one]
    a = (white[lost] * anchor[other] - white[other] * anchor[lost]) / span
    b = (white[one] * anchor[lost] - white[lost] * anchor[one]) / span
    cones[lost] = a * cones[one] + b * cones[other]
    red, green, blue = _times(_inverse(_TO_LMS), (cones[0], cones[1], cones[2]))
    return min(1.0, max(0.0, red)), min(1.0, max(0.0, green)), min(1.0, max(0.0, blue))


def linear(colour: str) -> Triple:
    """The linear light of `#rrggbb`."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def lab(light: Triple) -> Triple:
    """Linear RGB as CIE L*a*b* under D65."""
    x, y, z = _times(((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041)), light)
    f, g, h = (_cube_root(part / white) for part, white in ((x, 0.95047), (y, 1.0), (z, 1.08883)))
    return 116 * g - 16, 500 * (f - g), 200 * (g - h)


def _cube_root(part: float) -> float:
    return math.cbrt(part) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116


def difference(one: Triple, other: Triple) -> float:
    """CIEDE2000 between two colours in L*a*b*: about 1 is just seen, 10 is plain at a glance."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    grey = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - math.sqrt(grey**7 / (grey**7 + 25**7)))
    chroma1, chroma2 = math.hypot(a1 * stretch, b1), math.hypot(a2 * stretch, b2)
    hue1, hue2 = (math.degrees(math.atan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (hue2 - hue1 + 180) % 360 - 180 if chroma1 * chroma2 else 0.0
    d_light, d_chroma = l2 - l1, chroma2 - chroma1
    d_hue = 2 * math.sqrt(chroma1 * chroma2) * math.sin(math.radians(turn / 2))
    light, chroma = (l1 + l2) / 2, (chroma1 + chroma2) / 2
    hue = (hue1 + turn / 2) % 360 if chroma1 * chroma2 else hue1 + hue2
    t = 1 - 0.17 * _cos(hue - 30) + 0.24 * _cos(2 * hue) + 0.32 * _cos(3 * hue + 6) - 0.20 * _cos(4 * hue - 63)
    s_light = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    s_chroma, s_hue = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    parts = d_light / s_light, d_chroma / s_chroma, d_hue / s_hue
    return math.sqrt(sum(part**2 for part in parts) + rotation * parts[1] * parts[2])


def _cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def _times(matrix: Matrix, vector: Triple) -> Triple:
    first, second, third = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)
    return first, second, third


def _inverse(m: Matrix) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = m
    whole = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return (
        ((e * i - f * h) / whole, (c * h - b * i) / whole, (b * f - c * e) / whole),
        ((f * g - d * i) / whole, (a * i - c * g) / whole, (c * d - a * f) / whole),
        ((d * h - e * g) / whole, (b * g - a * h) / whole, (a * e - b * d) / whole),
    )
