#include "patches/coarse_view.h"

#include <algorithm>
#include <string>
#include <vector>

#include "array/chunk_grid.h"
#include "base/error.h"
#include "codec/pipeline.h"
#include "method/method_keys.h"

namespace forebay {
namespace {

int levels_of(const Variable& var) {
  if (!var.chunking || var.chunking->shape.size() != var.dimids.size()) return 0;
  return Pipeline::parts_of(var.chunking->codec) - 1;
}

}  // namespace

std::unique_ptr<FileView> CoarseView::of(const Schema& file, const Method& method, bool writable) {
  const int level = std::stoi(method_value(method, "read_level"));
  std::vector<int> levels;
  for (const Variable& var : file.vars) levels.push_back(levels_of(var));
  const bool any = std::any_of(levels.begin(), levels.end(), [](int n) { return n > 0; });
  if (level == 0 || !any) return nullptr;
  if (writable)
    throw Error(Errc::eperm,
                "read_level=" + std::to_string(level) +
                    " shows readers a coarser file, which "
                    "nobody can write",
                "open it with NC_NOWRITE, or without that hint");
  CoarseSchema coarse = coarse_schema(file, levels, level);
  // The view has no levels of its own, and no maps of elements that it lacks.
  for (Variable& var : coarse.schema.vars) {
    if (var.chunking) var.chunking->codec = Pipeline::without_levels(var.chunking->codec);
    var.decomposition = -1;
  }
  coarse.schema.decompositions.clear();
  return std::unique_ptr<FileView>(new CoarseView(file, std::move(coarse), level));
}

std::string CoarseView::reason() const {
  const auto at_level = std::count_if(coarse_.vars.begin(), coarse_.vars.end(),
                                      [](const CoarseVariable& v) { return v.level > 0; });
  const int step = 1 << level_;
  return "read at level " + std::to_string(level_) + ": " + std::to_string(at_level) +
         " variables in patches, of the others every " + std::to_string(step) +
         (step == 2 ? "nd" : "th") + " element";
}

void CoarseView::translate(Request& request) const {
  const auto v = static_cast<std::size_t>(request.var);
  const CoarseVariable& its = coarse_.vars[v];
  request.level = its.level;
  if (request.elements == 0) return;
  if (auto* const box = std::get_if<Subarray>(&request.selection)) {
    *box = at_its_level(its, std::move(*box));
    return;
  }
  const Variable& whole = file_.vars[v];
  request.selection =
      at_its_level(its, coarse_.schema.vars[v], its.level == 0 ? whole : at_level(whole, its.level),
                   std::get<Runs>(request.selection));
}

}  // namespace forebay
