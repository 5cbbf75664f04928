// What codecs need to know of the slabs of variables.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "array/schema.h"
#include "codec/pipeline.h"
#include "layout/codec_choice.h"

namespace forebay::decomposed {

constexpr int most_threads = 256;  ///< of a rank, for encoding or decoding

/// The type and pipeline of the parts of a variable's slabs.
struct SlabCoding {
  Type type;
  Pipeline pipeline;

  /// Returns whether encoding changes the bytes, so that their order matters.
  bool encodes() const { return !pipeline.empty() && pipeline.text() != "checksum"; }
  ChunkInfo info(Count elements) const { return {type, {elements}}; }
};

class SlabCodings {
 public:
  /// Errc::enotsupport, with the variable's name, for a codec that this build lacks. The result is
  /// valid as long as this object.
  const SlabCoding& of(const Variable& var) {
    const std::string& codec = var.slab_codec ? *var.slab_codec : none_;
    const auto found = known_.find({var.type, codec});
    if (found != known_.end()) return found->second;
    SlabCoding made{var.type, stored_pipeline(var, codec)};
    return known_.emplace(std::pair(var.type, codec), std::move(made)).first->second;
  }

 private:
  const std::string none_ = "none";
  std::map<std::pair<Type, std::string>, SlabCoding> known_;
};

}  // namespace forebay::decomposed
