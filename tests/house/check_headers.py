#!/usr/bin/env python3
"""Holds that public headers include what they use of the standard library.

    check_headers.py ROOT
    check_headers.py --self-test

The build compiles every public header alone, but on top of what is precompiled (cmake/precompiled.hpp), which
takes a fifth of the time; a header of the standard library that is missing would not be noticed there. Here every
name of `std` has to come from a header that the file includes, itself or through headers of the tree. A name
that the table below lacks is a complaint, too. `ctest -C long -L long -R house.alone` compiles them with nothing
precompiled.
"""
import re
import sys
from pathlib import Path

# By C++20, with those that are specified to include another (`string` has `string_view`, containers have
# `compare` and `initializer_list`).
PROVIDERS = {
    "algorithm": "all_of any_of clamp equal find find_if lower_bound make_heap max max_element min min_element "
                 "none_of pop_heap push_heap sort upper_bound",
    "array": "array get",
    "bit": "bit_width countr_zero",
    "charconv": "from_chars",
    "chrono": "chrono",
    "compare": "strong_ordering",
    "concepts": "convertible_to derived_from integral same_as signed_integral unsigned_integral",
    "cstddef": "byte ptrdiff_t size_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t",
    "cstring": "memcpy size_t",
    "deque": "deque erase_if",
    "exception": "current_exception exception exception_ptr rethrow_exception",
    "functional": "function hash less",
    "initializer_list": "initializer_list",
    "iterator": "random_access_iterator_tag",
    "limits": "numeric_limits",
    "map": "erase_if map",
    "memory": "hash make_shared shared_ptr unique_ptr",
    "new": "bad_alloc",
    "optional": "hash nullopt optional",
    "set": "erase_if set",
    "source_location": "source_location",
    "span": "span",
    "stdexcept": "runtime_error",
    "string": "hash stoi string to_string",
    "string_view": "hash string_view",
    "tuple": "apply get tie tuple",
    "type_traits": "conditional_t is_arithmetic_v is_trivially_copyable_v",
    "unordered_map": "erase_if unordered_map",
    "utility": "cmp_greater cmp_less exchange get in_place move pair",
    "variant": "get get_if hash holds_alternative monostate variant",
    "vector": "erase_if vector",
}
# What these define their own functions with: nobody could use them without.
CONTAINERS = ("array", "deque", "map", "set", "span", "string", "string_view", "unordered_map", "vector")
BROUGHT = dict.fromkeys(CONTAINERS, ("initializer_list", "compare", "cstddef"))
BROUGHT |= {"string": ("string_view", *BROUGHT["string"]), "variant": ("compare",), "tuple": ("compare",),
            "utility": ("compare", "initializer_list"), "map": ("utility", *BROUGHT["map"]),
            "unordered_map": ("utility", *BROUGHT["unordered_map"]), "bit": ("type_traits",),
            "concepts": ("type_traits",)}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)
NAME = re.compile(r"(?<![\w:])(?:::)?std::(\w+)")


def code_of(text):
    """Without comments and texts."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", text)


class Headers:
    def __init__(self, texts):
        self.texts = texts  # by the name with which they are included
        self.known = {}

    def standard(self, name):
        """Those of the standard library that a header includes, itself or through others."""
        if name not in self.known:
            self.known[name] = set()
            found = set()
            for outside, own in INCLUDE.findall(self.texts.get(name, "")):
                found |= {outside, *BROUGHT.get(outside, ())} if outside else self.standard(own)
            self.known[name] = found
        return self.known[name]

    def complaints(self):
        providers = {}
        for header, names in PROVIDERS.items():
            for name in names.split():
                providers.setdefault(name, set()).add(header)
        for file, text in sorted(self.texts.items()):
            there = self.standard(file)
            for name in sorted(set(NAME.findall(code_of(text)))):
                if name not in providers:
                    yield f"{file}: std::{name} is not in the table of check_headers.py"
                elif not providers[name] & there:
                    yield f"{file}: std::{name} without <{'> or <'.join(sorted(providers[name]))}>"


def self_test():
    texts = {"a.hpp": "#pragma once\n#include <vector>\n// std::map\nstd::vector<int> f(std::size_t n);\n",
             "b.hpp": '#include "a.hpp"\nstd::vector<int> g();\nconst char* h = "std::set";\n',
             "c.hpp": '#include "b.hpp"\nstd::string g();\n',
             "d.hpp": "#include <optional>\nstd::optional<std::flat_map<int>> g();\n"}
    found = list(Headers(texts).complaints())
    assert len(found) == 2, found
    assert found[0] == "c.hpp: std::string without <string>", found
    assert found[1].startswith("d.hpp: std::flat_map is not in the table"), found
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    include = Path(sys.argv[1]) / "include"
    files = [*include.rglob("*.hpp"), *include.rglob("*.inl")]
    texts = {str(file.relative_to(include)): file.read_text("utf-8") for file in files}
    found = list(Headers(texts).complaints())
    print("\n".join(found) or "public headers include what they use")
    return 1 if found or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
