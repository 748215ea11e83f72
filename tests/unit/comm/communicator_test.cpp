#include "tessera/comm/communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <ostream>
#include <stdexcept>

#include "communicator_checks.hpp"
#include "tessera/comm/delayed.hpp"

namespace tessera::comm {
namespace checks {

void PrintTo(const Check& check, std::ostream* out) {
  *out << check.name;
}

}  // namespace checks

namespace {

using Body = std::function<void(Communicator&)>;

// A way to run a body on all ranks; `ranks` 0 stands for the in-process communicator.
struct Backend {
  int ranks;
  bool delayed = false;
  void run(const Body& plain_body) const {
    const Body body = delayed ? Body([&plain_body](Communicator& comm) {
      plain_body(*make_delayed(comm, 7, std::chrono::microseconds(300)));
    })
                              : plain_body;
    if (ranks == 0) {
      body(*make_in_process());
    } else {
      run_ranks_as_threads(ranks, body);
    }
  }
};

std::string name_of(const Backend& backend) {
  return backend.ranks == 0
             ? "in_process"
             : "threads_" + std::to_string(backend.ranks) + (backend.delayed ? "_delayed" : "");
}

void PrintTo(const Backend& backend, std::ostream* out) {
  *out << name_of(backend);
}

class CommunicatorTest : public ::testing::TestWithParam<std::tuple<Backend, checks::Check>> {};

TEST_P(CommunicatorTest, Holds) {
  const auto& [backend, check] = GetParam();
  std::atomic<int> finished = 0;
  EXPECT_NO_THROW(backend.run([&finished, body = check.body](Communicator& comm) {
    body(comm);
    ++finished;
  }));
  EXPECT_EQ(finished, std::max(backend.ranks, 1));
}

INSTANTIATE_TEST_SUITE_P(All, CommunicatorTest,
                         ::testing::Combine(::testing::Values(Backend{0}, Backend{1}, Backend{2},
                                                              Backend{3}, Backend{4}, Backend{8},
                                                              Backend{3, true}),
                                            ::testing::ValuesIn(checks::all())),
                         [](const auto& instance) {
                           return name_of(std::get<0>(instance.param)) + "_" +
                                  std::get<1>(instance.param).name;
                         });

TEST(InProcess, IsOneRank) {
  const auto comm = make_in_process();
  EXPECT_EQ(comm->rank(), 0);
  EXPECT_EQ(comm->size(), 1);
  EXPECT_EQ(comm->description(), "in-process");
}

TEST(InProcess, AbortThrowsItsCode) {
  const auto comm = make_in_process();
  try {
    comm->abort(75);
    FAIL() << "abort returned";
  } catch (const Aborted& aborted) {
    EXPECT_EQ(aborted.code(), 75);
  }
}

TEST(Delayed, IsLateAndOtherwiseTheSame) {
  const auto comm = make_in_process();
  const auto delayed = make_delayed(*comm, 1, std::chrono::microseconds(2000));
  EXPECT_EQ(delayed->size(), 1);
  EXPECT_EQ(delayed->description(), "in-process, delayed at random");
  const auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < 1000; ++call) {
    delayed->barrier();
  }
  EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2));
  EXPECT_THROW(delayed->abort(75), Aborted);
}

TEST(Threads, EachHasItsRank) {
  std::array<std::atomic<int>, 4> calls{};
  run_ranks_as_threads(4, [&calls](Communicator& comm) {
    EXPECT_EQ(comm.size(), 4);
    EXPECT_EQ(comm.description(), "4 threads");
    ++calls.at(static_cast<std::size_t>(comm.rank()));
  });
  EXPECT_THAT(calls, ::testing::Each(::testing::Eq(1)));
  run_ranks_as_threads(1, [](Communicator& comm) { EXPECT_EQ(comm.description(), "1 thread"); });
}

TEST(Threads, NeedARank) {
  EXPECT_THROW(run_ranks_as_threads(0, [](Communicator&) {}), InternalError);
}

// What the other ranks wait in when rank 2 of 3 ends the run.
struct Wait {
  const char* name;
  void (*call)(Communicator&);
};

void PrintTo(const Wait& wait, std::ostream* out) {
  *out << wait.name;
}

class AbortTest : public ::testing::TestWithParam<Wait> {};

