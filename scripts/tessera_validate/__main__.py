"""Makes the pages under results/: `scripts/validate --help` explains."""

import sys

from catalogue import PAGES
from parts import make_page

if __name__ == "__main__":
    name, *words = sys.argv[1:]
    if name == "all":
        import every_page
        sys.exit(every_page.main(words))
    if name not in PAGES or PAGES[name].script:
        sys.exit(f"error: no page {name}; scripts/validate --help has the names")
    sys.exit(make_page(PAGES[name], words))
