// Gives the precompiled headers of this folder a target each.
