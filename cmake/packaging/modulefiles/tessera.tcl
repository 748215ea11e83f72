#%Module1.0
# Module file of Environment Modules. It lies in PREFIX/share/tessera/modulefiles/tessera, under the
# name of the version: `module use PREFIX/share/tessera/modulefiles`, `module load tessera`.
set prefix $ModulesCurrentModulefile
foreach above {tessera modulefiles data share prefix} {
  set prefix [file dirname $prefix]
}

module-whatis "Tessera: parallel simulator of wafer-scale machines and AI clusters"
proc ModulesHelp {} {
  puts stderr "tessera, tessera-quickstart; for Python the package tessera; for CMake find_package(tessera)."
  puts stderr "Shipped machines, models and experiments are in \$TESSERA_ROOT/share/tessera."
}

conflict tessera
setenv TESSERA_ROOT $prefix
prepend-path PATH $prefix/bin
prepend-path PYTHONPATH $prefix/lib/python3/dist-packages
prepend-path CMAKE_PREFIX_PATH $prefix
