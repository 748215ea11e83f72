"""Pictures of a run folder of Tessera. `scripts/plot` is the way in."""
