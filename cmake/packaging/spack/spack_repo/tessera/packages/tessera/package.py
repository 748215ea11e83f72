# Recipe of Spack 1.0 and later (package API v2.0). From the tree, at its root:
#
#   spack repo add cmake/packaging/spack/spack_repo/tessera
#   spack dev-build tessera@0.2.0
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Tessera(CMakePackage):
    """Parallel discrete-event simulator of wafer-scale machines and clusters of AI accelerators."""

    license("Apache-2.0")

    version("0.2.0")

    variant("python", default=True,
            description="What reports, pictures and the package for Python need")
    variant("tests", default=False, description="Build the tests")
    variant("bench", default=False, description="Build the benchmarks of the engine")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("git", type="build")  # the commit that a run states

    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("yaml-cpp@0.7:")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10: ~mpi")
    depends_on("zlib-api")
    depends_on("nlohmann-json@3.11:")
    depends_on("cxxopts@3:")
    depends_on("protobuf@3.21")  # CMake's FindProtobuf knows nothing of Abseil, which later ones need
    depends_on("onnx@1.12:")
    depends_on("expat@2:")
    depends_on("metis@5.1:")

    depends_on("python@3.11:", type=("build", "run"), when="+tests")
    depends_on("googletest@1.12: +gmock", type="build", when="+tests")
    depends_on("eigen@3.4:", type="build", when="+tests")
    depends_on("benchmark@1.7:", type="build", when="+bench")

    with when("+python"):
        depends_on("python@3.11:", type="run")
        depends_on("py-h5py", type="run")
        depends_on("py-numpy", type="run")
        depends_on("py-matplotlib", type="run")
        depends_on("py-pandas", type="run")
        depends_on("py-xarray", type="run")
        depends_on("py-pyyaml", type="run")

    conflicts("%gcc@:11", msg="the sources are C++20")

    def cmake_args(self):
        return [
            self.define_from_variant("TESSERA_TESTS", "tests"),
            self.define_from_variant("TESSERA_BENCH", "bench"),
        ]

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        env.prepend_path("PYTHONPATH", join_path(self.prefix, "lib", "python3", "dist-packages"))
        env.set("TESSERA_ROOT", self.prefix)
