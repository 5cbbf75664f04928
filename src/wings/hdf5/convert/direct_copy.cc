#include "hdf5/convert/direct_copy.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/fill_elements.h"
#include "base/hash.h"
#include "base/text_table.h"
#include "comm/agree.h"
#include "files/source.h"

namespace forebay::tools {
namespace {

constexpr Count least_bytes = 64 << 10;  // smaller datasets go through HDF5
// Large enough that few boxes cut a stored block, and small enough that data stays in a core's
// cache from reading to writing.
constexpr Count box_bytes = 1 << 20;

/// Returns false if the system cannot do it. Then zeros are written.
bool makes_hole(int fd, Offset place, Count bytes) {
  return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place, bytes) == 0;
}

struct Target {
  std::string path;
  std::vector<Count> extents;
  Count width;
  Offset place;
};

class DirectCopy {
 public:
  DirectCopy(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
             const Hdf5CopyOptions& options)
      : comm_(comm), in_(in), view_(view), path_(out), options_(options) {}

  Count run(const std::vector<std::string>& paths) {
    agree_on_error(comm_, attempt_to([&] {
                     find(paths);
                     const Descriptor out(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
                     if (out.get() < 0) throw system_error(errno, Errc::ecantwrite, "write", path_);
                     each("convert", [&](hid_t dataset, hid_t type, const Target& target,
                                         const Subarray& part) {
                       const auto bytes = room(part.elements() * target.width);
                       view_.read(dataset, type, part, bytes.data());
                       const Offset place =
                           target.place + flat_index(target.extents, part.start) * target.width;
                       if (!is_zero(bytes) || !makes_hole(out.get(), place, std::ssize(bytes)))
                         write_at(out.get(), place, bytes, path_);
                       if (options_.verify) hashes_.push_back(hash_of(bytes));
                     });
                   }));
    if (options_.verify) verify();
    return all_bytes_;
  }

 private:
  void find(const std::vector<std::string>& paths) {
    const Hdf5Id file = open_hdf5_file(path_);
    for (const std::string& path : paths) {
      const Hdf5Id dataset = owned(H5Dopen2(file, path.c_str(), H5P_DEFAULT), printable(path));
      const Hdf5Id type = owned(H5Dget_type(dataset), printable(path));
      const Hdf5Id space = owned(H5Dget_space(dataset), printable(path));
      const haddr_t place = H5Dget_offset(dataset);
      if (place == HADDR_UNDEF)
        throw Error(Errc::ehdferr, printable(path) + " has no space in the output");
      targets_.push_back({path, extents_of(space).now, static_cast<Count>(H5Tget_size(type)),
                          static_cast<Offset>(place)});
      Count bytes = targets_.back().width;
      for (const Count n : targets_.back().extents) bytes *= n;
      all_bytes_ += bytes;
    }
  }

  // Calls f for this rank's boxes of all datasets, which are opened one by one.
  template <typename F>
  void each(const char* step, hid_t file, const Hdf5View& view, F&& f) {
    Count box = 0, done = 0;
    for (const Target& target : targets_) try {
        const Blocks blocks(target.extents, {}, target.width, box_bytes, true);
        Hdf5Id dataset, type;
        for (Count b = 0; b < blocks.size(); ++b, ++box) {
          if (box % comm_.size() != comm_.rank()) continue;
          if (!dataset.valid()) {
            dataset = owned(H5Dopen2(file, target.path.c_str(), H5P_DEFAULT), "cannot be opened");
            type = owned(H5Tcopy(view.type(dataset)), "its type");
          }
          const Subarray part = blocks[b];
          f(dataset, type, target, part);
          done += part.elements() * target.width;
          if (options_.progress)
            options_.progress(step, std::min(done * comm_.size(), all_bytes_), all_bytes_);
        }
      } catch (const Error& error) {
        throw error.at(printable(target.path));
      }
  }
  template <typename F>
  void each(const char* step, F&& f) {
    each(step, in_, view_, f);
  }

  void verify() {
    agree_on_error(
        comm_, attempt_to([&] {
          const Hdf5Id file = open_hdf5_file(path_);
          std::size_t at = 0;
          each("verify", file, Hdf5View(),
               [&](hid_t dataset, hid_t type, const Target& target, const Subarray& part) {
                 const auto bytes = room(part.elements() * target.width);
                 Hdf5View().read(dataset, type, part, bytes.data());
                 if (hash_of(bytes) != hashes_[at++])
                   throw Error(Errc::eio, "verification: has other values in the output",
                               "the output was removed; try another disk");
               });
        }));
  }

  std::span<std::byte> room(Count bytes) {
    if (bytes > room_bytes_) {
      room_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
      room_bytes_ = bytes;
    }
    return {room_.get(), static_cast<std::size_t>(bytes)};
  }

  const Comm& comm_;
  hid_t in_;
  const Hdf5View& view_;
  const std::string& path_;
  const Hdf5CopyOptions& options_;
  std::vector<Target> targets_;
  Count all_bytes_ = 0;
  std::vector<std::uint64_t> hashes_;  // of this rank's boxes, in order
  std::unique_ptr<std::byte[]> room_;
  Count room_bytes_ = 0;
};

}  // namespace

bool is_worth_sharing(const Extents& extents, Count width) {
  if (extents.null || extents.now.empty()) return false;
  Count bytes = width;
  for (const Count n : extents.now)
    if (!multiply_fits(bytes, n, bytes)) return false;
  return bytes >= least_bytes;
}

bool fits_direct_copy(hid_t creation, const Extents& extents, Count width) {
  return is_worth_sharing(extents, width) && H5Pget_layout(creation) == H5D_CONTIGUOUS;
}

void prepare_direct_copy(hid_t creation) {
  checked(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "its properties");
  const FillRule rule = fill_rule_of(creation);
  if (rule.value == H5D_FILL_VALUE_USER_DEFINED || rule.time == H5D_FILL_TIME_ALLOC)
    checked(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "its fill value");
}

Count copy_direct(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                  const std::vector<std::string>& paths, const Hdf5CopyOptions& options) {
  return DirectCopy(comm, in, view, out, options).run(paths);
}

}  // namespace forebay::tools
