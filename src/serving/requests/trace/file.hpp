// Files of requests as services and benchmarks write them, by name (`trace_formats()`):
//
//   azure     CSV, "Azure LLM inference trace" 2023 and 2024 (P. Patel et al., "Splitwise",
//   ISCA'24;
//             J. Stojkovic et al., "DynamoLLM", HPCA'25): TIMESTAMP,ContextTokens,GeneratedTokens
//   burstgpt  CSV (Y. Wang et al., "BurstGPT", arXiv:2401.17644): Timestamp [s], Request tokens,
//             Response tokens
//   mooncake  an object a line (R. Qin et al., "Mooncake", FAST'25): timestamp [ms], input_length,
//             output_length, hash_ids of blocks of 512 tokens
//   sharegpt  a list of objects, or an object a line, with numbers of tokens, or conversations
//             whose turns have them or texts; without times
//   vllm      CSV, a log of a server: arrival_s, input_tokens, output_tokens
//   vllm-bench  an object that `vllm bench serve --save-result --save-detailed` leaves behind
//   vllm-log  lines that vLLM's server writes (requests/trace/log_line.hpp)
//   tessera   CSV with the keys of `list`, or `at [s]`
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "requests/table.hpp"
#include "requests/too_long.hpp"

namespace tessera::serving {

std::vector<std::string> trace_formats();

struct TraceOptions {
  std::string format;  // empty: as its head or its first object says
  bool of_language = true;
  std::uint64_t most = 0;                  // requests, in the order of the file
  std::span<const std::string> classes{};  // names that a column `class` may have
  std::uint32_t adapters = 0;              // the largest number that a column `adapter` may have
  LengthLimit limit;
  double characters_per_token = 0;  // of texts whose tokens are not told; 0: they are refused
};

struct Trace {
  std::unique_ptr<RequestTable> requests;
  bool has_times = true;
  std::vector<std::string> notes;  // what was left out
};

// Reads a file from its beginning to its end, once, keeping what RequestTable keeps. Throws
// ConfigError with file, line and column for the first thing that is not what it should be; with
// line 0 where the file cannot be read.
Trace read_trace(const std::string& path, const TraceOptions& options);

}  // namespace tessera::serving