TEST_P(AbortTest, UnblocksTheOthersAndFailsLaterCalls) {
  std::atomic<int> unblocked = 0;
  std::atomic<int> refused = 0;
  const auto body = [&, call = GetParam().call](Communicator& comm) {
    if (comm.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      comm.abort(74);
    }
    try {
      call(comm);
    } catch (const Aborted& aborted) {
      EXPECT_EQ(aborted.code(), 74);
      ++unblocked;
    }
    for (const Body& later :
         {Body([](Communicator& c) { c.barrier(); }),
          Body([](Communicator& c) { c.reduce_min_sum({}); }),
          Body([](Communicator& c) { c.post_batch(2, {}); }),
          Body([](Communicator& c) { c.post_async(2, {}); }),
          Body([](Communicator& c) { c.receive_async([](int, auto) {}); }),
          Body([](Communicator& c) { c.first(2); }), Body([](Communicator& c) { c.gather(""); })}) {
      try {
        later(comm);
      } catch (const Aborted& aborted) {
        EXPECT_EQ(aborted.code(), 74);
        ++refused;
      }
    }
  };
  EXPECT_THROW(run_ranks_as_threads(3, body), Aborted);
  EXPECT_EQ(unblocked, 2);
  EXPECT_EQ(refused, 2 * 7);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, AbortTest,
    ::testing::Values(Wait{"reduce_min_sum", [](Communicator& c) { c.reduce_min_sum({}); }},
                      Wait{"reduce_sum", [](Communicator& c) { c.reduce_sum({}); }},
                      Wait{"barrier", [](Communicator& c) { c.barrier(); }},
                      Wait{"broadcast", [](Communicator& c) { c.broadcast("", 2); }},
                      Wait{"gather", [](Communicator& c) { c.gather(""); }},
                      Wait{"first", [](Communicator& c) { c.first(1); }},
                      Wait{"await_async",
                           [](Communicator& c) {
                             for (;;) {
                               c.await_async(std::chrono::nanoseconds::max());
                             }
                           }},
                      Wait{"receive_batches",
                           [](Communicator& c) {
                             c.end_round();
                             c.receive_batches(1, [](int, auto) {});
                           }}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Threads, AbortFailsAReceiveOfWhatHasArrived) {
  std::atomic<bool> aborted = false;
  const auto body = [&aborted](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.post_batch(1, std::vector<std::byte>{std::byte{1}});
    }
    comm.reduce_min_sum({});
    if (comm.rank() == 0) {
      aborted = true;
      comm.abort(9);
    }
    EXPECT_THROW(
        {
          while (true) {  // until the abort is seen
            comm.receive_batches(0, [](int, auto) {});
            if (aborted) {
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
              comm.receive_batches(1, [](int, auto) { ADD_FAILURE() << "received"; });
            }
          }
        },
        Aborted);
  };
  EXPECT_THROW(run_ranks_as_threads(2, body), Aborted);
}

TEST(Threads, AnAbortOfAPartEndsAllRanks) {
  std::atomic<int> ended = 0;
  const auto count = [&ended](const Body& body, Communicator& comm) {
    try {
      body(comm);
    } catch (const Aborted& aborted) {
      EXPECT_EQ(aborted.code(), 74);
      ++ended;
      throw;
    }
  };
  EXPECT_THROW(run_ranks_as_threads(4,
                                    [&](Communicator& comm) {
                                      const auto part = comm.first(2);
                                      if (comm.rank() == 1) {
                                        std::this_thread::sleep_for(std::chrono::milliseconds(10));
                                        part->abort(74);
                                      }
                                      count([](Communicator& c) { c.barrier(); },
                                            part ? *part : comm);
                                    }),
               Aborted);
  EXPECT_EQ(ended, 3);
}

TEST(Threads, AnAbortOfTheWholeEndsAPart) {
  EXPECT_THROW(run_ranks_as_threads(3,
                                    [&](Communicator& comm) {
                                      const auto part = comm.first(2);
                                      if (!part) {
                                        std::this_thread::sleep_for(std::chrono::milliseconds(10));
                                        comm.abort(74);
                                      }
                                      for (;;) {
                                        part->await_async(std::chrono::seconds(100));
                                      }
                                    }),
               Aborted);
}

TEST(Threads, AnErrorInAPartComesOut) {
  EXPECT_THROW(run_ranks_as_threads(3,
                                    [&](Communicator& comm) {
                                      const auto part = comm.first(2);
                                      if (comm.rank() == 1) {
                                        throw ModelError("of rank 1");
                                      }
                                      (part ? *part : comm).barrier();
                                    }),
               ModelError);
}

TEST(Threads, FirstExceptionByRankComesOut) {
  const auto body = [](Communicator& comm) {
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      throw ModelError("of rank 1");
    }
    if (comm.rank() == 3) {
      throw std::logic_error("of rank 3");
    }
    comm.barrier();
  };
  try {
    run_ranks_as_threads(4, body);
    FAIL() << "nothing was thrown";
  } catch (const ModelError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("of rank 1"));
  }
}

