// Requests from files as services and benchmarks write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/serving/batcher.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/serving/trace_time.hpp"
#include "traces.hpp"

namespace tessera::serving::trace_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(Traces, OfAzureCountFromTheFirst) {
  const auto trace = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
      "2023-11-16 18:15:50.9951690,396,109\n");
  ASSERT_EQ(trace->count(), 2U);
  EXPECT_EQ(ps(*trace, 0), 0);
  EXPECT_EQ(ps(*trace, 1), 4'314'579'000'000);
  EXPECT_EQ(trace->request(1).prompt, 396U);
  EXPECT_EQ(trace->request(1).generate, 109U);
}

TEST_F(Traces, OfAzureMayHaveZonesAndRunOverMidnight) {
  const auto trace = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-05-10 23:59:59.500000+00:00,10,1\r\n"
      "2024-05-11T02:00:00.25+02:00,11,2\r\n2024-05-11 00:00:00Z,12,0\r\n");
  ASSERT_EQ(trace->count(), 2U);
  EXPECT_EQ(ps(*trace, 1), 750'000'000'000);
  EXPECT_THAT(trace->notes(), ElementsAre(HasSubstr("1 requests without a prompt or an answer")));
}

TEST_F(Traces, OfOurOwnMaySayClasses) {
  const std::vector<std::string> names{"urgent", "batch"};
  const RequestNeeds needs{true, false, 7, names};
  const std::string head = "at [s],prompt,generate,class\n";
  const auto trace = read(head + "2,10,1,urgent\n1,10,1,batch\n3,10,1,\n", "", needs);
  EXPECT_EQ(trace->request(0).of_class, 2U);
  EXPECT_EQ(trace->request(1).of_class, 1U);
  EXPECT_EQ(trace->request(2).of_class, 0U);
  EXPECT_EQ(trace->class_of(1), 1U);
  EXPECT_EQ(complaint(head + "2,10,1,slow\n", "", needs),
            "2:8: file: class: 'slow' is none of the tenant's classes");
}

TEST_F(Traces, OfBurstGptAreKnownByTheirColumns) {
  const auto trace = read(
      "Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,1,ChatGPT,472,18,490,\"Conversation, log\"\n7.5,2,GPT-4,417.0,276,693,API log\n"
      "8,3,GPT-4,417,0,417,API log\n");
  ASSERT_EQ(trace->count(), 2U);
  EXPECT_EQ(ps(*trace, 1), 2'500'000'000'000);
  EXPECT_EQ(trace->request(1).prompt, 417U);
}

// The second file of the publisher goes on from day 61 to day 121, beyond picoseconds in 64 bits.
TEST_F(Traces, OfBurstGptMayBeginAnywhere) {
  const std::string head =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\r\n";
  const std::string more = ",GPT-4,417,276,693,API log\r\n";
  const auto trace = read(head + "5270400.5" + more + "10454399" + more + "5270399" + more);
  ASSERT_EQ(trace->count(), 3U);
  EXPECT_EQ(ps(*trace, 1), 1'500'000'000'000);
  EXPECT_EQ(ps(*trace, 2), 5'184'000'000'000'000'000);
  const auto cut =
      read(head + "5" + more + "9199000" + more + "9200000" + more + "10454399" + more);
  EXPECT_EQ(cut->count(), 2U);
  EXPECT_THAT(cut->notes(), ElementsAre(HasSubstr("2 requests about 100 days or more after")));
  EXPECT_EQ(complaint(head + "5270400" + more + "5" + more),
            "3:1: file: more than 11 days before the first request");
}

