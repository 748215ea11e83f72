// Requests of what vLLM writes: the log of its server, and results of its benchmark.
#include <gmock/gmock.h>

#include "traces.hpp"

namespace tessera::serving::trace_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using ServerLogs = Traces;
using Benchmarks = Traces;

std::string received(const std::string& time, const std::string& id, const std::string& prompt,
                     const std::string& most, const std::string& ids) {
  return "INFO " + time + " [logger.py:36] Received request " + id + ": prompt: " + prompt +
         ", params: SamplingParams(n=1, stop=['max_tokens=9'], include_stop_str_in_output=False, "
         "max_tokens=" +
         most + ", min_tokens=0), prompt_token_ids: " + ids + ", lora_request: None.\n";
}

const std::string banner = "INFO 12-31 23:59:50 [api_server.py:9] vLLM API server version 0.9.1\n";
const std::string throughput =
    "INFO 10-01 18:43:30 [metrics.py:349] Avg prompt throughput: 1.2 tokens/s, Avg generation "
    "throughput: 0.3 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache "
    "usage: 0.0%\n";

TEST_F(ServerLogs, HaveRequestsWithTheirTimes) {
  const auto trace =
      read(banner + received("12-31 23:59:58", "a", "'a, \\'b\\''", "16", "[1, 22, 333]") +
           "INFO:     127.0.0.1:56528 - \"POST /v1/completions HTTP/1.1\" 200 OK\n" + throughput +
           "Traceback: Received request x\n" + received("01-01 00:00:01", "b", "None", "5", "[7]"));
  ASSERT_EQ(trace->count(), 2U);
  EXPECT_EQ(ps(*trace, 1), 3'000'000'000'000);
  EXPECT_EQ(trace->request(0).prompt, 3U);
  EXPECT_EQ(trace->request(0).generate, 16U);
  EXPECT_EQ(trace->request(1).prompt, 1U);
  EXPECT_THAT(trace->notes(),
              ElementsAre(HasSubstr("answers of 2 requests are not in the log"),
                          HasSubstr("whole seconds: requests of the same second arrive together")));
}

// A terminal's codes around level and time, as vLLM's formatter has them.
TEST_F(ServerLogs, MayHaveColours) {
  const std::string head = "\x1b[32mINFO\x1b[0m \x1b[90m";
  std::string log = banner;
  for (const char* const time : {"10-01 18:43:27", "10-01 18:43:29"}) {
    std::string line = received(time, "a", "None", "5", "[7]");
    line.replace(0, std::string("INFO ").size(), head);
    line.insert(line.find(" [logger"), "\x1b[0m");
    log += line;
  }
  const auto trace = read(log);
  ASSERT_EQ(trace->count(), 2U);
  EXPECT_EQ(ps(*trace, 1), 2'000'000'000'000);
}

// Lines of several processes are nearly in order, also at the turn of the year.
TEST_F(ServerLogs, MayHaveALateLineOfTheYearBefore) {
  const auto trace = read(banner + received("12-31 23:59:58", "a", "None", "5", "[7]") +
                          received("01-01 00:00:01", "b", "None", "5", "[7]") +
                          received("12-31 23:59:59", "c", "None", "5", "[7]") +
                          received("01-01 00:00:02", "d", "None", "5", "[7]"));
  ASSERT_EQ(trace->count(), 4U);
  EXPECT_EQ(ps(*trace, 1), 1'000'000'000'000);
  EXPECT_EQ(ps(*trace, 3), 4'000'000'000'000);
}

// What stops an answer may be any text.
TEST_F(ServerLogs, TakeParametersWhereTheyStand) {
  std::string line = received("10-01 18:43:27", "a", "None", "5", "[7]");
  line.replace(line.find("'max_tokens=9'"), std::string("'max_tokens=9'").size(),
               "'PoolingParams('");
  EXPECT_EQ(read(banner + line)->count(), 1U);
}

