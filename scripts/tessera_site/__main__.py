"""Builds the site: `python3 scripts/tessera_site DIR`. scripts/site explains."""

import sys

import site_maker

sys.exit(site_maker.main(sys.argv[1]))
