// What every communicator has to do, as functions that each rank runs. They know no test library,
// so that the same bodies run in threads and in processes; a failed check throws CheckFailed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "async_checks.hpp"
#include "check_tools.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm::checks {

inline void reduces(Communicator& comm) {
  const std::int64_t n = comm.size();
  const auto rank = static_cast<std::int64_t>(comm.rank());
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<MinSum> values{
        {SimTime::from_ps(1000 - rank), rank + repeat},
        {SimTime::from_ps(1000 + rank), -rank},
        {SimTime::never(), 0},
        {rank == n - 1 ? SimTime::from_ps(7) : SimTime::never(), std::int64_t{1} << 40}};
    comm.reduce_min_sum(values);
    const std::int64_t ranks_sum = n * (n - 1) / 2;
    check(values[0].earliest == SimTime::from_ps(1000 - (n - 1)), "minimum of falling times");
    check(values[0].count == ranks_sum + n * repeat, "sum of counts");
    check(values[1].earliest == SimTime::from_ps(1000), "minimum of rising times");
    check(values[1].count == -ranks_sum, "sum of negative counts");
    check(values[2].earliest.is_never() && values[2].count == 0, "never stays never");
    check(values[3].earliest == SimTime::from_ps(7), "one finite time among never");
    check(values[3].count == n * (std::int64_t{1} << 40), "sum beyond 32 bits");

    std::vector<std::uint64_t> sums{1, static_cast<std::uint64_t>(rank), ~std::uint64_t{0}};
    comm.reduce_sum(sums);
    check(sums[0] == static_cast<std::uint64_t>(n), "sum of ones");
    check(sums[1] == static_cast<std::uint64_t>(ranks_sum), "sum of ranks");
    check(sums[2] == std::uint64_t{0} - static_cast<std::uint64_t>(n), "sum modulo 2^64");

    std::vector<std::uint64_t> maxima{
        static_cast<std::uint64_t>(rank),
        (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(n - rank)};
    comm.reduce_max(maxima);
    check(maxima[0] == static_cast<std::uint64_t>(n - 1), "maximum of ranks");
    check(maxima[1] == (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(n),
          "unsigned maximum");
  }
}

inline void reduces_nothing_and_much(Communicator& comm) {
  comm.reduce_min_sum({});
  comm.reduce_sum({});
  comm.reduce_max({});
  const std::int64_t n = comm.size();
  for (const std::size_t size : {1, 64, 65, 5000, 63}) {
    std::vector<MinSum> many(size);
    for (std::size_t i = 0; i < many.size(); ++i) {
      many[i] = {SimTime::from_ps(static_cast<std::int64_t>(i) + comm.rank()), comm.rank() + 1};
    }
    comm.reduce_min_sum(many);
    for (std::size_t i = 0; i < many.size(); ++i) {
      check(many[i].earliest == SimTime::from_ps(static_cast<std::int64_t>(i)), "minimum of many");
      check(many[i].count == n * (n + 1) / 2, "sum of many");
    }
  }
}

// How many batches rank `source` posts to `target` in a round, and how long each is: a function
// that both sides can compute.
inline std::uint64_t planned_batches(std::uint64_t round, int source, int target) {
  if (source == target) {
    return 0;
  }
  return mix64(round * 4096 + static_cast<std::uint64_t>(source * 64 + target)) % 4;
}
inline std::size_t planned_words(std::uint64_t round, int source, int target, std::uint64_t index) {
  const std::uint64_t draw =
      mix64(round * 65536 + static_cast<std::uint64_t>(source * 512 + target * 8) + index);
  return 3 + (draw % 16 == 0 ? draw % 4000 : draw % 40);
}

// Rounds of batches in which ranks are slow in turn, before the reduction or between it and the
// receiving; a fast rank is then a round ahead. Nothing may be lost, mixed or altered.
inline void keeps_rounds_apart(Communicator& comm) {
  const int me = comm.rank();
  const int n = comm.size();
  constexpr std::uint64_t rounds = 150;
  const auto be_slow_at_times = [me](std::uint64_t round, std::uint64_t salt) {
    if (mix64(round * 131 + static_cast<std::uint64_t>(me) * 17 + salt) % 8 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::vector<MinSum> expected(static_cast<std::size_t>(n));
    for (int target = 0; target < n; ++target) {
      const std::uint64_t batches = planned_batches(round, me, target);
      for (std::uint64_t index = 0; index < batches; ++index) {
        std::vector<std::uint64_t> words(planned_words(round, me, target, index), round);
        words[1] = static_cast<std::uint64_t>(me);
        words[2] = index;
        comm.post_batch(target, bytes_of(words));
      }
      expected[static_cast<std::size_t>(target)].count = static_cast<std::int64_t>(batches);
    }
    be_slow_at_times(round, 1);
    comm.reduce_min_sum(expected);
    if (round % 3 == 0) {  // other collectives in between do not end a round
      std::vector<std::uint64_t> ones{1};
      comm.reduce_sum(ones);
      comm.reduce_max(ones);
      check(ones[0] == static_cast<std::uint64_t>(n), "sum between rounds");
    }
    be_slow_at_times(round, 2);

    std::vector<std::uint64_t> seen(static_cast<std::size_t>(n));  // bits of the indices
    const auto sink = [&](int source, std::span<const std::byte> bytes) {
      check(word_at(bytes, 0) == round, "batch of round " + std::to_string(word_at(bytes, 0)) +
                                            " in round " + std::to_string(round));
      check(word_at(bytes, 1) == static_cast<std::uint64_t>(source), "source of a batch");
      const std::uint64_t index = word_at(bytes, 2);
      const std::size_t words = planned_words(round, source, me, index);
      check(bytes.size() == words * sizeof(std::uint64_t), "size of a batch");
      check(words == 3 || word_at(bytes, words - 1) == round, "end of a batch");
      auto& bits = seen[static_cast<std::size_t>(source)];
      check((bits & (std::uint64_t{1} << index)) == 0, "batch received twice");
      bits |= std::uint64_t{1} << index;
    };
    const std::int64_t count = expected[static_cast<std::size_t>(me)].count;
    comm.receive_batches(count / 2, sink);
    comm.receive_batches(count - count / 2, sink);
    for (int source = 0; source < n; ++source) {
      const std::uint64_t planned = (std::uint64_t{1} << planned_batches(round, source, me)) - 1;
      check(seen[static_cast<std::size_t>(source)] == planned, "batches of a source");
    }
  }
}

// Rounds that each rank ends alone, most of them, with at least one batch between neighbours. Ranks
// are slow in turn, so that others get ahead as far as they can.
inline void keeps_rounds_apart_without_a_barrier(Communicator& comm) {
  const int me = comm.rank();
  const int n = comm.size();
  constexpr std::uint64_t rounds = 400;
  const auto batches_of = [n](std::uint64_t round, int source, int target) {
    return are_neighbours(source, target, n) ? planned_batches(round, source, target) + 1 : 0;
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::int64_t expected = 0;
    for (int other = 0; other < n; ++other) {
      expected += static_cast<std::int64_t>(batches_of(round, other, me));
      for (std::uint64_t index = batches_of(round, me, other); index > 0; --index) {
        comm.post_batch(other, bytes_of({round, static_cast<std::uint64_t>(me), index}));
      }
    }
    if (mix64(round * 31 + static_cast<std::uint64_t>(me)) % 16 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    if (round % 32 == 31) {
      std::vector<MinSum> ones{{SimTime::never(), 1}};
      comm.reduce_min_sum(ones);
      check(ones[0].count == n, "sum in a round that all meet in");
    } else {
      comm.end_round();
    }
    std::vector<std::uint64_t> seen(static_cast<std::size_t>(n));
    comm.receive_batches(expected, [&](int source, std::span<const std::byte> bytes) {
      check(word_at(bytes, 0) == round, "batch of round " + std::to_string(word_at(bytes, 0)) +
                                            " in round " + std::to_string(round));
      check(word_at(bytes, 1) == static_cast<std::uint64_t>(source), "source of a batch");
      auto& bits = seen[static_cast<std::size_t>(source)];
      check((bits & (std::uint64_t{1} << word_at(bytes, 2))) == 0, "batch received twice");
      bits |= std::uint64_t{1} << word_at(bytes, 2);
    });
    for (int source = 0; source < n; ++source) {
      const std::uint64_t all = (std::uint64_t{2} << batches_of(round, source, me)) - 2;
      check(seen[static_cast<std::size_t>(source)] == all, "batches of a source");
    }
  }
}

// Empty batches, and some too large for an eager protocol and for one plain count.
inline void carries_any_size(Communicator& comm) {
  const int n = comm.size();
  const int right = (comm.rank() + 1) % n;
  const int left = (comm.rank() + n - 1) % n;
  constexpr std::size_t large = (std::size_t{20} << 20) + 3;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, large}) {
    const bool sends = n > 1 && (size != large || comm.rank() == 0);
    const bool receives = n > 1 && (size != large || left == 0);
    if (sends) {
      std::vector<std::byte> bytes(size, static_cast<std::byte>(comm.rank() + 1));
      if (size > 0) {
        bytes.back() = std::byte{0xee};
      }
      comm.post_batch(right, bytes);
    }
    comm.reduce_min_sum({});
    comm.receive_batches(receives ? 1 : 0, [&](int source, std::span<const std::byte> bytes) {
      check(source == left, "source of a sized batch");
      check(bytes.size() == size, "size of a sized batch");
      if (size > 1) {
        const auto fill = static_cast<std::byte>(left + 1);
        check(bytes.front() == fill && bytes[size / 2] == fill && bytes[size - 2] == fill,
              "content of a sized batch");
        check(bytes.back() == std::byte{0xee}, "last byte of a sized batch");
      }
    });
  }
}

// More batches at once than the bookkeeping of sends lets go by in one step.
inline void carries_many(Communicator& comm) {
  constexpr std::uint64_t batches = 500;
  const int n = comm.size();
  const std::uint64_t posted = n > 1 ? batches : 0;
  for (std::uint64_t i = 0; i < posted; ++i) {
    comm.post_batch((comm.rank() + 1) % n, bytes_of({i}));
  }
  comm.reduce_min_sum({});
  std::uint64_t sum = 0;
  comm.receive_batches(static_cast<std::int64_t>(posted),
                       [&](int, std::span<const std::byte> bytes) { sum += word_at(bytes, 0); });
  check(sum == (n > 1 ? batches * (batches - 1) / 2 : 0), "sum over many batches");
}

// Parts of all sizes work among themselves while the others wait for them in calls of the whole.
inline void works_in_part(Communicator& comm) {
  const int n = comm.size();
  for (int ranks = n; ranks >= 1; --ranks) {
    const std::unique_ptr<Communicator> part = comm.first(ranks);
    check((part != nullptr) == (comm.rank() < ranks), "members of a part");
    if (part) {
      check(part->rank() == comm.rank() && part->size() == ranks, "rank in a part");
      keeps_rounds_apart_without_a_barrier(*part);
      answers_async(*part);
      std::vector<std::uint64_t> ones{1};
      part->reduce_sum(ones);
      check(ones[0] == static_cast<std::uint64_t>(ranks), "sum over a part");
      check(part->broadcast(std::to_string(part->rank()), ranks - 1) == std::to_string(ranks - 1),
            "broadcast in a part");
    }
    check(comm.broadcast(part ? "done" : "not asked", 0) == "done", "broadcast after a part");
    check(comm.gather("x").size() == static_cast<std::size_t>(comm.rank() == 0 ? n : 0),
          "gather after a part");
  }
  check_throws<InternalError>([&] { comm.first(0); }, "a part of nobody");
  check_throws<InternalError>([&] { comm.first(n + 1); }, "a part of more than all");
  comm.barrier();
}

inline void broadcasts(Communicator& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (const std::size_t size : {0, 1, 40'000}) {
      const std::string text = std::string(size, 'a') + '\0' + std::to_string(root);
      const std::string mine = comm.rank() == root ? text : "something else";
      check(comm.broadcast(mine, root) == text, "text of the root");
    }
  }
  check(comm.broadcast("", 0).empty(), "empty text");
}

inline void gathers(Communicator& comm) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank) * 9000, 'x') + (rank == 0 ? "" : "end");
  };
  const std::vector<std::string> texts = comm.gather(text_of(comm.rank()));
  if (comm.rank() != 0) {
    check(texts.empty(), "texts off rank 0");
    return;
  }
  check(texts.size() == static_cast<std::size_t>(comm.size()), "number of texts");
  for (int rank = 0; rank < comm.size(); ++rank) {
    check(texts[static_cast<std::size_t>(rank)] == text_of(rank), "text of a rank");
  }
}

