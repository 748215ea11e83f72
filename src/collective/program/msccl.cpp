// Programs of MSCCL.
#include <expat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "program/maker.hpp"
#include "tessera/core/error.hpp"

namespace tessera::collective {
namespace {

// From 1 on.
struct TextPlace {
  int line = 0;
  int column = 0;
};

struct BlockStep {
  TextPlace place;
  std::string type;
  std::array<char, 2> buffers{};           // source, destination
  std::array<std::uint32_t, 2> offsets{};  // likewise, in chunks
  std::uint32_t count = 0;
  std::int64_t after_block = -1;
  std::int64_t after_step = -1;
};

struct Block {
  std::int64_t id = 0;
  std::int64_t send_to = -1;
  std::int64_t receive_from = -1;
  std::int64_t channel = 0;
  std::vector<BlockStep> steps;
};

struct Gpu {
  TextPlace place;
  std::uint32_t input_chunks = 0;
  std::uint32_t output_chunks = 0;
  bool is_there = false;
  std::vector<Block> blocks;
};

struct Msccl {
  TextPlace place;  // of algo
  std::string collective;
  bool in_place = false;
  std::vector<Gpu> gpus;
};

// Expat counts in 64 bits from version 2.9.0 on, by functions of other names.
TextPlace place_of(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || (XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION >= 9)
  const auto line = XML_GetCurrentLineNumber64(parser);
  const auto column = XML_GetCurrentColumnNumber64(parser);
#else
  const auto line = XML_GetCurrentLineNumber(parser);
  const auto column = XML_GetCurrentColumnNumber(parser);
#endif
  return {static_cast<int>(line), static_cast<int>(column) + 1};
}

// Reads the elements as they come.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Msccl read(const std::string& text) {
    const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate(nullptr),
                                                                         XML_ParserFree);
    if (parser == nullptr) {
      throw std::bad_alloc();
    }
    parser_ = parser.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(
        parser_,
        [](void* self, const char* name, const char** attributes) {
          static_cast<Reader*>(self)->guarded(name, attributes);
        },
        [](void*, const char*) {});
    // Entities could make a small file a large one; programs have none.
    XML_SetStartDoctypeDeclHandler(
        parser_, [](void* self, const char*, const char*, const char*, int) {
          static_cast<Reader*>(self)->stop("a document type is not read");
        });
    const XML_Status status =
        XML_Parse(parser_, text.data(), static_cast<int>(text.size()), XML_TRUE);
    if (!problem_.message.empty()) {
      throw ConfigError(problem_);
    }
    if (status != XML_STATUS_OK) {
      fail(std::string("is no XML: ") + XML_ErrorString(XML_GetErrorCode(parser_)));
    }
    if (algorithm_.gpus.empty()) {
      throw ConfigError({path_, 0, 0, "has no element algo"});
    }
    return std::move(algorithm_);
  }

 private:
  Diagnostic here(const std::string& message) const {
    const TextPlace place = place_of(parser_);
    return {path_, place.line, place.column, message};
  }

  [[noreturn]] void fail(const std::string& message) const { throw ConfigError(here(message)); }

  // Exceptions must not pass through the parser.
  void stop(const std::string& message) {
    problem_ = here(message);
    XML_StopParser(parser_, XML_FALSE);
  }

  void guarded(const std::string& name, const char** attributes) {
    try {
      element(name, attributes);
    } catch (const ConfigError& error) {
      problem_ = error.diagnostics().front();
      XML_StopParser(parser_, XML_FALSE);
    }
  }

  void element(const std::string& name, const char** attributes) {
    attributes_.clear();
    for (; attributes[0] != nullptr; attributes += 2) {
      attributes_[attributes[0]] = attributes[1];
    }
    if (name == "algo") {
      algorithm_.place = place_of(parser_);
      algorithm_.collective = text("coll");
      algorithm_.in_place = number("inplace", 0, 0, 1) == 1;
      algorithm_.gpus.resize(static_cast<std::size_t>(number("ngpus", -1, 2, 1'024)));
    } else if (name == "gpu") {
      const auto id =
          static_cast<std::size_t>(number("id", -1, 0, std::ssize(algorithm_.gpus) - 1));
      gpu_ = &algorithm_.gpus[id];
      if (gpu_->is_there) {
        fail("gpu " + std::to_string(id) + " is there twice");
      }
      gpu_->is_there = true;
      gpu_->place = place_of(parser_);
      gpu_->input_chunks = static_cast<std::uint32_t>(number("i_chunks", 0, 0, 65'536));
      gpu_->output_chunks = static_cast<std::uint32_t>(number("o_chunks", 0, 0, 65'536));
      block_ = nullptr;
    } else if (name == "tb") {
      if (gpu_ == nullptr) {
        fail("a tb outside a gpu");
      }
      const std::int64_t most = std::ssize(algorithm_.gpus) - 1;
      block_ = &gpu_->blocks.emplace_back();
      block_->id = number("id", -1, 0, 65'535);
      block_->send_to = number("send", -1, -1, most);
      block_->receive_from = number("recv", -1, -1, most);
      block_->channel = number("chan", 0, 0, 65'535);
    } else if (name == "step") {
      if (block_ == nullptr) {
        fail("a step outside a tb");
      }
      step();
    } else {
      fail("element " + name + " is none of MSCCL's: algo, gpu, tb, step");
    }
  }

  void step() {
    BlockStep step;
    step.place = place_of(parser_);
    step.type = text("type");
    constexpr std::array<const char*, 9> types{"s",    "r",   "rcs", "rrc", "rrs",
                                               "rrcs", "cpy", "re",  "nop"};
    if (std::find(types.begin(), types.end(), step.type) == types.end()) {
      fail("type '" + step.type + "' is none of s, r, rcs, rrc, rrs, rrcs, cpy, re, nop");
    }
    if (number("s", -1, 0, 1'000'000) != std::ssize(block_->steps)) {
      fail("steps of a tb are numbered from 0");
    }
    if (step.type != "nop") {
      step.buffers = {buffer("srcbuf"), buffer("dstbuf")};
      step.offsets = {static_cast<std::uint32_t>(number("srcoff", 0, 0, 65'535)),
                      static_cast<std::uint32_t>(number("dstoff", 0, 0, 65'535))};
      step.count = static_cast<std::uint32_t>(number("cnt", 1, 1, 65'536));
    }
    step.after_block = number("depid", -1, -1, 65'535);
    step.after_step = number("deps", -1, -1, 1'000'000);
    block_->steps.push_back(std::move(step));
  }

  std::string text(const char* name) const {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) {
      fail(std::string("attribute ") + name + " is missing");
    }
    return found->second;
  }

  char buffer(const char* name) const {
    const auto found = attributes_.find(name);
    const std::string value = found == attributes_.end() ? "i" : found->second;
    if (value != "i" && value != "o" && value != "s") {
      fail(std::string(name) + " is '" + value + "', not i, o or s");
    }
    return value[0];
  }

  // `usual` below `low` means that it must be given.
  std::int64_t number(const char* name, std::int64_t usual, std::int64_t low,
                      std::int64_t high) const {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) {
      return usual >= low ? usual : (text(name), 0);
    }
    std::int64_t value = 0;
    const char* const end = found->second.data() + found->second.size();
    const auto [last, error] = std::from_chars(found->second.data(), end, value);
    if (error != std::errc() || last != end || value < low || value > high) {
      fail(std::string(name) + " is '" + found->second + "', not a number from " +
           std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
  }

  std::string path_;
  XML_Parser parser_ = nullptr;
  Diagnostic problem_;
  Msccl algorithm_;
  Gpu* gpu_ = nullptr;
  Block* block_ = nullptr;
  std::map<std::string, std::string> attributes_;
};

// Follows all thread blocks until nothing can go on.
class Follower {
 public:
  Follower(const std::string& path, const Msccl& algorithm, ProgramMaker& maker)
      : path_(path), algorithm_(algorithm), maker_(maker), memory_(maker.members()) {
    for (Member member = 0; member < maker.members(); ++member) {
      std::uint32_t offset = 0;
      for (Piece& piece : maker.first(member)) {
        place(member, 'i', offset++) = std::move(piece);
      }
      for (std::size_t block = 0; block < algorithm.gpus[member].blocks.size(); ++block) {
        blocks_.push_back({member, block, 0, {}});
      }
    }
  }

  void run() {
    for (bool again = true; again;) {
      again = false;
      for (State& state : blocks_) {
        while (state.next < block_of(state).steps.size() && can_go(state)) {
          go(state);
          again = true;
        }
      }
    }
    for (const State& state : blocks_) {
      if (state.next < block_of(state).steps.size()) {
        const BlockStep& step = block_of(state).steps[state.next];
        fail(step, "step " + std::to_string(state.next) + " of tb " +
                       std::to_string(block_of(state).id) + " of gpu " +
                       std::to_string(state.member) + " waits for ever");
      }
    }
    for (const auto& [channel, messages] : channels_) {
      if (!messages.empty()) {
        fail(*messages.front().step, "its message is never received");
      }
    }
    for (Member member = 0; member < maker_.members(); ++member) {
      std::uint32_t offset = 0;
      for (const Piece& wanted : maker_.wanted(member)) {
        const Piece& found = place(member, 'o', offset);
        if (found != wanted) {
          const TextPlace& gpu = algorithm_.gpus[member].place;
          throw ConfigError({path_, gpu.line, gpu.column,
                             "at last place " + std::to_string(offset) + " of the output of gpu " +
                                 std::to_string(member) + " has " + maker_.text_of(found) +
                                 ", not " + maker_.text_of(wanted) +
                                 (found.chunk == wanted.chunk ? " and nothing else" : "")});
        }
        ++offset;
      }
    }
  }

 private:
  struct State {
    Member member;
    std::size_t block;
    std::size_t next;                 // step
    std::vector<std::uint32_t> last;  // operation of each step
  };
  struct Message {
    std::vector<Piece> pieces;
    std::uint32_t operation;
    const BlockStep* step;
  };
  using Channel = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // from, to, channel
  static constexpr std::uint32_t no_operation = 0xFFFFFFFFU;

  const Block& block_of(const State& state) const {
    return algorithm_.gpus[state.member].blocks[state.block];
  }

  [[noreturn]] void fail(const BlockStep& step, const std::string& message) const {
    throw ConfigError({path_, step.place.line, step.place.column, message});
  }

  // In place, the input lies in the output where its result will be, or the other way.
  Piece& place(Member member, char buffer, std::uint32_t offset) {
    const std::uint32_t part = maker_.chunks() / maker_.members();
    if (algorithm_.in_place && buffer != 's') {
      const bool input_is_part = maker_.kind() == Kind::all_gather || maker_.kind() == Kind::gather;
      const bool output_is_part =
          maker_.kind() == Kind::reduce_scatter || maker_.kind() == Kind::scatter;
      if ((buffer == 'i' && input_is_part) || (buffer == 'o' && output_is_part)) {
        offset += member * part;
      }
      buffer = 'i';
    }
    return memory_[member][{buffer, offset}];
  }

  std::vector<Piece*> places(const State& state, const BlockStep& step, std::size_t side) {
    std::vector<Piece*> result;
    for (std::uint32_t i = 0; i < step.count; ++i) {
      result.push_back(&place(state.member, step.buffers[side], step.offsets[side] + i));
    }
    return result;
  }

  static bool receives(const BlockStep& step) { return step.type[0] == 'r' && step.type != "re"; }
  static bool sends(const BlockStep& step) { return step.type.back() == 's'; }

  Channel incoming(const State& state) const {
    const Block& block = block_of(state);
    return {block.receive_from, state.member, block.channel};
  }

  bool can_go(const State& state) {
    const BlockStep& step = block_of(state).steps[state.next];
    if (step.after_block >= 0 && before(state, step) == nullptr) {
      return false;
    }
    if (!receives(step)) {
      return true;
    }
    const auto found = channels_.find(incoming(state));
    return found != channels_.end() && !found->second.empty();
  }

  // The block whose step this one waits for, if that has been done.
  const State* before(const State& state, const BlockStep& step) const {
    for (const State& other : blocks_) {
      if (other.member == state.member && block_of(other).id == step.after_block) {
        return std::cmp_greater(other.next, step.after_step) ? &other : nullptr;
      }
    }
    fail(step, "waits for tb " + std::to_string(step.after_block) + ", which is not there");
  }

  void go(State& state) {
    const Block& block = block_of(state);
    const BlockStep& step = block.steps[state.next];
    std::uint32_t last = state.last.empty() ? no_operation : state.last.back();
    std::vector<std::uint32_t> after;
    const auto wait_for = [&after](std::uint32_t operation) {
      if (operation != no_operation) {
        after.push_back(operation);
      }
    };
    wait_for(last);
    if (step.after_block >= 0 && step.after_step >= 0) {
      wait_for(before(state, step)->last[static_cast<std::size_t>(step.after_step)]);
    }
    std::string problem;
    std::vector<Piece> pieces;  // what is sent on
    if (receives(step)) {
      pieces = receive(state, step, after, last, problem);
    } else {
      for (const Piece* piece : places(state, step, 0)) {
        pieces.push_back(*piece);
      }
      if (step.type == "cpy") {
        ProgramMaker::put(pieces, places(state, step, 1));
      } else if (step.type == "re") {
        last = maker_.add_up(state.member, pieces, places(state, step, 1), after, problem);
      }
      if (after.size() > 1 && !sends(step) && step.type != "re") {
        last = maker_.nothing(state.member, after);
      } else if (after.size() == 1 && !sends(step) && step.type != "re") {
        last = after.front();
      }
    }
    if (problem.empty() && sends(step)) {
      if (block.send_to < 0 || block.send_to == state.member) {
        fail(step, "sends, but its tb names no other gpu to send to");
      }
      if (receives(step)) {
        after = {last};
      }
      last = maker_.send(state.member, static_cast<Member>(block.send_to), pieces, after, problem);
      channels_[{state.member, block.send_to, block.channel}].push_back({pieces, last, &step});
    }
    if (!problem.empty()) {
      fail(step, problem);
    }
    state.last.push_back(last);
    ++state.next;
  }

  std::vector<Piece> receive(const State& state, const BlockStep& step,
                             const std::vector<std::uint32_t>& after, std::uint32_t& last,
                             std::string& problem) {
    std::deque<Message>& messages = channels_[incoming(state)];
    const Message message = std::move(messages.front());
    messages.pop_front();
    if (message.pieces.size() != step.count) {
      fail(step, "receives " + std::to_string(step.count) + " chunks, but " +
                     std::to_string(message.pieces.size()) + " are sent");
    }
    const bool adds = step.type[1] == 'r';
    // What is added goes to the destination, or, where it is only sent on, nowhere.
    std::vector<Piece> sums(step.count);
    std::vector<Piece*> targets = places(state, step, 1);
    if (adds) {
      const std::vector<Piece*> sources = places(state, step, 0);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] = *sources[i];
      }
      if (step.type == "rrs") {
        for (std::size_t i = 0; i < sums.size(); ++i) {
          targets[i] = &sums[i];
        }
      } else {
        ProgramMaker::put(sums, targets);
      }
    }
    last = maker_.receive(state.member, static_cast<Member>(block_of(state).receive_from),
                          message.operation, message.pieces, targets, adds, after, problem);
    std::vector<Piece> result;
    for (const Piece* target : targets) {
      result.push_back(*target);
    }
    return result;
  }

  const std::string& path_;
  const Msccl& algorithm_;
  ProgramMaker& maker_;
  std::vector<std::map<std::pair<char, std::uint32_t>, Piece>> memory_;  // [members]
  std::vector<State> blocks_;
  std::map<Channel, std::deque<Message>> channels_;
};

}  // namespace

Program read_msccl(const std::string& path, const std::string& text) {
  const Msccl algorithm = Reader(path).read(text);
  const std::optional<Kind> kind = program_kind(algorithm.collective);
  if (!kind) {
    throw ConfigError({path, algorithm.place.line, algorithm.place.column,
                       "coll '" + algorithm.collective + "' is no collective that can be written"});
  }
  std::uint32_t chunks = 0;
  for (const Gpu& gpu : algorithm.gpus) {
    chunks = std::max({chunks, gpu.input_chunks, gpu.output_chunks});
  }
  const auto members = static_cast<std::uint32_t>(algorithm.gpus.size());
  try {
    ProgramMaker maker(std::filesystem::path(path).filename().string(), *kind, members, chunks);
    Follower(path, algorithm, maker).run();
    return maker.take();
  } catch (const ConfigError& error) {
    Diagnostic problem = error.diagnostics().front();
    if (problem.line == 0) {  // of the whole
      problem.line = algorithm.place.line;
      problem.column = algorithm.place.column;
    }
    problem.file = path;
    throw ConfigError(problem);
  }
}

}  // namespace tessera::collective
