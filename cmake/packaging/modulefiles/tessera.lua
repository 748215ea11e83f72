-- Module file of Lmod. It lies in PREFIX/share/tessera/modulefiles/tessera, under the name of the
-- version: `module use PREFIX/share/tessera/modulefiles`, `module load tessera`.
local prefix = myFileName():gsub("/share/tessera/modulefiles/tessera/[^/]*$", "")

whatis("Tessera: parallel simulator of wafer-scale machines and AI clusters")
help([[tessera, tessera-quickstart; for Python the package tessera; for CMake find_package(tessera).
Shipped machines, models and experiments are in $TESSERA_ROOT/share/tessera.]])

conflict("tessera")
setenv("TESSERA_ROOT", prefix)
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("PYTHONPATH", pathJoin(prefix, "lib/python3/dist-packages"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
