// Requests of conversations, with texts and with numbers of tokens.
#include <gmock/gmock.h>

#include "traces.hpp"

namespace tessera::serving::trace_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Conversations = Traces;

const std::string poisson = ", count: 3, rate: 10";

// As the list of ShareGPT is published: texts alone.
const std::string texts = R"([
  {"id": "a_0", "conversations": [
    {"from": "human", "value": "Wie heißt \"Käse\" auf Französisch?"},
    {"from": "gpt", "value": "Fromage \ud83e\uddc0\n"},
    {"from": "human", "value": "Danke"},
    {"from": "gpt", "value": "Gern"}]},
  {"id": "b_0", "conversations": []},
  {"id": "c_0", "conversations": [{"from": "gpt", "value": "left over"}, {"from": "human", "value": "12345"},
                                  {"from": "gpt", "value": ""}, {"from": "human", "value": "6"},
                                  {"from": "gpt", "value": "789"}]}])";

TEST_F(Conversations, OfTextsHaveAsManyTokensAsTheUserSays) {
  const auto trace = read(texts, poisson + ", characters_per_token: 4", language, "poisson");
  // 33 characters of the question, 10 of the answer (a pair of escapes is one), 5 and 4.
  EXPECT_EQ(trace->request(0).prompt, 9U);
  EXPECT_EQ(trace->request(0).generate, 3U);
  EXPECT_EQ(trace->request(1).prompt, 9U + 3 + 2);
  EXPECT_EQ(trace->request(1).generate, 1U);
  EXPECT_EQ(trace->request(2).prompt, 3U + 2 + 0 + 1);
  EXPECT_EQ(trace->request(2).generate, 1U);
  EXPECT_THAT(trace->notes(), Contains(HasSubstr("tokens of 9 texts are their characters divided "
                                                 "by 4 (characters_per_token)")));
}

TEST_F(Conversations, OfTextsAreRefusedWhereNobodySaysWhatATokenIs) {
  EXPECT_EQ(complaint(texts),
            "3:32: file: a text without its number of tokens, which depends on the model's "
            "tokenizer: 'characters_per_token' says how many characters a token has in the mean");
  // A file that is cut off is not mended by that key.
  EXPECT_EQ(complaint(R"([{"conversations": [{"from": "human", "value": "a"})"),
            "1:52: file: the file ends inside a list or an object");
  EXPECT_THAT(complaint(R"([{"conversations": [{"from": "human", "value": "\u12x4"}]}])",
                        ", characters_per_token: 4"),
              HasSubstr("1:53: file: expected four hexadecimal digits"));
  EXPECT_THAT(complaint(R"([{"conversations": [{"from": "human", "value": null}]}])",
                        ", characters_per_token: 4"),
              HasSubstr("1:21: file: a turn without its text ('value')"));
}

// What is neither a number nor a text was passed over, and the turn counted by its text, or left
// out.
TEST_F(Conversations, WithValuesOfAnotherKindSayWhere) {
  const auto of = [this](const std::string& turn) {
    return complaint(R"([{"conversations": [{"from": "human", "tokens": 3}, {)" + turn + "}]}]",
                     ", characters_per_token: 4");
  };
  EXPECT_EQ(of(R"("from": "gpt", "value": "abc", "tokens": "12")"),
            "1:95: file: tokens: a text; it must be a number");
  EXPECT_EQ(of(R"("from": "gpt", "num_tokens": [12])"),
            "1:83: file: num_tokens: a list; it must be a number");
  EXPECT_EQ(of(R"("from": "gpt", "value": 5)"), "1:78: file: value: a number; it must be a text");
  EXPECT_EQ(of(R"("role": "assistant", "content": [{"type": "text"}])"),
            "1:86: file: content: a list; it must be a text");
  EXPECT_EQ(of(R"("from": true, "tokens": 5)"),
            "1:62: file: from: a truth value; it must be a text");
  EXPECT_EQ(of(R"("from": "gpt", "tokens": 5, "token_count": 6)"),
            "1:97: file: token_count is 6, and tokens is 5");
  EXPECT_EQ(of(R"("from": "gpt", "value": "a", "content": "b")"),
            "1:94: file: content: the turn has a text already");
  EXPECT_EQ(of(R"("from": "gpt", "role": "user", "tokens": 5)"),
            "1:77: file: role is 'user', but the turn is of 'gpt' already");
  const auto made = read(R"([{"conversations": [{"from": "human", "tokens": 3}, {"from": "gpt",
      "role": "assistant", "tokens": 5, "value": [], "token_count": null}]}])",
                         ", count: 1, rate: 10", language, "poisson");
  EXPECT_EQ(made->request(0).generate, 5U);
}

