"""Run as a script: reads a Vega-Lite specification from standard input, writes the picture to standard output.

It lives in a process of its own because the drawing library keeps about 140 MB once it was used.
"""

from __future__ import annotations

import sys


def main(format: str, scale: float) -> None:
    """Write the picture; nothing is fetched from anywhere."""
    import vl_convert

    spec = sys.stdin.read()
    if format == "svg":
        picture = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode()
    else:
        picture = vl_convert.vegalite_to_png(spec, scale=scale, allowed_base_urls=[])
    sys.stdout.buffer.write(picture)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