TEST(Threads, OthersSeeTheExitCodeOfTheError) {
  std::atomic<int> code = 0;
  const auto body = [&code](Communicator& comm) {
    if (comm.rank() == 1) {
      throw ModelError("cannot go on");
    }
    try {
      comm.barrier();
    } catch (const Aborted& aborted) {
      code = aborted.code();
      throw;
    }
  };
  EXPECT_THROW(run_ranks_as_threads(2, body), ModelError);
  EXPECT_EQ(code, 3);
}

TEST(Threads, AnEndedRankIsNotWaitedFor) {
  const auto body = [](Communicator& comm) {
    if (comm.rank() != 0) {
      comm.barrier();
    }
  };
  EXPECT_THROW(run_ranks_as_threads(3, body), InternalError);
}

TEST(Threads, DifferentCallsAreRefused) {
  std::uint64_t unused = 0;
  EXPECT_THROW(run_ranks_as_threads(2,
                                    [](Communicator& comm) {
                                      if (comm.rank() == 0) {
                                        comm.barrier();
                                      } else {
                                        comm.reduce_sum({});
                                      }
                                    }),
               InternalError);
  EXPECT_THROW(run_ranks_as_threads(2,
                                    [&unused](Communicator& comm) {
                                      const std::size_t length = comm.rank() == 0 ? 0 : 1;
                                      comm.reduce_sum({&unused, length});
                                    }),
               InternalError);
}

TEST(Threads, BatchesHaveToBeReceivedInTheirRound) {
  const auto post_to_rank_1 = [](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.post_batch(1, {});
    }
    comm.reduce_min_sum({});
  };
  EXPECT_THROW(run_ranks_as_threads(2,
                                    [&](Communicator& comm) {
                                      post_to_rank_1(comm);
                                      comm.reduce_min_sum({});
                                    }),
               InternalError);
  EXPECT_THROW(run_ranks_as_threads(2,
                                    [&](Communicator& comm) {
                                      post_to_rank_1(comm);
                                      comm.receive_batches(comm.rank() == 1 ? 2 : 0,
                                                           [](int, auto) {});
                                    }),
               InternalError);
}

TEST(Threads, ABatchOfARoundEndedAloneHasToBeReceivedToo) {
  const auto body = [](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.post_batch(1, {});
    }
    comm.end_round();
    comm.barrier();
    comm.end_round();
  };
  EXPECT_THROW(run_ranks_as_threads(2, body), InternalError);
}

TEST(Threads, ABatchThatCannotComeIsNotWaitedFor) {
  const auto wait = [](Communicator& comm) {
    comm.end_round();
    comm.receive_batches(1, [](int, auto) {});
  };
  const auto one_waits = [&](Communicator& comm) {
    if (comm.rank() == 0) {
      wait(comm);
    }
  };
  const auto the_others_meet = [&](Communicator& comm) {
    if (comm.rank() == 0) {
      wait(comm);
    } else {
      comm.barrier();
    }
  };
  const auto the_last_ends = [&](Communicator& comm) {
    if (comm.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else {
      wait(comm);
    }
  };
  EXPECT_THROW(run_ranks_as_threads(3, one_waits), InternalError);
  EXPECT_THROW(run_ranks_as_threads(3, the_others_meet), InternalError);
  EXPECT_THROW(run_ranks_as_threads(3, the_last_ends), InternalError);
  EXPECT_THROW(run_ranks_as_threads(3, wait), InternalError);
}

TEST(Threads, MeetInTheSameRound) {
  EXPECT_THROW(run_ranks_as_threads(2,
                                    [](Communicator& comm) {
                                      if (comm.rank() == 0) {
                                        comm.end_round();
                                      }
                                      comm.reduce_min_sum({});
                                    }),
               InternalError);
}

TEST(Threads, AnExceptionOfTheSinkComesOut) {
  const auto body = [](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.post_batch(1, {});
    }
    comm.reduce_min_sum({});
    comm.receive_batches(comm.rank() == 1 ? 1 : 0,
                         [](int, auto) { throw std::range_error("of the sink"); });
    comm.barrier();
  };
  EXPECT_THROW(run_ranks_as_threads(2, body), std::range_error);
}

TEST(Session, IsInProcessWithoutALauncher) {
  int argc = 0;
  char** argv = nullptr;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE",
                           "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    ASSERT_EQ(unsetenv(name), 0);
  }
  ASSERT_EQ(setenv("SLURM_PROCID", "0", 1), 0);  // as in a batch script
  Session session(argc, argv);
  EXPECT_EQ(session.world().description(), "in-process");
}

TEST(Session, NamesTheLibrary) {
  EXPECT_THAT(mpi_version(), ::testing::MatchesRegex("[A-Z][A-Za-z ]+ [0-9]+[.][0-9].*"));
  EXPECT_THAT(mpi_version(), ::testing::Not(::testing::HasSubstr(",")));
}

}  // namespace
}  // namespace tessera::comm
