#include "mpi/support.hpp"

#include <array>
#include <limits>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::comm {
namespace {

std::string error_text(int result) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(result, text.data(), &length) != MPI_SUCCESS) {
    return "error " + std::to_string(result);
  }
  return {text.data(), static_cast<std::size_t>(length)};
}

bool is_misuse(int error_class) {
  switch (error_class) {
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_TAG:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_REQUEST:
    case MPI_ERR_ROOT:
    case MPI_ERR_GROUP:
    case MPI_ERR_OP:
    case MPI_ERR_ARG:
    case MPI_ERR_TRUNCATE:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check_mpi(int result, const char* function) {
  if (result == MPI_SUCCESS) [[likely]] {
    return;
  }
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(result, &error_class);
  const std::string message = std::string(function) + ": " + error_text(result);
  if (is_misuse(error_class)) {
    throw InternalError(message);
  }
  throw IoError(message);
}

bool mpi_is_finalized() {
  int finalized = 0;
  return MPI_Finalized(&finalized) == MPI_SUCCESS && finalized != 0;
}

ByteLayout::ByteLayout(std::size_t size) {
  if (size <= largest_plain) {
    count_ = static_cast<int>(size);
    return;
  }
  constexpr std::size_t block_bytes = std::size_t{1} << 20;
  const std::size_t blocks = size / block_bytes;
  ensure(blocks <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
         "a message exceeds 2^51 bytes");
  const std::array<int, 2> lengths{static_cast<int>(blocks), static_cast<int>(size % block_bytes)};
  const std::array<MPI_Aint, 2> offsets{0, static_cast<MPI_Aint>(blocks * block_bytes)};
  MPI_Datatype block = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &block),
            "MPI_Type_contiguous");
  const std::array<MPI_Datatype, 2> parts{block, MPI_BYTE};
  const int made = MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(),
                                          offsets.data(), parts.data(), &datatype_);
  MPI_Type_free(&block);
  check_mpi(made, "MPI_Type_create_struct");
  check_mpi(MPI_Type_commit(&datatype_), "MPI_Type_commit");
}

ByteLayout::~ByteLayout() {
  if (datatype_ != MPI_BYTE) {
    MPI_Type_free(&datatype_);
  }
}

std::size_t size_of_message(const MPI_Status& status) {
  MPI_Count size = 0;
  check_mpi(MPI_Get_elements_x(&status, MPI_BYTE, &size), "MPI_Get_elements_x");
  ensure(size >= 0, "MPI does not know the size of a message");
  return static_cast<std::size_t>(size);
}

}  // namespace tessera::comm
