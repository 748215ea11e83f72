#!/usr/bin/env python3
"""Executes the recipe of Spack against a model of Spack's directives, and holds it against CMake.

    recipe.py REPOSITORY TESSERA

Spack is no package of Debian. The model knows the directives that the recipe may use, what a package of
API v2.0 must import itself, the grammar of its specs, and which variants there are; the libraries must be
those that CMakeLists.txt looks for. Of packages that are asked for a version or a variant, Spack had one.
"""
import contextlib
import pathlib
import re
import sys
import types

SPACK_REPOSITORY = "cmake/packaging/spack/spack_repo/tessera"
RECIPE = f"{SPACK_REPOSITORY}/packages/tessera/package.py"
# A version and the variants of packages as https://github.com/spack/spack-packages had them in 2026
# (repos/spack_repo/builtin/packages/NAME/package.py); of protobuf the last one without Abseil. Of others
# only that they are there.
IN_SPACK = {"spdlog": ("1.17.0", {"shared"}), "cxxopts": ("3.3.1", {"unicode"}),
            "yaml-cpp": ("0.8.0", {"shared", "pic", "tests"}), "onnx": ("1.19.1", set()),
            "protobuf": ("3.21.12", {"shared"}), "metis": ("5.1.0", {"shared", "int64", "real64"}),
            "nlohmann-json": ("3.12.0", {"multiple_headers"}), "eigen": ("3.4.0", {"nightly"}),
            "googletest": ("1.17.0", {"gmock", "absl", "pthreads", "shared"})}
# What find_package calls a library, and Spack: both as those projects have them.
SPACK_NAMES = {"fmt": "fmt", "spdlog": "spdlog", "yaml-cpp": "yaml-cpp", "MPI": "mpi", "HDF5": "hdf5",
               "ZLIB": "zlib-api", "nlohmann_json": "nlohmann-json", "cxxopts": "cxxopts",
               "Protobuf": "protobuf", "ONNX": "onnx", "EXPAT": "expat", "METIS": "metis",
               "GTest": "googletest", "Eigen3": "eigen", "benchmark": "benchmark"}
# Of the system or the compiler, or looked for where there is one.
NO_PACKAGES = {"Threads", "SimGrid"}
SPEC = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)?(?:%(?P<compiler>[a-z]+))?"
                  r"(?:@(?P<versions>[\d.]*(?::[\d.]*)?))?(?P<variants>(?: ?[+~][a-z_]+)*)$")
TYPES = {"build", "link", "run", "test"}


class Recipe:
    """What the directives of one recipe said."""

    def __init__(self):
        self.versions, self.variants, self.needs, self.defined = [], {}, [], {}
        self._conditions = []

    def check_spec(self, text):
        spec = SPEC.match(text)
        assert spec and text, f"'{text}' is no spec"
        return spec

    def check_condition(self, text):
        if text is not None:
            for name in re.findall(r"[+~](\w+)", self.check_spec(text)["variants"]):
                assert name in self.variants, f"when='{text}': there is no variant {name}"

    @staticmethod
    def check_in_spack(spec):
        """That there is such a version, and each variant."""
        if spec["name"] not in IN_SPACK:
            return
        there, variants = IN_SPACK[spec["name"]]
        least, sign, most = (spec["versions"] or ":").partition(":")
        numbers = [int(part) for part in there.split(".")]
        if least:
            asked = [int(part) for part in least.split(".")]
            assert numbers[:len(asked)] == asked or sign and numbers >= asked, f"{spec[0]}: {there}"
        if most:
            asked = [int(part) for part in most.split(".")]
            assert numbers[:len(asked)] <= asked, f"{spec[0]}: {there}"
        unknown = set(re.findall(r"[+~](\w+)", spec["variants"])) - variants
        assert not unknown, f"{spec[0]}: Spack's package has no variant {unknown}"

    def version(self, number):
        self.versions.append(number)

    def variant(self, name, *, default, description):
        assert isinstance(default, bool) and description and name not in self.variants
        self.variants[name] = default

    def depends_on(self, spec, *, type=("build", "link"), when=None):
        self.check_condition(when)
        self.check_in_spack(self.check_spec(spec))
        kinds = {type} if isinstance(type, str) else set(type)
        assert kinds <= TYPES, f"{spec}: type {kinds - TYPES}"
        conditions = tuple(self._conditions) + ((when,) if when else ())
        self.needs.append((self.check_spec(spec)["name"], kinds, conditions))

    def conflicts(self, spec, *, msg, when=None):
        assert self.check_spec(spec) and msg
        self.check_condition(when)

    @contextlib.contextmanager
    def when(self, spec):
        self.check_condition(spec)
        self._conditions.append(spec)
        yield
        self._conditions.pop()

    def define_from_variant(self, key, name):
        assert name in self.variants, f"{key}: there is no variant {name}"
        self.defined[key] = name
        return f"-D{key}:BOOL={'ON' if self.variants[name] else 'OFF'}"