TEST_F(ServerLogs, HaveAnswersWhereTheyAreWritten) {
  const std::string at = "INFO 10-01 18:43:30 [logger.py:60] Generated response ";
  const auto trace = read(
      banner + received("10-01 18:43:27.250", "a", "None", "90", "[1]") +
      received("10-01 18:43:27.500", "b-0", "None", "90", "[1]") +
      received("10-01 18:43:28", "c", "None", "None", "[1]") +
      received("10-01 18:43:28", "d", "None", "4", "[1]") + at +
      "c (streaming delta): output: 'x', output_token_ids: [4, 5], finish_reason: None\n" + at +
      "c (streaming delta): output: 'y', output_token_ids: [6], finish_reason: stop\n" + at +
      "c (streaming complete): output: 'xy', output_token_ids: None, finish_reason: done\n" + at +
      "a: output: 'one', output_token_ids: [1, 2, 3, 4, 5, 6, 7], finish_reason: stop\n" + at +
      "b (streaming complete): output: '<streaming_complete: 31 tokens>', output_token_ids: None, "
      "finish_reason: streaming_complete\n"
      "INFO 10-01 18:43:31 async_llm_engine.py:134] Aborted request d.\n"
      "INFO 10-01 18:43:31 async_llm_engine.py:134] Finished request a.\n");
  std::vector<std::uint32_t> answers;
  for (std::uint64_t number = 0; number < 4; ++number) {
    answers.push_back(trace->request(number).generate);
  }
  EXPECT_THAT(answers, ElementsAre(7, 31, 3, 4));
  EXPECT_EQ(ps(*trace, 1), 250'000'000'000);
  EXPECT_THAT(trace->notes(), Contains(HasSubstr("1 requests were aborted")));
}

// The engine says that a request is over before the front end writes what was generated; the answer
// had been as long as `max_tokens`. Requests that are over are not kept for good.
TEST_F(ServerLogs, MayHaveAnswersBehindTheEnd) {
  std::string log = banner + received("10-01 18:43:27", "a", "None", "90", "[1]") +
                    "INFO 10-01 18:43:28 [async_llm_engine.py:179] Finished request a.\n" +
                    "INFO 10-01 18:43:28 [logger.py:66] Generated response a: output: 'x', "
                    "output_token_ids: [4, 5], finish_reason: stop\n" +
                    received("10-01 18:43:28", "b", "None", "90", "[1]") +
                    "INFO 10-01 18:43:29 [async_llm.py:431] Request b aborted.\n"
                    "INFO 10-01 18:43:29 [async_llm.py:431] Request b failed.\n";
  for (int number = 0; number < 1100; ++number) {
    log += received("10-01 18:43:30", "c" + std::to_string(number), "None", "7", "[1]");
    log += "INFO 10-01 18:43:31 [x.py:1] Finished request c" + std::to_string(number) + ".\n";
  }
  const auto trace = read(log);
  ASSERT_EQ(trace->count(), 1102U);
  EXPECT_EQ(trace->request(0).generate, 2U);
  EXPECT_EQ(trace->request(1101).generate, 7U);
  EXPECT_THAT(trace->notes(), Contains(HasSubstr("1 requests were aborted")));
}

// Of 2026 a request's prompt is at level DEBUG, before it; colours are a terminal's.
TEST_F(ServerLogs, MayHavePromptsBeforeRequests) {
  const std::string process = "\x1b[0;36m(APIServer pid=9)\x1b[0;0m ";
  const std::string params =
      ": params: SamplingParams(n=2, max_tokens=8, min_tokens=0), lora_request: None.\n";
  const auto trace =
      read(process +
           "DEBUG 02-13 11:33:33 [logger.py:41] Request a details: prompt: \"h\\u00e9'\\n\", "
           "prompt_token_ids: [5, 6], prompt_embeds shape: None.\n" +
           process + "INFO 02-13 11:33:33 [logger.py:49] Received request a" + params + process +
           "INFO 02-13 11:33:33 [logger.py:49] Received request e: params: PoolingParams(x=1), "
           "prompt_token_ids: [3], lora_request: None.\n");
  ASSERT_EQ(trace->count(), 1U);
  EXPECT_EQ(trace->request(0).prompt, 2U);
  EXPECT_THAT(trace->notes(), Contains(HasSubstr("for several answers (n) get only one")));
  EXPECT_THAT(complaint(process + "INFO 02-13 11:33:33 [logger.py:49] Received request a" + params),
              HasSubstr("1:87: file: a request without its prompt: neither text nor"));
}

TEST_F(ServerLogs, HaveTextsWhereTheyHaveNoTokens) {
  const std::string log =
      banner + received("10-01 18:43:27", "a", "'h\\xe9llo\\n wor\u00eald'", "4", "None");
  EXPECT_EQ(read(log, ", characters_per_token: 2.5")->request(0).prompt, 6U);
  EXPECT_THAT(complaint(log), HasSubstr("2:64: file: a text without its number of tokens"));
}

TEST_F(ServerLogs, MayLackAnswersOfSome) {
  const std::string known = received("10-01 18:43:28", "b", "None", "5", "[7]");
  const std::string unknown = received("10-01 18:43:27", "a", "None", "None", "[7]");
  const auto trace = read(banner + unknown + known);
  ASSERT_EQ(trace->count(), 1U);
  EXPECT_EQ(trace->request(0).generate, 5U);
  EXPECT_THAT(trace->notes(),
              Contains(HasSubstr("1 requests are left out, as the log has neither")));
  EXPECT_THAT(complaint(banner + known + unknown + unknown),
              HasSubstr("3:36: file: a request whose answer is not known: the log has neither "
                        "'max_tokens' nor what was generated (vLLM's --enable-log-outputs); so it "
                        "is with 2 of 3 requests"));
  EXPECT_EQ(read(banner + known + unknown + unknown, ", count: 1")->count(), 1U);
}

// Of a log that does not say when requests are over.
TEST_F(ServerLogs, EndWithTheCount) {
  std::string log = banner;
  for (int number = 0; number < 17'000; ++number) {
    log += received("10-01 18:43:27", std::to_string(number), "None", "5", "[7]");
  }
  const std::string broken = received("10-01 18:43:27", "x", "None", "4", "[1, x]");
  EXPECT_EQ(read(log + broken, ", count: 9")->count(), 9U);
  EXPECT_THAT(complaint(log + broken), HasSubstr("expected numbers of tokens, or ']'"));
}

TEST_F(ServerLogs, MayHaveDatesBeforeLines) {
  const auto trace =
      read("2025-04-06T07:01:42.634841720Z " + received("04-06 00:01:42", "a", "None", "4", "[1]") +
           "2025-04-06T07:01:43.000000000Z " + received("04-06 00:01:42", "b", "None", "4", "[1]"));
  EXPECT_EQ(ps(*trace, 1), 365'158'280'000);
}

TEST_F(ServerLogs, ThatAreBrokenSayWhere) {
  EXPECT_THAT(complaint(banner + throughput),
              HasSubstr("2:1: file: the log has no line 'Received request'"));
  EXPECT_THAT(complaint(banner + received("10-01 18:43:27", "a", "None", "None", "[1]")),
              HasSubstr("2:36: file: a request whose answer is not known"));
  EXPECT_THAT(complaint(banner + received("10-01 18:43:27", "a", "'cut", "4", "[1]")),
              HasSubstr("a request without its parameters (SamplingParams)"));
  EXPECT_THAT(complaint(banner + received("10-01 18:43:27", "a", "None", "4", "[1, x]")),
              HasSubstr("file: expected numbers of tokens, or ']'"));
  EXPECT_THAT(complaint(banner + received("10-01 18:43:27", "a", "None", "4", "[1, 2")),
              HasSubstr("a list of tokens without ']' at its end"));
  EXPECT_THAT(complaint(banner + "INFO 10-01 18:43:27 [logger.py:36] Received request a"),
              HasSubstr("2:54: file: expected a request's name and ':'"));
  EXPECT_THAT(complaint(banner + received("10-01 18:43:27", "a", "None", "600000", "[1]")),
              HasSubstr("max_tokens: 600000 is more than 524287"));
  for (const char* const most : {"4.5", "many", "'4'"}) {
    EXPECT_THAT(complaint(banner + received("10-01 18:43:27", "a", "None", most, "[1]")),
                HasSubstr("max_tokens: expected a whole number, or None"));
  }
  EXPECT_THAT(complaint(received("10-09 18:43:27", "a", "None", "4", "[1]") +
                        received("10-01 18:43:27", "a", "None", "4", "[1]")),
              HasSubstr("2:1: file: more than 100 days behind, or a day before"));
}

const std::string run =
    R"({"date": "20250612-1", "backend": "vllm", "duration": 2.5, "input_lens": [11, 12, 13],
 "output_lens": [4, 0, 6], "ttfts": [0.5, 0, 0.25], "itls": [[0.1, 0.2], [], [0.3]],
 "start_times": [1234567890.25, 1234567890.5, 1234567892],
 "generated_texts": ["a", "", "c"], "errors": ["", "timeout", ""]})";