TEST_F(Traces, OfVllmAreRequestsOfALog) {
  const auto trace = read(
      "request,arrival_s,input_tokens,output_tokens,queued_s,scheduled_s,first_token_s,"
      "last_token_s\nb-0,0.000000,2358,531,0.1,0.2,0.3,15.7\nb-1,0.285059,1034,769,0.2,0.2,0.3,"
      "23\n");
  EXPECT_EQ(ps(*trace, 1), 285'059'000'000);
  EXPECT_EQ(trace->largest().prompt, 2358U);
  EXPECT_EQ(trace->largest().generate, 531U);
}

TEST_F(Traces, OfMooncakeHaveBlocksInCommon) {
  const auto trace =
      read(R"({"timestamp": 0, "input_length": 1100, "output_length": 20, "hash_ids": [0, 1, 2]})"
           "\n"
           R"({"timestamp": 27.5, "input_length": 1024, "output_length": 3, "hash_ids": [0, 9]})"
           "\n");
  EXPECT_EQ(ps(*trace, 1), 27'500'000'000);
  EXPECT_EQ(trace->piece_tokens(), 512U);
  EXPECT_THAT(trace->pieces(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(trace->pieces(1), ElementsAre(1, 10));
  const auto none =
      read(R"({"timestamp": 0, "input_length": 1100, "output_length": 20, "hash_ids": null})"
           "\n");
  EXPECT_EQ(none->request(0).prompt, 1100U);
  EXPECT_TRUE(none->pieces(0).empty());
}

TEST_F(Traces, WithoutTimesGiveLengthsToOtherArrivals) {
  const std::string list =
      R"([{"id": "a", "conversations": [{"from": "human", "value": "\"é\" \u00e9", "tokens": 12},
          {"from": "gpt", "tokens": 40}, {"from": "human", "tokens": 9}, {"from": "gpt", "tokens": 5}]},
          {"prompt_tokens": 7, "completion_tokens": 3, "more": [{}, [], null, true, -1.5e3]}])";
  EXPECT_THAT(complaint(list), HasSubstr("the file has no times"));
  const auto lengths = read(list, ", count: 4, rate: 10", language, "poisson");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (std::uint64_t number = 0; number < 4; ++number) {
    found.emplace_back(lengths->request(number).prompt, lengths->request(number).generate);
  }
  EXPECT_THAT(found, ElementsAre(std::pair(12U, 40U), std::pair(61U, 5U), std::pair(7U, 3U),
                                 std::pair(12U, 40U)));
  EXPECT_EQ(lengths->largest().prompt, 61U);
}

// Classes, adapters and beginnings in common had been dropped without a word.
TEST_F(Traces, GiveOtherArrivalsAllThatTheySay) {
  const std::vector<std::string> names{"urgent", "batch"};
  const RequestNeeds needs{true, false, 7, names, 5};
  const std::string list =
      "at [s],prompt,generate,class,adapter,prefix,prefix_tokens\n1,10,1,batch,3,a,4\n2,20,2,,,,\n";
  for (const auto& [arrivals, keys] :
       {std::pair("poisson", ", count: 3, rate: 10"), std::pair("fixed", ", count: 3"),
        std::pair("closed", ", count: 3")}) {
    const auto made = read(list, keys, needs, arrivals);
    for (const std::uint64_t again : {0U, 2U}) {
      EXPECT_EQ(made->request(again).of_class, 2U) << arrivals;
      EXPECT_EQ(made->class_of(again), 2U) << arrivals;
      EXPECT_EQ(made->request(again).adapter, 3U) << arrivals;
      EXPECT_EQ(made->request(again).prefix, 1U) << arrivals;
      EXPECT_EQ(made->request(again).prefix_tokens, 4U) << arrivals;
    }
    EXPECT_EQ(made->request(1).of_class, 0U) << arrivals;
    EXPECT_EQ(made->request(1).adapter, 0U) << arrivals;
    EXPECT_EQ(made->request(1).prefix, 0U) << arrivals;
    EXPECT_THAT(made->notes(), ElementsAre(HasSubstr("requests beyond the 2 of the file")));
  }
}