// As published lists have them here and there; the others are read.
TEST_F(Conversations, MayHaveTurnsWithoutTextsAndNone) {
  const std::string list = R"([
  {"id": "a", "conversations": [{"from": "system", "value": "12345678"}, {"from": "human", "value": "1234"},
    {"from": "gpt", "value": null}, {"from": "human"}, {"from": "gpt", "value": "12345", "markdown": null}]},
  {"id": "b", "conversations": null},
  {"id": "c", "conversations": [{"from": "gpt", "value": "1234"}]}])";
  std::string marked = "\xEF\xBB\xBF";
  for (const char letter : list) {
    marked += letter == '\n' ? "\r\n" : std::string(1, letter);
  }
  for (const std::string& content : {list, marked}) {
    const auto trace = read(content, poisson + ", characters_per_token: 4", language, "poisson");
    EXPECT_EQ(trace->request(0).prompt, 3U);
    EXPECT_EQ(trace->request(0).generate, 2U);
    EXPECT_EQ(trace->request(1).prompt, 3U);  // there is no other
    EXPECT_THAT(trace->notes(),
                Contains(HasSubstr("2 turns without a text and a number of tokens")));
  }
}

TEST_F(Conversations, EndWhereNoPromptIsLonger) {
  const auto trace =
      read(R"([{"conversations": [{"from": "human", "tokens": 5}, {"from": "gpt", "tokens": 500000},
              {"from": "human", "tokens": 60000}, {"from": "gpt", "tokens": 5}]},
              {"conversations": [{"from": "human", "tokens": 6}, {"from": "gpt", "tokens": 1}]}])",
           poisson, {true, false, 7}, "poisson");
  EXPECT_EQ(trace->request(0).prompt, 5U);
  EXPECT_EQ(trace->request(1).prompt, 6U);
  EXPECT_THAT(trace->notes(), Contains(HasSubstr("1 conversations have more tokens than")));
}

// What stands behind them is not read.
TEST_F(Conversations, EndWithTheCount) {
  const std::string list =
      R"([{"conversations": [{"from": "human", "tokens": 5}, {"from": "gpt", "tokens": 7}]}, nothing)";
  const auto made = read(list, ", count: 1, rate: 10", language, "poisson");
  EXPECT_EQ(made->request(0).generate, 7U);
  EXPECT_THAT(made->notes(), IsEmpty());
  EXPECT_THROW(read(list, ", count: 2, rate: 10", language, "poisson"), ConfigError);
}

TEST_F(Conversations, SayWhereTheKeyHasNoEffect) {
  const auto trace = read(R"([{"prompt_tokens": 7, "completion_tokens": 3}])",
                          poisson + ", characters_per_token: 4", language, "poisson");
  EXPECT_THAT(trace->notes(), Contains(HasSubstr("characters_per_token has no effect")));
}

TEST_F(Conversations, ShareWhatWasSaidBefore) {
  const auto trace = read(
      R"([{"conversations": [{"from": "human", "tokens": 130}, {"from": "gpt", "tokens": 10},
          {"from": "human", "tokens": 60}, {"from": "gpt", "tokens": 5}]},
          {"conversations": [{"from": "human", "tokens": 64}, {"from": "gpt", "tokens": 1}]}])",
      poisson, language, "poisson");
  EXPECT_EQ(trace->piece_tokens(), 64U);
  EXPECT_THAT(trace->pieces(0), ElementsAre(1, 2));
  EXPECT_THAT(trace->pieces(1), ElementsAre(1, 2, 3));
  EXPECT_THAT(trace->pieces(2), ElementsAre(4));
}

}  // namespace
}  // namespace tessera::serving::trace_test