TEST_F(Benchmarks, HaveLengthsAndTimes) {
  const auto trace = read(run);
  ASSERT_EQ(trace->count(), 2U);
  EXPECT_EQ(ps(*trace, 1), 1'750'000'000'000);
  EXPECT_EQ(trace->request(1).prompt, 13U);
  EXPECT_EQ(trace->request(1).generate, 6U);
  EXPECT_THAT(trace->notes(), ElementsAre(HasSubstr("1 requests without a prompt or an answer")));
}

// Texts of answers stand behind the lists of numbers.
TEST_F(Benchmarks, EndWithTheCount) {
  const std::string broken = run.substr(0, run.find("timeout"));
  EXPECT_EQ(read(broken, ", count: 2")->count(), 2U);
  EXPECT_THAT(complaint(broken, ", count: 3"), HasSubstr("a text without a quote at its end"));
}

TEST_F(Benchmarks, OfEarlierVersionsHaveLengthsAlone) {
  const std::string early = R"({"input_lens": [11, 12], "output_lens": [4, 5]})";
  EXPECT_THAT(complaint(early), HasSubstr("the file has no times"));
  EXPECT_EQ(read(early, ", count: 2, rate: 1", language, "poisson")->request(1).prompt, 12U);
}

// Python writes numbers that are none so.
TEST_F(Benchmarks, MayHaveNumbersThatAreNone) {
  EXPECT_EQ(read(R"({"a": NaN, "b": [Infinity, -Infinity], "input_lens": [11], "output_lens": [4],
                  "start_times": [3]})")
                ->count(),
            1U);
  EXPECT_THAT(complaint(R"({"a": Nan})"), HasSubstr("1:9: file: expected 'NaN'"));
}