class Environment:
    """Records what a run environment is given."""

    def __init__(self):
        self.given = {}

    def prepend_path(self, name, value):
        self.given[name] = value

    set = prepend_path


def execute(repository, recipe):
    """The class of the recipe, made with the directives of `recipe`."""
    base = type("CMakePackage", (), {"define_from_variant": recipe.define_from_variant,
                                     "prefix": "/prefix"})
    module = types.ModuleType("spack.package")
    names = ("version", "variant", "depends_on", "conflicts", "when")
    vars(module).update({name: getattr(recipe, name) for name in names}, EnvironmentModifications=Environment,
                        license=lambda name: None, join_path=lambda *parts: "/".join(parts))
    # Build systems are packages' own to import since API v2.0 (https://github.com/spack/spack/pull/50452).
    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    vars(cmake).update(CMakePackage=base, generator=lambda name: None)
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module, cmake.__name__: cmake})
    parent = cmake.__name__
    while "." in parent:
        parent = parent.rpartition(".")[0]
        sys.modules[parent] = types.ModuleType(parent)
    scope = {}
    path = repository / RECIPE
    exec(compile(path.read_text("utf-8"), str(path), "exec"), scope)
    return scope["Tessera"]


def looked_for(repository, *files):
    """Libraries that these files of CMake look for."""
    text = "".join((repository / name).read_text("utf-8") for name in files)
    found = set(re.findall(r"^ *find_package\((\w[\w-]*)", text, re.MULTILINE))
    return {SPACK_NAMES[name] for name in found - NO_PACKAGES - {"Python3"}}


def main():
    repository = pathlib.Path(sys.argv[1])
    recipe = Recipe()
    package = execute(repository, recipe)()
    assert len(recipe.versions) == 1 and package.__doc__

    always = {name for name, kinds, when in recipe.needs if "link" in kinds and not when}
    program = looked_for(repository, "CMakeLists.txt") - {"googletest"}  # if(TESSERA_TESTS)
    assert always == program, f"CMake and the recipe differ in {always ^ program}"
    for variant, wanted in {"+tests": {"googletest", "eigen", "python"}, "+bench": {"benchmark"},
                            "+python": {"py-h5py", "py-numpy", "py-matplotlib"}}.items():
        has = {name for name, _, when in recipe.needs if variant in when}
        assert wanted <= has, f"{variant} lacks {wanted - has}"

    text = (repository / "CMakeLists.txt").read_text("utf-8")
    options = re.findall(r"^option\((TESSERA_(?:TESTS|BENCH)) ", text, re.MULTILINE)
    assert package.cmake_args() == [f"-D{name}:BOOL=OFF" for name in options]
    environment = Environment()
    package.setup_run_environment(environment)
    assert environment.given == {"PYTHONPATH": "/prefix/lib/python3/dist-packages",
                                 "TESSERA_ROOT": "/prefix"}, environment.given
    # The folder has the name of the namespace, below spack_repo.
    assert (repository / SPACK_REPOSITORY / "repo.yaml").read_text("utf-8") == \
        "repo:\n  namespace: tessera\n  api: v2.0\n"


if __name__ == "__main__":
    main()
