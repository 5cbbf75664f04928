// Shapes of chunks from the access pattern of the first flush (plan/chunk_shape.h).
#include <algorithm>
#include <array>

#include "layout/chunked/chunked.h"
#include "plan/chunk_shape.h"

namespace forebay::chunked {

namespace {

struct Pattern {
  std::vector<const Subarray*> blocks;
  bool scattered = false;
};

}  // namespace

bool ChunkedLayout::is_open(VarId var) const {
  const auto& chunking = schema_.vars[static_cast<std::size_t>(var)].chunking;
  return chunking && chunking->shape.empty();
}

void ChunkedLayout::settle_shapes(const Comm& comm, std::span<const FileWrites> all) {
  // All ranks know which variables have no shape yet, but not which of them are written now. So
  // those between the first and the last written one are considered; that is a single one if
  // variables are written one at a time.
  std::vector<FileWrites> files;
  std::copy_if(all.begin(), all.end(), std::back_inserter(files),
               [](const FileWrites& each) { return each.file->open_ > 0; });
  if (files.empty()) return;
  std::vector<std::int64_t> range;  // for each file: first, negative last
  for (const auto& [file, writes] : files) {
    std::int64_t first = std::ssize(file->schema_.vars), less_last = 0;
    for (const Request& r : writes) {
      if (r.elements == 0 || !file->is_open(r.var)) continue;
      first = std::min<std::int64_t>(first, r.var);
      less_last = std::min<std::int64_t>(less_last, -r.var);
    }
    range.insert(range.end(), {first, less_last});
  }
  comm.all_reduce(range, Reduce::min);
  struct Open {
    ChunkedLayout* file;
    VarId id;
    Pattern pattern;
    Variable& var() const { return file->schema_.vars[static_cast<std::size_t>(id)]; }
  };
  std::vector<Open> open;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const auto& [file, writes] = files[f];
    std::map<VarId, Pattern> patterns;
    for (const Request& r : writes) {
      if (r.elements == 0 || !file->is_open(r.var)) continue;
      Pattern& p = patterns[r.var];
      if (const auto* sub = std::get_if<Subarray>(&r.selection)) {
        p.blocks.push_back(sub);
      } else {
        p.scattered = true;
      }
    }
    for (std::int64_t v = range[2 * f];
         v <= -range[2 * f + 1] && v < std::ssize(file->schema_.vars); ++v) {
      const auto id = static_cast<VarId>(v);
      if (file->is_open(id)) open.push_back({file, id, std::move(patterns[id])});
    }
  }
  if (open.empty()) return;
  std::vector<AccessFacts> facts;
  std::vector<std::int64_t> values;
  for (const Open& each : open) {
    const auto& [blocks, scattered] = each.pattern;
    facts.push_back(blocks.empty() && !scattered ? AccessFacts(each.var().ndims())
                                                 : describe_access(each.var(), blocks, scattered));
    const auto its = facts.back().values();
    values.insert(values.end(), its.begin(), its.end());
  }
  comm.all_reduce(values, Reduce::min);
  std::span<const std::int64_t> left(values);
  std::vector<std::int64_t> holds(open.size(), 1);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto its = facts[i].values();
    std::copy_n(left.begin(), its.size(), its.begin());
    left = left.subspan(its.size());
    const auto& [blocks, scattered] = open[i].pattern;
    const auto lattice = candidate_lattice(open[i].var(), facts[i]);
    if (lattice.empty()) {
      holds[i] = 0;
    } else if (!blocks.empty() || scattered) {
      holds[i] = aligned(open[i].var(), lattice, blocks);
    }
  }
  comm.all_reduce(holds, Reduce::min);
  for (const FileWrites& each : files) each.file->store_.require_whole();
  // Operations that may fail on one rank come first, so that all ranks or none have the shapes.
  std::vector<std::array<ShapeChoice, 2>> choices(open.size());  // for the variable and the table
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!facts[i].any()) continue;
    ChunkedLayout& file = *open[i].file;
    choices[i].fill(
        choose_chunk_shape(open[i].var(), facts[i], holds[i] != 0, file.options_.chunk_bytes));
    file.store_.expect_shapes(open.size());
  }
  comm.meet();
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!facts[i].any()) continue;
    ChunkedLayout& file = *open[i].file;
    Variable& var = open[i].var();
    auto& [of_variable, of_table] = choices[i];
    ChunkTable& table = file.store_.table(open[i].id);
    var.chunking->shape = std::move(of_variable.shape);
    var.chunking->reason = std::move(of_variable.reason);
    table.shape = std::move(of_table.shape);
    table.reason = std::move(of_table.reason);
    file.store_.shape_chosen(open[i].id);
    --file.open_;
    file.codings_[static_cast<std::size_t>(open[i].id)].reset();
  }
}

}  // namespace forebay::chunked
