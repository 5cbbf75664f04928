// Writes to several files as one operation (layout/joint_layout.h). A ChunkedLayout that belongs to
// no file has the variables of all files, one file after the other, and delegates to the file of
// each variable. So owners are chosen over the chunks of all files, ranks encode all of them
// between two collective steps, and one more publishes them.
#include <algorithm>
#include <limits>

#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/chunked/chunk_policy.h"
#include "layout/chunked/chunked.h"

namespace forebay::chunked {

/// The file of a variable. `var` becomes the variable's number in that file.
ChunkedLayout& ChunkedLayout::file_of(VarId& var) {
  if (joined_.empty()) return *this;
  const auto behind = std::upper_bound(joined_.begin(), joined_.end(), var,
                                       [](VarId v, const Joined& its) { return v < its.first; });
  const Joined& its = *std::prev(behind);
  var -= its.first;
  return *its.file;
}

std::vector<ChunkStore::Changed> ChunkedLayout::changed_stores() {
  if (joined_.empty()) return {{&store_}};
  std::vector<ChunkStore::Changed> all;
  all.reserve(joined_.size());
  for (const Joined& its : joined_) all.push_back({&its.file->store_, its.last});
  return all;
}

// Chunks in several parts have separate data files and their own rules for places.
Layout::ForJoint ChunkedLayout::for_joint(std::span<Request> writes) {
  if (apart_ || files_ || site_.later || !store_.is_whole() || has_parts(schema_)) return {};
  return {this, writes, {}};
}

void ChunkedLayout::write_all(const Comm& comm, std::span<const Share> shares, Report& report) {
  Schema none;
  ChunkedLayout joint({comm, site_.path, site_.method, none, site_.file, io_, report});
  std::vector<FileWrites> files;
  std::vector<Request> all;
  std::int64_t variables = 0;
  for (const Share& share : shares) {
    auto& file = static_cast<ChunkedLayout&>(*share.layout);  // all are of the same kind
    files.push_back({&file, share.writes});
    joint.options_.buffer_limit = std::min(joint.options_.buffer_limit, file.options_.buffer_limit);
    joint.joined_.push_back({&file, static_cast<VarId>(variables), share.last});
    for (const Request& r : share.writes) {
      file.coding(r.var);  // throws if this build cannot encode it
      all.push_back(r.for_layout());
      file.turn_request(all.back());
      all.back().var += joint.joined_.back().first;
    }
    variables += std::ssize(file.schema_.vars);
    if (variables > std::numeric_limits<VarId>::max())
      throw Error(Errc::einval, "too many variables to write together");
  }
  settle_shapes(comm, files);
  joint.write_together(all);
}

}  // namespace forebay::chunked
