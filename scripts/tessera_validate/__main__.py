"""Makes the pages under results/: `scripts/validate --help` explains."""

import sys

import moved
from catalogue import PAGES
from parts import make_page


def unknown(name):
    return moved.page_moved(name) or f"no page {name}; scripts/validate --help has the names"


def main(name, words):
    if name == "all":
        import every_page
        return every_page.main(words)
    if name not in PAGES:
        print(f"error: {unknown(name)}", file=sys.stderr)
        return 2
    return make_page(PAGES[name], words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
