"""Requests to a served model: what is asked, and when.

Written by scripts/python_stubs.py from what the program declares; do not edit.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from .sections import Section

ClosedPrefix = TypedDict("ClosedPrefix", {"tokens": int, "count": int}, total=False)

DiurnalPrefix = TypedDict("DiurnalPrefix", {"tokens": int, "count": int}, total=False)

FixedPrefix = TypedDict("FixedPrefix", {"tokens": int, "count": int}, total=False)

GammaPrefix = TypedDict("GammaPrefix", {"tokens": int, "count": int}, total=False)

ListList = TypedDict("ListList", {"at": str, "prompt": int, "generate": int, "prefix": str | int | float, "prefix_tokens": int, "class": str | int | float, "adapter": int, "samples": int}, total=False)

PoissonPrefix = TypedDict("PoissonPrefix", {"tokens": int, "count": int}, total=False)

class Requests(Section):
    """kind of arrivals, with its keys beside"""

class Closed(Requests):
    """Clients that each ask again when they have been served."""

    count: int | None
    """requests; none for a tenant in the background; integer, 1 to 10000000"""
    clients: int | None
    """requests under way at a time; integer, 1 to 1048576; default: 1"""
    think: str | None
    """between an answer and the client's next request, on average; time, 0 ps to 1000000 s; default: 0 ps"""
    think_times: Literal["exponential", "fixed"] | None
    """whether they are all the same; name, one of exponential, fixed; default: exponential"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """of requests whose lengths are taken, in place of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """of the file; auto: as its head or first object says; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """of texts of a file without numbers of tokens: characters (Unicode) of a token in the mean; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model takes: an error, left out, or cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: ClosedPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int | None = ...,
        clients: int | None = ...,
        think: str | None = ...,
        think_times: Literal["exponential", "fixed"] | None = ...,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        file: str | PathLike[str] | None = ...,
        format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None = ...,
        characters_per_token: float | None = ...,
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
        prefix: ClosedPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...

class Diurnal(Requests):
    """Requests that arrive independently of each other, more of them at one time of day."""

    count: int
    """requests; integer, 1 to 10000000"""
    rate: float
    """requests a second, on average; number, 0.001 to 1e+09"""
    period: str | None
    """after which it is the same time of day again; time, 1 us to 9000000 s; default: 86400 s"""
    swing: float | None
    """of the rate around its mean, as a share: least at the beginning, most half a period later; number, 0 to 1; default: 0.5"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """of requests whose lengths are taken, in place of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """of the file; auto: as its head or first object says; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """of texts of a file without numbers of tokens: characters (Unicode) of a token in the mean; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model takes: an error, left out, or cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: DiurnalPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int,
        rate: float,
        period: str | None = ...,
        swing: float | None = ...,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        file: str | PathLike[str] | None = ...,
        format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None = ...,
        characters_per_token: float | None = ...,
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
        prefix: DiurnalPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...

class Fixed(Requests):
    """One request after the other at even times."""

    count: int
    """requests; integer, 1 to 10000000"""
    interval: str | None
    """between two of them; time; default: 0 ps"""
    begin: str | None
    """arrival of the first; time; default: 0 ps"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """of requests whose lengths are taken, in place of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """of the file; auto: as its head or first object says; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """of texts of a file without numbers of tokens: characters (Unicode) of a token in the mean; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model takes: an error, left out, or cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: FixedPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int,
        interval: str | None = ...,
        begin: str | None = ...,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        file: str | PathLike[str] | None = ...,
        format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None = ...,
        characters_per_token: float | None = ...,
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
        prefix: FixedPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...

class Gamma(Requests):
    """Requests that arrive in bursts."""

    count: int
    """requests; integer, 1 to 10000000"""
    rate: float
    """requests a second, on average; number, 0.001 to 1e+09"""
    variation: float | None
    """standard deviation of the gaps between requests, to their mean; 1: as poisson, more: bursts; number, 0.05 to 20; default: 2"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """of requests whose lengths are taken, in place of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """of the file; auto: as its head or first object says; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """of texts of a file without numbers of tokens: characters (Unicode) of a token in the mean; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model takes: an error, left out, or cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: GammaPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int,
        rate: float,
        variation: float | None = ...,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        file: str | PathLike[str] | None = ...,
        format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None = ...,
        characters_per_token: float | None = ...,
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
        prefix: GammaPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...

class List(Requests):
    """Each request as given."""

    list: Sequence[ListList] | str | PathLike[str]
    """requests, or a CSV, YAML or JSON file of them; list"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model takes: an error, left out, or cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    def __init__(
        self,
        *,
        list: Sequence[ListList] | str | PathLike[str],
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
    ) -> None: ...

class Poisson(Requests):
    """Requests that arrive independently of each other."""

    count: int
    """requests; integer, 1 to 10000000"""
    rate: float
    """requests a second, on average; number, 0.001 to 1e+09"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """of requests whose lengths are taken, in place of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """of the file; auto: as its head or first object says; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """of texts of a file without numbers of tokens: characters (Unicode) of a token in the mean; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model takes: an error, left out, or cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: PoissonPrefix | None
    samples: Any | None
    """of models that are no language models; integer or range; default: 1"""
    def __init__(
        self,
        *,
        count: int,
        rate: float,
        prompt: Any | None = ...,
        generate: Any | None = ...,
        file: str | PathLike[str] | None = ...,
        format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None = ...,
        characters_per_token: float | None = ...,
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
        prefix: PoissonPrefix | None = ...,
        samples: Any | None = ...,
    ) -> None: ...

class Trace(Requests):
    """Requests of a file, as services and benchmarks write them."""

    file: str | PathLike[str]
    """of requests with their times, as services and benchmarks write them; file"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """of the file; auto: as its head or first object says; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """of texts of a file without numbers of tokens: characters (Unicode) of a token in the mean; number, 0.1 to 100; default: none"""
    count: int | None
    """requests, the first ones of the file; integer, 1 to 1000000000; default: all"""
    speed: float | None
    """times of the file are divided by it: 2 gives twice the rate; number, 1e-06 to 1e+06; default: 1"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model takes: an error, left out, or cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    def __init__(
        self,
        *,
        file: str | PathLike[str],
        format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None = ...,
        characters_per_token: float | None = ...,
        count: int | None = ...,
        speed: float | None = ...,
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
    ) -> None: ...