// Nobody leaves a barrier before the slowest has come. All ranks are on one machine, so that they
// share the clock.
inline void waits_at_barriers(Communicator& comm) {
  const auto now = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  for (int slow = 0; slow < comm.size(); ++slow) {
    if (comm.rank() == slow) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::vector<std::uint64_t> last_to_come{now()};
    comm.barrier();
    const std::uint64_t left = now();
    comm.reduce_max(last_to_come);
    check(left >= last_to_come[0], "a rank left the barrier early");
  }
}

inline void refuses_misuse(Communicator& comm) {
  check_throws<InternalError>([&] { comm.post_batch(comm.rank(), {}); }, "batch to itself");
  check_throws<InternalError>([&] { comm.post_batch(comm.size(), {}); }, "batch to nobody");
  check_throws<InternalError>([&] { comm.post_batch(-1, {}); }, "batch to a negative rank");
  check_throws<InternalError>([&] { comm.post_async(comm.rank(), {}); }, "async batch to itself");
  check_throws<InternalError>([&] { comm.post_async(comm.size(), {}); }, "async batch to nobody");
  check_throws<InternalError>([&] { comm.receive_batches(1, [](int, auto) {}); },
                              "batch before the first round ended");
  check_throws<InternalError>([&] { comm.receive_batches(-1, [](int, auto) {}); },
                              "a negative number of batches");
  check_throws<InternalError>([&] { comm.broadcast("", comm.size()); }, "root is nobody");
  comm.barrier();
}

struct Check {
  const char* name;
  void (*body)(Communicator&);
};

// `refuses_misuse` comes first as it needs a communicator on which no round has ended.
inline const std::vector<Check>& all() {
  static const std::vector<Check> list{
      {"refuses_misuse", refuses_misuse},
      {"reduces", reduces},
      {"reduces_nothing_and_much", reduces_nothing_and_much},
      {"keeps_rounds_apart", keeps_rounds_apart},
      {"keeps_rounds_apart_without_a_barrier", keeps_rounds_apart_without_a_barrier},
      {"carries_any_size", carries_any_size},
      {"carries_many", carries_many},
      {"keeps_the_order_of_async", keeps_the_order_of_async},
      {"carries_large_async", carries_large_async},
      {"answers_async", answers_async},
      {"mixes_async_and_rounds", mixes_async_and_rounds},
      {"works_in_part", works_in_part},
      {"broadcasts", broadcasts},
      {"gathers", gathers},
      {"waits_at_barriers", waits_at_barriers},
  };
  return list;
}

}  // namespace tessera::comm::checks
