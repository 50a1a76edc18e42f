"""Write spec/vectors.json: words at and beside every boundary of the rule, by arithmetic with Python's integers."""

import json
from pathlib import Path

WORDS = 2**32


def cases():
    for size in (2, 3, 5, 10, 97, 256, 257, 65_536):
        widest = (WORDS - 1) // size
        for width in sorted({0, 1, widest // 3, widest // 2, widest - 1, widest}):
            threshold = WORDS - width * size
            edges = {0, 1, WORDS // 2, WORDS - 1, threshold - 1, threshold, threshold + 1}
            for category in (1, size // 2, size - 1):
                edges |= {threshold + category * width + step for step in (-1, 0, 1)}
            for word in sorted(edge for edge in edges if 0 <= edge < WORDS):
                truth = word % size
                report = truth if word < threshold else (word - threshold) // width
                yield {"word": word, "threshold": threshold, "size": size, "truth": truth, "report": report}


if __name__ == "__main__":
    lines = ",\n".join("    " + json.dumps(case) for case in cases())
    text = f'{{\n  "version": 1,\n  "cases": [\n{lines}\n  ]\n}}\n'
    (Path(__file__).parents[1] / "spec" / "vectors.json").write_text(text)
