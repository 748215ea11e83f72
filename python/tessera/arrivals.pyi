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
    """kind of arrivals; its keys are given beside it"""

class Closed(Requests):
    """Clients that each send their next request when the last one has been served."""

    count: int | None
    """number of requests; none for a background tenant; integer, 1 to 10000000"""
    clients: int | None
    """clients, each with one request at a time; integer, 1 to 1048576; default: 1"""
    think: str | None
    """mean time between an answer and the client's next request; time, 0 ps to 1000000 s; default: 0 ps"""
    think_times: Literal["exponential", "fixed"] | None
    """distribution of think times: exponential, or fixed: all the same; name, one of exponential, fixed; default: exponential"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """file of requests whose lengths are used instead of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """format of the file; auto: recognised by its header or first object; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """for texts in a file without token counts: mean number of characters (Unicode) per token; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model accepts: refuse: an error; skip: left out; clip: cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: ClosedPrefix | None
    samples: Any | None
    """samples of a request to a model other than a language model; integer or range; default: 1"""
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
    """Requests that arrive independently of each other, at a rate that varies with the time of day."""

    count: int
    """number of requests; integer, 1 to 10000000"""
    rate: float
    """mean number of requests per second; number, 0.001 to 1e+09"""
    period: str | None
    """length of a day, after which the rate repeats; time, 1 us to 9000000 s; default: 86400 s"""
    swing: float | None
    """amplitude of the rate, as a fraction of its mean: lowest at the beginning, highest half a period later; number, 0 to 1; default: 0.5"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """file of requests whose lengths are used instead of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """format of the file; auto: recognised by its header or first object; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """for texts in a file without token counts: mean number of characters (Unicode) per token; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model accepts: refuse: an error; skip: left out; clip: cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: DiurnalPrefix | None
    samples: Any | None
    """samples of a request to a model other than a language model; integer or range; default: 1"""
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
    """Requests at regular intervals."""

    count: int
    """number of requests; integer, 1 to 10000000"""
    interval: str | None
    """time between two requests; time; default: 0 ps"""
    begin: str | None
    """arrival of the first request; time; default: 0 ps"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """file of requests whose lengths are used instead of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """format of the file; auto: recognised by its header or first object; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """for texts in a file without token counts: mean number of characters (Unicode) per token; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model accepts: refuse: an error; skip: left out; clip: cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: FixedPrefix | None
    samples: Any | None
    """samples of a request to a model other than a language model; integer or range; default: 1"""
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
    """number of requests; integer, 1 to 10000000"""
    rate: float
    """mean number of requests per second; number, 0.001 to 1e+09"""
    variation: float | None
    """standard deviation of the gaps between requests, relative to their mean; 1: as poisson; more: bursts; number, 0.05 to 20; default: 2"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """file of requests whose lengths are used instead of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """format of the file; auto: recognised by its header or first object; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """for texts in a file without token counts: mean number of characters (Unicode) per token; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model accepts: refuse: an error; skip: left out; clip: cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: GammaPrefix | None
    samples: Any | None
    """samples of a request to a model other than a language model; integer or range; default: 1"""
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
    """Requests listed one by one."""

    list: Sequence[ListList] | str | PathLike[str]
    """the requests, or a CSV, YAML or JSON file that lists them; list"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model accepts: refuse: an error; skip: left out; clip: cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    def __init__(
        self,
        *,
        list: Sequence[ListList] | str | PathLike[str],
        too_long: Literal["refuse", "skip", "clip"] | None = ...,
    ) -> None: ...

class Poisson(Requests):
    """Requests that arrive independently of each other."""

    count: int
    """number of requests; integer, 1 to 10000000"""
    rate: float
    """mean number of requests per second; number, 0.001 to 1e+09"""
    prompt: Any | None
    """tokens of a prompt: a number, or [LEAST, MOST]; integer or range"""
    generate: Any | None
    """tokens to generate: a number, or [LEAST, MOST]; integer or range"""
    file: str | PathLike[str] | None
    """file of requests whose lengths are used instead of prompt and generate; file; default: none"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """format of the file; auto: recognised by its header or first object; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """for texts in a file without token counts: mean number of characters (Unicode) per token; number, 0.1 to 100; default: none"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model accepts: refuse: an error; skip: left out; clip: cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
    prefix: PoissonPrefix | None
    samples: Any | None
    """samples of a request to a model other than a language model; integer or range; default: 1"""
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
    """Requests from a file, as services and benchmarks write it."""

    file: str | PathLike[str]
    """file of requests with their times, as services and benchmarks write it; file"""
    format: Literal["auto", "azure", "burstgpt", "mooncake", "sharegpt", "vllm", "vllm-bench", "vllm-log", "tessera"] | None
    """format of the file; auto: recognised by its header or first object; name, one of auto, azure, burstgpt, mooncake, sharegpt, vllm, vllm-bench, vllm-log, tessera; default: auto"""
    characters_per_token: float | None
    """for texts in a file without token counts: mean number of characters (Unicode) per token; number, 0.1 to 100; default: none"""
    count: int | None
    """number of requests, the first ones in the file; integer, 1 to 1000000000; default: all"""
    speed: float | None
    """factor by which times in the file are divided: 2 gives twice the rate; number, 1e-06 to 1e+06; default: 1"""
    too_long: Literal["refuse", "skip", "clip"] | None
    """requests of a file or list with more tokens than the model accepts: refuse: an error; skip: left out; clip: cut, the answer first; name, one of refuse, skip, clip; default: refuse"""
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
