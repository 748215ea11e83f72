// What one rank does for all.
#pragma once

#include <exception>
#include <string>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/error.hpp"

namespace tessera::comm {

// Rank 0 does `work`, and the others wait for it. A failure there is one on all ranks: rank 0
// throws it, the others Aborted with its code. Collective.
template <class Work>
void on_first_rank(Communicator& communicator, Work work) {
  std::exception_ptr error;
  int code = 0;
  if (communicator.rank() == 0) {
    try {
      work();
    } catch (const Error& caught) {
      error = std::current_exception();
      code = caught.exit_code();
    }
  }
  try {
    code = std::stoi(communicator.broadcast(std::to_string(code), 0));
  } catch (const Aborted&) {
    if (!error) {
      throw;
    }  // else others gave up because of it, before this rank came back from the call
  }
  if (error) {
    std::rethrow_exception(error);
  }
  if (code != 0) {
    throw Aborted(code);
  }
}

}  // namespace tessera::comm
