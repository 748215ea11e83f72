"""The parts of results/front_door.md."""

import front_door_spaces
import front_door_times

PARTS = {"spaces": front_door_spaces.sections, "times": front_door_times.sections}
