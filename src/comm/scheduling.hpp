// What a process asks of the operating system so that ranks wake each other fast.
#pragma once

namespace tessera::comm {

// Asks for short time slices: where other programs keep the processors busy, a rank that is woken
// then runs at once. It gets no larger share of the processors by that. Linux 6.12 and later; other
// systems do not know it, and nothing happens.
void ask_for_short_slices();

// Whether MPI gives the processor away in calls that find nothing. By itself Open MPI does where
// ranks outnumber processors. In a run each yield would give a time slice away, and the waits here
// do not spin. What all ranks do together before and after it (to start, to make and free
// communicators and shared memory) waits inside MPI, which spins for as long as the last of them
// needs: four ranks of two processors took 0.8 s of both to begin. What the user set
// (OMPI_MCA_mpi_yield_when_idle) holds.
//
// Before MPI starts:
void prepare_mpi_yields();
// Afterwards; returns what was set before. Of no effect where MPI has no such switch (it is one of
// Open MPI's own, opal_progress_set_yield_when_idle).
bool set_mpi_yields(bool yields);

// For a while.
class YieldingMpi {
 public:
  YieldingMpi() : before_(set_mpi_yields(true)) {}
  ~YieldingMpi() { set_mpi_yields(before_); }
  YieldingMpi(const YieldingMpi&) = delete;
  YieldingMpi& operator=(const YieldingMpi&) = delete;

 private:
  bool before_;
};

}  // namespace tessera::comm
