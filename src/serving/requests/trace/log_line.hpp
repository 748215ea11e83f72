// A line of the log that vLLM's server writes, as far as it says something of requests:
//
//   [DATE ][(PROCESS pid=N) ]INFO 10-01 18:43:27 [logger.py:36] MESSAGE
//
// Messages, by age of vLLM:
//   Received request ID: prompt: '…', params: SamplingParams(…), prompt_token_ids: […], …
//     2024 and 2025 (0.3: `sampling_params: `); later ones have `params: …` alone, and at level
//     DEBUG before them
//   Request ID details: prompt: '…', prompt_token_ids: […], …
//   Generated response ID[ (streaming …)]: output: '…', output_token_ids: […], …
//     from 0.10.1 on, with --enable-log-outputs
//   Finished request ID. and Aborted request ID.
//     up to the engine V1, which writes `Request ID aborted.` and nothing of those that it finished
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "requests/text_reader.hpp"
#include "tessera/serving/trace_time.hpp"

namespace tessera::serving {

// Of a prompt or an answer, what the line has of it.
struct LoggedText {
  std::optional<std::uint64_t> tokens;      // ids that are written out
  std::optional<std::uint64_t> characters;  // of the text, in code points
  int column = 0;
};

struct LogLine {
  enum class Kind { other, received, details, generated, finished, aborted, added, throughput };

  Kind kind = Kind::other;
  bool has_stamp = false;  // level and time
  // A date before the line, else that of vLLM, which has no year.
  DateTime time;
  bool has_year = false;
  int month = 0;  // of dates without a year, with the day
  int day = 0;
  std::string_view id;
  LoggedText text;                           // the prompt of a request, or the answer of a response
  bool is_part = false;                      // of an answer that is streamed
  std::optional<std::uint64_t> most_tokens;  // max_tokens; none: `None`, or not on the line
  std::uint64_t answers = 1;                 // n
  bool is_pooled = false;                    // an embedding: nothing is generated
  int column = 1;                            // of the message
};

// `number` of the line in its file, for complaints; views into `line`. Throws ConfigError for a
// message of a request that is cut or broken.
LogLine parse_log_line(const TextReader& text, std::string_view line, int number);

}  // namespace tessera::serving
