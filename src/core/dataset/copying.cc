#include "dataset/copying.h"

#include "codec/pipeline.h"
#include "plan/chunk_shape.h"

namespace forebay {

std::vector<Count> copied_chunk_shape(const Variable& var, Count least) {
  if (var.ndims() == 0) return {};
  if (var.chunking && !var.chunking->shape.empty()) return var.chunking->shape;
  return default_chunk_shape(var, "copied", least > 0 ? least : least_chunk_bytes).shape;
}

bool is_lossy_codec(const std::string& pipeline) { return Pipeline::parse(pipeline).lossy(); }

}  // namespace forebay
