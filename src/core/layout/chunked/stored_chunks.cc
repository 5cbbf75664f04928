#include "layout/chunked/stored_chunks.h"

namespace forebay::chunked {

void StoredChunks::begin(std::vector<ChunkTable> tables, std::vector<FileSpace::Range> used) {
  store().adopt(std::move(tables), std::move(used));
  has_begun();
  renew_codings();
}

void StoredChunks::grow(std::size_t variables) {
  store().grow(variables);
  for (std::size_t v = 0; v < variables; ++v)
    store().table(static_cast<VarId>(v)).shape = form_(static_cast<VarId>(v)).chunk;
  renew_codings();
}

VariableCoding StoredChunks::make_coding_of(VarId var, int level) const {
  auto coding = ChunkedLayout::make_coding_of(var, level);
  const Variable& its = schema().vars[static_cast<std::size_t>(var)];
  StoredForm stored = form_(var);
  if (stored.chunk.empty()) take_shape(stored, its, coding.grid.shape());
  coding.fill = stored.fill;
  coding.form = form_of(stored, its);
  // The form quantises. Stages of the pipeline would take elements for ones in another order.
  coding.pipeline = coding.pipeline.lossless();
  return coding;
}

}  // namespace forebay::chunked
