#include "patches/files/refinement.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "array/convert.h"
#include "base/attempt.h"
#include "layout/chunked/coder.h"
#include "layout/chunked/unpack.h"

namespace forebay {

namespace {

Request request_of(VarId var, const Subarray& selection) {
  Request request;
  request.var = var;
  request.selection = selection;
  request.elements = selection.elements();
  return request;
}

chunked::TaskTeam team_of(int threads, std::size_t tasks) {
  return chunked::TaskTeam(
      std::clamp(threads, 1, static_cast<int>(std::clamp<std::size_t>(tasks, 1, 1024))));
}

}  // namespace

Refinement::Refinement(const FileChunks& chunks, VarId var, Subarray box, int threads)
    : chunks_(chunks),
      var_(var),
      box_(std::move(box)),
      threads_(threads),
      levels_(chunks.levels(var)),
      level_(levels_) {
  if (box_.elements() > 0)
    for (const ChunkTouch& touch :
         touched_chunks(chunks_.coding(var_).grid, request_of(var_, box_)))
      patches_.push_back({touch.chunk, {}, {}});
  std::sort(patches_.begin(), patches_.end(),
            [](const Patch& a, const Patch& b) { return a.id < b.id; });
  patches_.erase(std::unique(patches_.begin(), patches_.end(),
                             [](const Patch& a, const Patch& b) { return a.id == b.id; }),
                 patches_.end());
  std::atomic<Count> bytes = 0;
  team_of(threads_, patches_.size()).run(patches_.size(), [&](std::size_t i, chunked::TaskSlot&) {
    Patch& patch = patches_[i];
    if (!chunks_.table(var_).get(chunks_.coding(var_).entry(patch.id, 0)).present()) return;
    read_part(patch);
    bytes += std::ssize(patch.parts.back());
    if (levels_ > 0) patch.facts = hierarchy_facts(patch.parts[0], levels_);
  });
  bytes_read_ += bytes;
  select();
}

void Refinement::select() {
  const std::vector<Count>& patch = chunks_.coding(var_).grid.shape();
  selection_ = box_;
  for (std::size_t d = 0; d < box_.start.size(); ++d) {
    if (patch[d] == 1) continue;  // like at_level()
    const Count step = Count{1} << level_;
    const auto up = [&](Count at) { return at / step + (at % step != 0 ? 1 : 0); };
    selection_.start[d] = up(box_.start[d]);
    selection_.count[d] = up(box_.start[d] + box_.count[d]) - selection_.start[d];
  }
}

double Refinement::error_of(const Patch& patch) const {
  if (patch.parts.empty() || levels_ == 0) return 0;
  const int reached = levels_ + 1 - static_cast<int>(patch.parts.size());
  double error = reached == 0 ? patch.facts.finest_error : patch.facts.error;
  for (int k = 0; k < reached; ++k) error += patch.facts.details[static_cast<std::size_t>(k)];
  return error;
}

double Refinement::error() const {
  double most = 0;
  for (const Patch& patch : patches_) most = std::max(most, error_of(patch));
  return most;
}

void Refinement::read_part(Patch& patch) {
  patch.parts.push_back(chunks_.part(var_, patch.id, static_cast<int>(patch.parts.size())));
}

// If the step fails, the new parts are dropped, so that it can be repeated.
void Refinement::refine(double error) {
  std::vector<std::size_t> had;
  for (const Patch& patch : patches_) had.push_back(patch.parts.size());
  const auto wanted = static_cast<std::size_t>(levels_ + 1 - (level_ - 1));
  std::atomic<Count> bytes = 0;
  const auto failed = attempt_to([&] {
    team_of(threads_, patches_.size()).run(patches_.size(), [&](std::size_t i, chunked::TaskSlot&) {
      Patch& patch = patches_[i];
      if (patch.parts.empty() || (patch.facts.whole && error_of(patch) <= error)) return;
      while (patch.parts.size() < wanted) {
        read_part(patch);
        bytes += std::ssize(patch.parts.back());
      }
    });
  });
  bytes_read_ += bytes;
  if (failed) {
    for (std::size_t i = 0; i < had.size(); ++i) patches_[i].parts.resize(had[i]);
    throw *failed;
  }
  --level_;
  select();
}

bool Refinement::values(Type type, void* out) const {
  const chunked::VariableCoding& coding = chunks_.coding(var_, level_);
  const Request request = request_of(var_, selection_);
  if (request.elements == 0) return false;
  const chunked::Target target(static_cast<std::byte*>(out), chunks_.external(coding.type, type),
                               type);
  const auto touches = touched_chunks(coding.grid, request);
  std::atomic<bool> out_of_range = false;
  team_of(threads_, touches.size())
      .run(touches.size(), [&](std::size_t i, chunked::TaskSlot& slot) {
        const Count id = touches[i].chunk;
        const auto patch = std::lower_bound(patches_.begin(), patches_.end(), id,
                                            [](const Patch& a, Count b) { return a.id < b; });
        if (patch == patches_.end() || patch->id != id)
          throw Error(Errc::einternal, "a level has another patch than the box that it is of");
        std::vector<chunked::StoredPart> parts;
        for (std::size_t p = 0; p < patch->parts.size(); ++p) {
          const auto& entry = chunks_.table(var_).get(coding.entry(id, static_cast<int>(p)));
          parts.push_back({&entry, patch->parts[p]});
        }
        const chunked::Chunk chunk{coding, chunks_.name(var_), id, parts};
        if (chunked::unpack(chunk, {ChunkPieces(coding.grid, request, id, {}), target}, slot))
          out_of_range = true;
      });
  return out_of_range;
}

}  // namespace forebay
