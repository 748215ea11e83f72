// What a process asks of the operating system so that ranks wake each other fast.
#pragma once

namespace tessera::comm {

// Asks for short time slices: where other programs keep the processors busy, a rank that is woken
// then runs at once. It gets no larger share of the processors by that. Linux 6.12 and later; other
// systems do not know it, and nothing happens.
void ask_for_short_slices();

// Keeps MPI from yielding in calls that find nothing, as Open MPI does where ranks outnumber
// processors: each yield gives a time slice away, and the waits here do not spin. What the user set
// (OMPI_MCA_mpi_yield_when_idle) holds. Before MPI starts.
void keep_mpi_from_yielding();

}  // namespace tessera::comm
