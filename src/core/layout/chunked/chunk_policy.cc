#include "layout/chunked/chunk_policy.h"

#include <algorithm>

#include "codec/pipeline.h"
#include "layout/classic_part.h"
#include "layout/codec_choice.h"

namespace forebay::chunked {

const LayoutEntry* layout_of_parts() {
  static const LayoutEntry* const found = [] {
    const LayoutEntry* with_policy = nullptr;
    for (const auto* part : parts(PartKind::layout)) {
      const auto* layout = static_cast<const LayoutEntry*>(part);
      if (layout->chunks != nullptr) with_policy = layout;
    }
    return with_policy;
  }();
  return found;
}

const ChunkPolicy* wanted_policy(const Method& method, const Variable& var) {
  const LayoutEntry* const layout = layout_of_parts();
  return layout != nullptr && layout_for(method, var) == layout->name ? layout->chunks : nullptr;
}

const ChunkPolicy* policy_of_parts() {
  return layout_of_parts() != nullptr ? layout_of_parts()->chunks : nullptr;
}

bool has_parts(const Schema& schema) {
  return std::any_of(schema.vars.begin(), schema.vars.end(), [](const Variable& var) {
    return var.chunking && Pipeline::parts_of(var.chunking->codec) > 1;
  });
}

}  // namespace forebay::chunked
