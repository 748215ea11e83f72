// What every use of MPI here needs: its errors as exceptions, and byte counts beyond an int.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace tessera::comm {

// Throws when `result` of an MPI function is not MPI_SUCCESS, with the function's name and MPI's
// own text: InternalError for the classes that say that a call was wrong (a rank, a tag, a
// truncated message), IoError for the others (network, memory, a lost process). The communicator in
// use returns its errors (MPI_ERRORS_RETURN).
void check_mpi(int result, const char* function);

// Whether MPI has come and gone in this process, so that nothing of it may be called.
bool mpi_is_finalized();

// The (count, datatype) that describes `size` bytes. MPI counts in int; above `largest_plain` a
// derived datatype of blocks takes over, of which 2^51 bytes can be made. That happens far below
// 2^31 so that the path is a used and tested one.
class ByteLayout {
 public:
  static constexpr std::size_t largest_plain = std::size_t{1} << 24;

  explicit ByteLayout(std::size_t size);
  ~ByteLayout();
  ByteLayout(const ByteLayout&) = delete;
  ByteLayout& operator=(const ByteLayout&) = delete;

  int count() const { return count_; }
  // May be released while a transfer that uses it is under way.
  MPI_Datatype datatype() const { return datatype_; }

 private:
  int count_ = 1;
  MPI_Datatype datatype_ = MPI_BYTE;
};

// Bytes of the message that `status` is about, at any size.
std::size_t size_of_message(const MPI_Status& status);

}  // namespace tessera::comm
