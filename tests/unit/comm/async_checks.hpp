// Checks of batches that come between rounds (Communicator::post_async).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "check_tools.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm::checks {

// Waits for as many asynchronous batches as are still to come.
inline void receive_all_async(Communicator& comm, std::int64_t& left, const BatchSink& sink) {
  while (left > 0) {
    comm.await_async(std::chrono::milliseconds(5));
    comm.receive_async([&](int source, std::span<const std::byte> bytes) {
      check(--left >= 0, "more asynchronous batches than were posted");
      sink(source, bytes);
    });
  }
}

// Numbered batches of many sizes from everyone to everyone, taken while others are being posted.
inline void keeps_the_order_of_async(Communicator& comm) {
  constexpr std::uint64_t batches = 400;
  const int n = comm.size();
  const auto me = static_cast<std::uint64_t>(comm.rank());
  std::vector<std::uint64_t> next(static_cast<std::size_t>(n));
  std::int64_t left = static_cast<std::int64_t>(batches) * (n - 1);
  const auto words_of = [](std::uint64_t source, std::uint64_t index) {
    return 2 + (index % 50 == 7 ? mix64(source * 1000 + index) % 40'000 : index % 5);
  };
  const auto sink = [&](int source, std::span<const std::byte> bytes) {
    auto& index = next.at(static_cast<std::size_t>(source));
    const auto from = static_cast<std::uint64_t>(source);
    check(word_at(bytes, 0) == from, "source of an asynchronous batch");
    check(word_at(bytes, 1) == index, "order of asynchronous batches");
    check(bytes.size() == words_of(from, index) * sizeof index, "size of an asynchronous batch");
    check(word_at(bytes, words_of(from, index) - 1) == (words_of(from, index) > 2 ? 99 : index),
          "end of an asynchronous batch");
    ++index;
  };
  for (std::uint64_t index = 0; index < batches; ++index) {
    std::vector<std::uint64_t> words(words_of(me, index), 99);
    words[0] = me;
    words[1] = index;
    for (int target = 0; target < n; ++target) {
      if (target != comm.rank()) {
        comm.post_async(target, bytes_of(words));
      }
    }
    if (index % 3 == 0) {
      comm.receive_async([&](int source, std::span<const std::byte> bytes) {
        --left;
        sink(source, bytes);
      });
    }
  }
  receive_all_async(comm, left, sink);
  check(!comm.receive_async([](int, auto) {}), "an asynchronous batch that nobody posted");
  comm.barrier();
}

// Large batches both ways at once, which no side takes before it has posted its own, and empty
// ones.
inline void carries_large_async(Communicator& comm) {
  constexpr std::size_t large = (std::size_t{5} << 20) + 5;
  const int n = comm.size();
  const auto mine = static_cast<std::byte>(comm.rank() + 1);
  std::int64_t left = 0;
  for (int other = 0; other < n; ++other) {
    if (are_neighbours(comm.rank(), other, n)) {
      for (const std::size_t size : {std::size_t{0}, large, std::size_t{1}, std::size_t{0}}) {
        comm.post_async(other, std::vector<std::byte>(size, mine));
        ++left;
      }
    }
  }
  std::vector<std::vector<std::size_t>> sizes(static_cast<std::size_t>(n));
  receive_all_async(comm, left, [&](int source, std::span<const std::byte> bytes) {
    sizes.at(static_cast<std::size_t>(source)).push_back(bytes.size());
    const auto fill = static_cast<std::byte>(source + 1);
    check(std::ranges::all_of(bytes, [fill](std::byte byte) { return byte == fill; }),
          "content of a large asynchronous batch");
  });
  for (int source = 0; source < n; ++source) {
    const std::vector<std::size_t> all{0, large, 1, 0};
    check(sizes[static_cast<std::size_t>(source)] ==
              (are_neighbours(comm.rank(), source, n) ? all : std::vector<std::size_t>{}),
          "sizes of asynchronous batches");
  }
  comm.barrier();
}

// Each answers at once: as long as nobody waits for a time to run out, a thousand take no time.
inline void answers_async(Communicator& comm) {
  const int n = comm.size();
  const int right = (comm.rank() + 1) % n;
  for (std::uint64_t lap = 0; lap < 200 && n > 1; ++lap) {
    std::int64_t left = 1;
    if (comm.rank() == 0) {
      comm.post_async(right, bytes_of({lap}));
    }
    receive_all_async(comm, left, [&](int, std::span<const std::byte> bytes) {
      check(word_at(bytes, 0) == lap, "lap of an asynchronous batch");
    });
    if (comm.rank() != 0) {
      comm.post_async(right, bytes_of({lap}));
    }
  }
  comm.await_async(std::chrono::nanoseconds(0));
  comm.await_async(std::chrono::microseconds(200));  // comes back though nothing is to come
  check(!comm.receive_async([](int, auto) {}), "an asynchronous batch that nobody posted");
}

// Asynchronous batches between batches of rounds and reductions, with tags that could be mixed up.
inline void mixes_async_and_rounds(Communicator& comm) {
  constexpr std::uint64_t rounds = 120;
  const int n = comm.size();
  const auto me = static_cast<std::uint64_t>(comm.rank());
  const std::int64_t others = n - 1;
  std::vector<std::uint64_t> next(static_cast<std::size_t>(n));
  std::int64_t left = static_cast<std::int64_t>(2 * rounds) * others;
  const auto sink = [&](int source, std::span<const std::byte> bytes) {
    check(bytes.size() == 2 * sizeof(std::uint64_t), "an asynchronous batch in its own lane");
    check(word_at(bytes, 1) == next.at(static_cast<std::size_t>(source))++, "order among rounds");
  };
  const auto post = [&](std::uint64_t index) {
    for (int target = 0; target < n; ++target) {
      if (target != comm.rank()) {
        comm.post_async(target, bytes_of({me, index}));
      }
    }
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    post(2 * round);
    for (int target = 0; target < n; ++target) {
      if (target != comm.rank()) {
        comm.post_batch(target, bytes_of({round}));
      }
    }
    post(2 * round + 1);
    std::vector<MinSum> ones{{SimTime::never(), 1}};
    comm.reduce_min_sum(ones);
    check(ones[0].count == n, "sum among asynchronous batches");
    if (mix64(round * 17 + me) % 4 == 0) {
      comm.receive_async([&](int source, std::span<const std::byte> bytes) {
        --left;
        sink(source, bytes);
      });
    }
    comm.receive_batches(others, [round](int, std::span<const std::byte> bytes) {
      check(bytes.size() == sizeof round && word_at(bytes, 0) == round, "batch of a round");
    });
  }
  receive_all_async(comm, left, sink);
  comm.barrier();
}

}  // namespace tessera::comm::checks
