// Constants of a file: shapes, and the values of the small ones.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "model_file.hpp"

namespace tessera::onnx {

// Throws ConfigError for a shape that is none, a type that is none, data of another size than the
// shape says, external data outside the folder of the model or too short. `missing` counts up when
// there is no data at all.
Tensor read_tensor(const ::onnx::TensorProto& proto, const std::string& path, const Origin& origin,
                   std::uint64_t& missing);
// A sparse tensor as the dense one it stands for, without values.
Tensor read_sparse_tensor(const ::onnx::SparseTensorProto& proto, const std::string& path,
                          const Origin& origin);

}  // namespace tessera::onnx