TEST_F(Traces, GiveOtherArrivalsTheirBlocks) {
  const std::string list =
      R"({"timestamp": 0, "input_length": 1100, "output_length": 20, "hash_ids": [0, 1, 2]})"
      "\n"
      R"({"timestamp": 27.5, "input_length": 1024, "output_length": 3, "hash_ids": [0, 9]})"
      "\n";
  for (const auto& [arrivals, keys] :
       {std::pair("poisson", ", count: 3, rate: 10"), std::pair("fixed", ", count: 3"),
        std::pair("closed", ", count: 3")}) {
    const auto made = read(list, keys, language, arrivals);
    EXPECT_EQ(made->piece_tokens(), 512U) << arrivals;
    EXPECT_THAT(made->pieces(1), ElementsAre(1, 10)) << arrivals;
    EXPECT_THAT(made->pieces(2), ElementsAre(1, 2, 3)) << arrivals;
  }
  const auto behind = read(list, ", count: 3, rate: 10, prefix: {tokens: 8}", language, "poisson");
  EXPECT_EQ(behind->piece_tokens(), 0U);
  EXPECT_TRUE(behind->pieces(0).empty());
  EXPECT_EQ(behind->request(0).prompt, 1108U);
  EXPECT_THAT(behind->notes(), ElementsAre(HasSubstr("are not used")));
}