TEST_F(Benchmarks, ThatAreBrokenSayWhere) {
  EXPECT_THAT(complaint(R"({"completed": 2, "total_input_tokens": 23})"),
              HasSubstr("1:1: file: a benchmark without 'input_lens' (vLLM writes it with"));
  EXPECT_THAT(complaint(R"({"input_lens": [11, 12]})"),
              HasSubstr("1:1: file: a benchmark without 'output_lens' (vLLM writes it with"));
  EXPECT_EQ(complaint(R"({"input_lens": [11, 12], "output_lens": [4]})"),
            "1:41: file: output_lens has 1 numbers, input_lens 2");
  EXPECT_EQ(complaint(R"({"input_lens": [11, 1.5], "output_lens": [4]})"),
            "1:21: file: input_lens: '1.5' is no whole number");
  EXPECT_EQ(complaint(R"({"input_lens": [1], "output_lens": [4], "start_times": [-3]})"),
            "1:57: file: start_times: '-3' is no time in seconds, without an exponent");
  EXPECT_THAT(complaint(R"({"input_lens": [1], "output_lens": [4], "start_times": [1.5e2]})"),
              HasSubstr("'1.5e2' is no time in seconds, without an exponent"));
  EXPECT_EQ(complaint(R"({"input_lens": [1], "output_lens": [4], "start_times": 3})"),
            "1:56: file: start_times: a number; it must be a list");
  EXPECT_EQ(complaint(R"({"input_lens": "1", "output_lens": [4]})"),
            "1:16: file: input_lens: a text; it must be a list");
  EXPECT_THAT(complaint(run + R"({"input_lens": [1], "output_lens": [4]})"),
              HasSubstr("some runs have 'start_times', and others do not"));
}

}  // namespace
}  // namespace tessera::serving::trace_test