TEST_F(Traces, OfOurOwnRoundTimes) {
  const auto trace = read(
      "# ours\nat [s],prompt,generate,prefix,prefix_tokens\n0.00000000000051,5,1,a,3\n"
      "1e-3,6,2,,\n0.0005,7,3,a,3\n");
  EXPECT_EQ(ps(*trace, 0), 1);
  EXPECT_EQ(ps(*trace, 1), 500'000'000);
  EXPECT_EQ(ps(*trace, 2), 1'000'000'000);
  EXPECT_EQ(trace->request(1).prefix, trace->request(0).prefix);
  EXPECT_EQ(trace->request(2).prefix, 0U);
  EXPECT_THAT(trace->notes(), ElementsAre(HasSubstr("sorted by time")));
  const auto samples = read("at,samples\n1 ms,4\n2.5 us,2\n", "", {false, false, 1});
  EXPECT_EQ(ps(*samples, 0), 2'500'000);
  EXPECT_THAT(samples->samples(), ElementsAre(2, 4));
}

TEST_F(Traces, MayBeCutAndSpedUp) {
  const std::string log = "arrival_s,input_tokens,output_tokens\n0,1,1\n4,1,1\n8,1,1\n";
  const auto trace = read(log, ", count: 2, speed: 4");
  ASSERT_EQ(trace->count(), 2U);
  EXPECT_EQ(ps(*trace, 1), 1'000'000'000'000);
}

TEST_F(Traces, TakeSixteenBytesARequest) {
  std::string log = "arrival_s,input_tokens,output_tokens\n";
  for (int number = 0; number < 50'000; ++number) {
    log += std::to_string(number) + ".25,100,200\n";
  }
  const auto trace = read(log);
  EXPECT_EQ(trace->resident_bytes(), 16U * 50'000);
}

TEST_F(Traces, ThatAreBrokenSayWhere) {
  const std::string vllm = "arrival_s,input_tokens,output_tokens\n";
  EXPECT_EQ(complaint(""), "1:1: file: the file is empty");
  EXPECT_EQ(complaint(vllm), "2:1: file: there is no request in the file");
  EXPECT_EQ(complaint(vllm + "0,5,0\n1,0,7\n"),
            "2:3: file: no request in the file has a prompt and an answer");
  EXPECT_EQ(complaint(vllm + "0,1,1\n0,1\n"), "3:1: file: expected 3 fields as in the head, not 2");
  EXPECT_EQ(complaint(vllm + "0,1,1\n0,12x,1\n"),
            "3:3: file: input_tokens: '12x' is no whole number");
  EXPECT_EQ(complaint(vllm + "0,-1,1\n"), "2:3: file: input_tokens: '-1' is no whole number");
  EXPECT_EQ(complaint(vllm + "0,1,1.5\n"), "2:5: file: output_tokens: '1.5' is no whole number");
  EXPECT_EQ(complaint(vllm + "0,600000,1\n"),
            "2:3: file: input_tokens: '600000' is more than 524287");
  EXPECT_EQ(complaint(vllm + "soon,1,1\n"),
            "2:1: file: a time must be a number below 9.2e6 s, not 'soon'");
  EXPECT_EQ(complaint(vllm + "-1,1,1\n"), "2:1: file: a time must not be negative");
  EXPECT_EQ(complaint(vllm + "1e7,1,1\n"),
            "2:1: file: a time must be a number below 9.2e6 s, not '1e7'");
  EXPECT_EQ(complaint(vllm + "\"0,1,1\n"), "2:1: file: a quote that nothing ends");
  EXPECT_EQ(complaint(vllm + "\"0\"1,1,1\n"), "2:4: file: expected a comma behind a quote");
  EXPECT_EQ(complaint(vllm + std::string("0,1,1\n0,\0,1\n", 12)),
            "3:3: file: a byte that is no text");
  EXPECT_THAT(complaint("a,b\n1,2\n"), HasSubstr("1:1: file: the columns are of no known format"));
  EXPECT_EQ(complaint("arrival_s,input_tokens\n0,1\n", ", format: vllm"),
            "1:1: file: no column 'output_tokens'");
  EXPECT_THAT(complaint(vllm + "0,1,1\n", ", format: mooncake"),
              HasSubstr("has an object a line, or a list of them"));
  EXPECT_EQ(complaint("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-30 00:00:00,1,1\n"),
            "2:1: file: expected a time such as 2023-11-16 18:15:46.680590, not "
            "'2023-02-30 00:00:00'");
  EXPECT_EQ(complaint("at,prompt,generate\n5,1,1\n"),
            "2:1: file: a time needs its unit, e.g. '12 ms', or the column 'at [s]'");
  EXPECT_EQ(complaint("at [s],prompt,generate\n0,0,1\n"), "2:3: file: prompt: must be at least 1");
  EXPECT_EQ(complaint("at [s],prompt,generate,color\n0,0,1,red\n"),
            "1:24: file: unknown column 'color'");
  EXPECT_EQ(complaint("at [s],prompt,generate,prefix,prefix_tokens\n0,2,1,a,3\n"),
            "2:9: file: prefix_tokens: more than the prompt has");
  EXPECT_THAT(complaint(vllm + "0,1,1\n", "", {false, false, 1}),
              HasSubstr("a model that is no language model"));
}

TEST_F(Traces, OfObjectsThatAreBrokenSayWhere) {
  const std::string good =
      R"({"timestamp": 0, "input_length": 8, "output_length": 2, "hash_ids": [4]})"
      "\n";
  EXPECT_EQ(complaint(good + R"({"timestamp": 0, "input_length": 8)"),
            "2:35: file: the file ends inside a list or an object");
  EXPECT_EQ(complaint(good + R"({"timestamp": 0, "input_length": 8})"),
            "2:1: file: a request without 'output_length'");
  EXPECT_EQ(complaint(good + R"({"timestamp": 0 "input_length": 8})"),
            "2:17: file: expected ',' or '}'");
  EXPECT_EQ(complaint(good + R"({"timestamp" 0})"),
            "2:14: file: expected ':' behind the name of a member");
  EXPECT_EQ(complaint(good + R"({timestamp: 0})"),
            "2:2: file: expected the name of a member in quotes");
  EXPECT_EQ(complaint(good + R"({"timestamp": nil})"), "2:16: file: expected 'null'");
  EXPECT_EQ(complaint(good + R"({"a": 1,})"), "2:9: file: nothing stands behind the comma");
  EXPECT_EQ(complaint(good + R"({"a": "b)"), "2:7: file: a text without a quote at its end");
  EXPECT_EQ(
      complaint(good +
                R"({"timestamp": 1, "input_length": 600, "output_length": 2, "hash_ids": [1]})"),
      "2:1: file: a prompt of 600 tokens has 2 blocks of 512, not 1 (hash_ids)");
  EXPECT_EQ(complaint("[" + good + "] 5"), "2:3: file: something stands behind the list");
  EXPECT_EQ(complaint(R"([{"conversations": [{"from": "human"}]}])"),
            "1:21: file: a turn without its text ('value') or its number of tokens ('tokens')");
  EXPECT_EQ(complaint(R"([{"prompt": "hello"}])"),
            "1:2: file: a request without a number of tokens of its prompt ('input_tokens', "
            "'prompt_tokens')");
  std::string deep = R"({"a": )";
  for (int level = 0; level < 100; ++level) {
    deep += "[";
  }
  EXPECT_THAT(complaint(deep), HasSubstr("more than 64 levels"));
  EXPECT_THAT(complaint(good, ", format: azure"), HasSubstr("is a table with a head"));
}

TEST_F(Traces, WithAColumnTwiceSayWhere) {
  EXPECT_EQ(complaint("TIMESTAMP,ContextTokens,GeneratedTokens,ContextTokens\n"
                      "2023-11-16 18:15:46.68,100,4,4000\n"),
            "1:41: file: a column 'ContextTokens' is there already");
  EXPECT_EQ(complaint("at [s],prompt,generate, prompt\n0,1,1,2\n"),
            "1:25: file: a column 'prompt' is there already");
  EXPECT_EQ(complaint("at,prompt,generate,at [s]\n0 s,1,1,2\n"),
            "1:20: file: 'at' and 'at [s]' are both times of arrival; one is needed");
  // What nobody reads may be there as often as it likes.
  EXPECT_EQ(read("x,arrival_s,x,input_tokens,output_tokens\n7,0,8,3,4\n")->count(), 1U);
}

TEST_F(Traces, WithAKeyTwiceSayWhere) {
  EXPECT_EQ(complaint(R"({"timestamp": 0, "input_length": 600, "input_length": 700})"),
            "1:55: file: 'input_length' is there a second time");
  EXPECT_EQ(complaint(R"({"timestamp": 0, "timestamp": 0})"),
            "1:31: file: 'timestamp' is there a second time");
  EXPECT_EQ(complaint(R"({"hash_ids": [1], "hash_ids": [1]})"),
            "1:31: file: 'hash_ids' is there a second time");
  EXPECT_EQ(complaint(R"({"input_lens": [1], "output_lens": [1], "input_lens": [1]})"),
            "1:55: file: 'input_lens' is there a second time");
  EXPECT_EQ(complaint(R"([{"conversations": [{"from": "human", "tokens": 1, "tokens": 2}]}])"),
            "1:62: file: 'tokens' is there a second time");
  EXPECT_EQ(complaint(R"([{"conversations": [], "messages": []}])"),
            "1:36: file: a request with 'conversations' and 'messages'");
  EXPECT_EQ(complaint(R"([{"input_tokens": 5, "prompt_tokens": 6, "output_tokens": 1}])"),
            "1:39: file: prompt_tokens is 6, and input_tokens is 5");
  const std::string alike =
      R"([{"input_tokens": 5, "prompt_tokens": 5, "output_tokens": 1, "id": 1, "id": 2},
          {"conversations": null, "messages": [{"from": "human", "tokens": 8},
                                               {"from": "gpt", "tokens": 9}]}])";
  const auto read_alike = read(alike, ", count: 2, rate: 10", language, "poisson");
  EXPECT_EQ(read_alike->request(0).prompt, 5U);
  EXPECT_EQ(read_alike->request(1).prompt, 8U);
}

TEST_F(Traces, WithTextsForNumbersSaySo) {
  EXPECT_EQ(complaint(R"({"timestamp": 0, "input_length": "600", "output_length": 5})"),
            "1:34: file: input_length: a text; it must be a number");
  EXPECT_EQ(complaint(R"({"timestamp": 0, "input_length": 600, "output_length": [5]})"),
            "1:56: file: output_length: a list; it must be a number");
  EXPECT_EQ(complaint(R"([{"prompt_tokens": null, "completion_tokens": 5}])"),
            "1:20: file: prompt_tokens: null; it must be a number");
  EXPECT_EQ(
      complaint(R"({"timestamp": 0, "input_length": 600, "input_len": "7", "output_length": 5})"),
      "1:52: file: input_len: a text; it must be a number");
  const auto named = read(R"([{"timestamp": "today", "prompt_tokens": 7, "completion_tokens": 5}])",
                          ", count: 1, rate: 10", language, "poisson");
  EXPECT_EQ(named->request(0).prompt, 7U);
}

TEST_F(Traces, OfOurOwnWithColumnsThatNothingTakesSaySo) {
  EXPECT_EQ(complaint("at [s],prompt,generate,prefix,prefix_tokens\n0,8,2,,4\n"),
            "2:8: file: prefix_tokens: no prefix on this line");
  EXPECT_THAT(read("at [s],prompt,generate,samples\n0,8,2,x\n")->notes(),
              ElementsAre(HasSubstr("the column 'samples' has no effect with a model that is a "
                                    "language model")));
  EXPECT_THAT(read("at [s],samples,prompt\n0,2,8\n", "", {false, false, 0})->notes(),
              ElementsAre(HasSubstr(
                  "the column 'prompt' has no effect with a model that is not a language model")));
}

TEST_F(Traces, WithBlocksBehindOtherOnesSaySo) {
  const auto line = [](const std::string& blocks) {
    return R"({"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [)" + blocks +
           "]}\n";
  };
  EXPECT_THAT(read(line("1, 2") + line("1, 3") + line("1, 2"))->notes(), IsEmpty());
  EXPECT_THAT(read(line("1, 2") + line("3, 2"))->notes(),
              ElementsAre(HasSubstr("blocks follow a different block than before 1 times")));
  EXPECT_THAT(read(line("7, 7"))->notes(), ElementsAre(HasSubstr("(hash_ids)")));
}

TEST(TraceTimes, AreRoundedToPicoseconds) {
  EXPECT_EQ(ps_from("0.1234567890125", 1), 123'456'789'013);
  EXPECT_EQ(ps_from("604800.000000000001", 1), 604'800'000'000'000'001);
  EXPECT_EQ(ps_from("2.5", 1000), 2'500'000'000);
  EXPECT_EQ(ps_from("1e-12", 1), 1);
  EXPECT_EQ(ps_from("-3", 1), -3'000'000'000'000);
  EXPECT_EQ(ps_from("1.", 1), 1'000'000'000'000);
  for (const char* const bad : {"", "-", ".5", "1.x", "1e", "nan", "inf", "1e30", "99999999999"}) {
    EXPECT_FALSE(ps_from(bad, 1)) << bad;
  }
}

TEST(TraceTimes, AreTakenWithTheirUnits) {
  EXPECT_EQ(ps_with_unit("0.30000000000000004 s"), 300'000'000'000);
  EXPECT_EQ(ps_with_unit("1.5ms"), 1'500'000'000);
  EXPECT_EQ(ps_with_unit("2 us"), 2'000'000);
  EXPECT_EQ(ps_with_unit("0.6 ps"), 1);
  for (const char* const bad : {"", "1", "s", "1 h", "1 s s", "ms 1"}) {
    EXPECT_FALSE(ps_with_unit(bad)) << bad;
  }
}

// Of a model that takes so many tokens.
RequestNeeds up_to(std::uint32_t longest) {
  RequestNeeds needs = language;
  needs.longest = longest;
  return needs;
}

TEST_F(Traces, LongerThanTheModelTakesSayWhere) {
  const std::string wrong =
      "file: a request of 101 tokens with those it generates; the model takes 100 (sequence). "
      "too_long: skip leaves such requests out, clip cuts them";
  EXPECT_EQ(complaint("arrival_s,input_tokens,output_tokens\n0,90,10\n1,90,11\n", "", up_to(100)),
            "3:3: " + wrong);
  EXPECT_EQ(complaint("at,prompt,generate\n0 s,90,11\n", "", up_to(100)), "2:5: " + wrong);
  EXPECT_EQ(
      complaint(R"({"timestamp": 0, "input_length": 90, "output_length": 11})", "", up_to(100)),
      "1:34: " + wrong);
  EXPECT_EQ(complaint(R"([{"input_tokens": 90, "output_tokens": 11}])", ", count: 1", up_to(100)),
            "1:19: " + wrong);
}

TEST_F(Traces, LongerThanTheModelTakesMayBeLeftOutOrCut) {
  const std::string log =
      "arrival_s,input_tokens,output_tokens\n0,90,10\n1,90,40\n2,300,2\n3,1,1\n";
  const auto left = read(log, ", too_long: skip", up_to(100));
  ASSERT_EQ(left->count(), 2U);
  EXPECT_EQ(left->request(1).prompt, 1U);
  EXPECT_THAT(
      left->notes(),
      ElementsAre(HasSubstr(
          "2 requests of more than the 100 tokens that the model takes (sequence) are left out")));
  const auto cut = read(log, ", too_long: clip", up_to(100));
  ASSERT_EQ(cut->count(), 4U);
  EXPECT_EQ(cut->request(1).prompt, 90U);
  EXPECT_EQ(cut->request(1).generate, 10U);
  EXPECT_EQ(cut->request(2).prompt, 99U);
  EXPECT_EQ(cut->request(2).generate, 1U);
  EXPECT_THAT(cut->notes(), ElementsAre(HasSubstr("are cut to that many")));
  EXPECT_THAT(read(log, "", up_to(302))->notes(), IsEmpty());
  EXPECT_THAT(
      complaint("arrival_s,input_tokens,output_tokens\n0,90,11\n", ", too_long: skip", up_to(100)),
      HasSubstr("all requests of the file are left out"));
}

TEST_F(Traces, ThatAreCutKeepWholeBlocks) {
  const auto trace =
      read(R"({"timestamp": 0, "input_length": 1500, "output_length": 9, "hash_ids": [3, 4, 5]})",
           ", too_long: clip", up_to(1200));
  EXPECT_EQ(trace->request(0).prompt, 1199U);
  EXPECT_THAT(trace->pieces(0), ElementsAre(4, 5));
}

// The beginning that stands before prompts counts.
TEST_F(Traces, OfLengthsHaveRoomForBeginnings) {
  const std::string log = R"([{"input_tokens": 90, "output_tokens": 11}])";
  const std::string keys = ", count: 3, rate: 10, prefix: {tokens: 20}, too_long: ";
  const auto cut = read(log, keys + "clip", up_to(115), "poisson");
  EXPECT_EQ(cut->request(0).prompt, 110U);
  EXPECT_EQ(cut->request(0).generate, 5U);
  EXPECT_THROW(read(log, keys + "refuse", up_to(115), "poisson"), ConfigError);
  EXPECT_NO_THROW(read(log, keys + "refuse", up_to(121), "poisson"));
}

// A prompt's first blocks are there where another one computed them.
TEST_F(Traces, OfMooncakeComputeBlocksOnce) {
  const auto trace =
      read(R"({"timestamp": 0, "input_length": 1100, "output_length": 1, "hash_ids": [0, 1, 2]})"
           "\n"
           R"({"timestamp": 1, "input_length": 1500, "output_length": 1, "hash_ids": [0, 1, 7]})"
           "\n"
           R"({"timestamp": 2, "input_length": 1024, "output_length": 1, "hash_ids": [0, 1]})"
           "\n");
  struct Silent : BatchListener {
    void on_token(std::uint64_t, std::optional<SimTime>) override {}
    void on_served(const Served&) override {}
  } silent;
  BatchOptions options;
  options.chunk = 2048;
  options.blocks = 200;
  const auto batcher = make_sequence_batcher(options, trace.get());
  std::vector<std::uint64_t> tokens;
  for (std::uint32_t number = 0; number < 3; ++number) {
    batcher->arrive(number, trace->request(number));
    const auto batch = batcher->next(number, SimTime::zero());
    ASSERT_TRUE(batch);
    tokens.push_back(batch->tokens());
    batcher->end(number, SimTime::zero(), silent);
  }
  // Of the last one a block of 16 tokens is computed in any case, since its last token is needed.
  EXPECT_THAT(tokens, ElementsAre(1100, 1500 - 1024, 16));
  EXPECT_EQ(batcher->counts().reused, 1024U + 1024 - 16);
  EXPECT_EQ(batcher->counts().blocks_taken, 64U);
  EXPECT_EQ(batcher->counts().blocks_of_prefixes, 64U);
  EXPECT_EQ(batcher->unfinished(), 0U);
}

}  // namespace
}  // namespace tessera::serving::trace_test
