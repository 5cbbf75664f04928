#include "hdf5/connector/logged_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/copy_few.h"
#include "hdf5/connector/logged_selection.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {
namespace {

// Bytes converted at a time: small enough for the processor's cache.
constexpr std::size_t block_bytes = 256 << 10;

bool same_type(hid_t a, hid_t b) { return checked(H5Tequal(a, b), "comparing datatypes") > 0; }

/// Returns whether a conversion keeps some of what is there: fields of a compound type that the
/// other type lacks.
bool keeps_others(hid_t from, hid_t to) {
  H5T_cdata_t* data = nullptr;
  if (H5Tfind(from, to, &data) == nullptr || data == nullptr)
    throw Error(Errc::ebadtype, "HDF5 has no conversion between the datatypes of memory and file",
                "both must be of one class: numbers, text, compounds with fields of equal names");
  return data->need_bkg != H5T_BKG_NO;
}

/// Copies elements one after another from or to a selection of memory.
class Walk {
 public:
  Walk(hid_t space, std::size_t size) : size_(size) {
    if (space != H5S_BLOCK) runs_.emplace(space);
  }
  /// Calls use(offset in the buffer, bytes, offset in the packed elements).
  template <typename Use>
  void next(Count elements, Use&& use) {
    std::size_t packed = 0;
    if (!runs_) {
      use(static_cast<std::size_t>(done_) * size_, static_cast<std::size_t>(elements) * size_, 0);
      done_ += elements;
      return;
    }
    while (elements > 0) {
      const auto some = runs_->next(elements);
      if (some.empty())
        throw Error(Errc::einval, "memory and file select different numbers of elements");
      for (const Run& run : some) {
        const std::size_t bytes = static_cast<std::size_t>(run.length) * size_;
        use(static_cast<std::size_t>(run.offset) * size_, bytes, packed);
        packed += bytes;
        elements -= run.length;
      }
    }
  }

 private:
  std::size_t size_;
  std::optional<SelectionRuns> runs_;
  Count done_ = 0;
};

}  // namespace

void gather(const void* buffer, hid_t space, std::size_t size, std::span<std::byte> out) {
  Walk walk(space, size);
  walk.next(static_cast<Count>(out.size() / size), [&](std::size_t from, std::size_t bytes,
                                                       std::size_t to) {
    copy_few(&out[to], static_cast<const std::byte*>(buffer) + from, static_cast<Count>(bytes));
  });
}

void scatter(std::span<const std::byte> packed, hid_t space, std::size_t size, void* buffer) {
  Walk walk(space, size);
  walk.next(static_cast<Count>(packed.size() / size), [&](std::size_t to, std::size_t bytes,
                                                          std::size_t from) {
    copy_few(static_cast<std::byte*>(buffer) + to, &packed[from], static_cast<Count>(bytes));
  });
}

std::span<const std::byte> as_they_are(const MemoryElements& memory, const void* buffer) {
  if (memory.transformed || !same_type(memory.type, memory.file_type)) return {};
  const Offset begin =
      memory.space == H5S_BLOCK ? 0 : contiguous_begin(memory.space, memory.elements);
  if (begin < 0) return {};
  const std::size_t size = H5Tget_size(memory.type);
  return {static_cast<const std::byte*>(buffer) + static_cast<std::size_t>(begin) * size,
          static_cast<std::size_t>(memory.elements) * size};
}

bool needs_present(hid_t from, hid_t to) { return !same_type(from, to) && keeps_others(from, to); }

void pack(const MemoryElements& memory, const void* buffer, std::span<const std::byte> present,
          std::span<std::byte> out) {
  if (memory.transformed) {
    pack_transformed(memory, buffer, present, out);
    return;
  }
  const std::size_t from = H5Tget_size(memory.type), to = H5Tget_size(memory.file_type);
  if (same_type(memory.type, memory.file_type)) {
    gather(buffer, memory.space, to, out);
    return;
  }
  Walk walk(memory.space, from);
  const std::size_t larger = std::max(from, to);
  const auto at_once = static_cast<Count>(std::max<std::size_t>(1, block_bytes / larger));
  std::vector<std::byte> block(static_cast<std::size_t>(at_once) * larger), background;
  const bool keep = keeps_others(memory.type, memory.file_type);
  for (Count done = 0; done < memory.elements;) {
    const Count n = std::min(at_once, memory.elements - done);
    const auto part =
        out.subspan(static_cast<std::size_t>(done) * to, static_cast<std::size_t>(n) * to);
    walk.next(n, [&](std::size_t at, std::size_t bytes, std::size_t packed) {
      copy_few(&block[packed], static_cast<const std::byte*>(buffer) + at,
               static_cast<Count>(bytes));
    });
    if (keep) {
      background.assign(static_cast<std::size_t>(n) * larger, std::byte{0});
      if (!present.empty())
        std::memcpy(background.data(), &present[static_cast<std::size_t>(done) * to], part.size());
    }
    checked(H5Tconvert(memory.type, memory.file_type, static_cast<std::size_t>(n), block.data(),
                       keep ? background.data() : nullptr, memory.dxpl),
            "converting to the dataset's datatype");
    std::memcpy(part.data(), block.data(), part.size());
    done += n;
  }
}

void unpack(const MemoryElements& memory, std::vector<std::byte>& packed, void* buffer) {
  if (memory.transformed) {
    unpack_transformed(memory, packed, buffer);
    return;
  }
  const std::size_t from = H5Tget_size(memory.file_type), to = H5Tget_size(memory.type);
  if (same_type(memory.type, memory.file_type)) {
    scatter(packed, memory.space, to, buffer);
    return;
  }
  Walk values(memory.space, to), behind(memory.space, to);
  const std::size_t larger = std::max(from, to);
  const auto at_once = static_cast<Count>(std::max<std::size_t>(1, block_bytes / larger));
  std::vector<std::byte> block(static_cast<std::size_t>(at_once) * larger), background;
  const bool keep = keeps_others(memory.file_type, memory.type);
  auto* const bytes_of = static_cast<std::byte*>(buffer);
  for (Count done = 0; done < memory.elements;) {
    const Count n = std::min(at_once, memory.elements - done);
    std::memcpy(block.data(), &packed[static_cast<std::size_t>(done) * from],
                static_cast<std::size_t>(n) * from);
    if (keep) {
      background.assign(static_cast<std::size_t>(n) * larger, std::byte{0});
      behind.next(n, [&](std::size_t at, std::size_t bytes, std::size_t place) {
        copy_few(&background[place], bytes_of + at, static_cast<Count>(bytes));
      });
    }
    checked(H5Tconvert(memory.file_type, memory.type, static_cast<std::size_t>(n), block.data(),
                       keep ? background.data() : nullptr, memory.dxpl),
            "converting from the dataset's datatype");
    values.next(n, [&](std::size_t at, std::size_t bytes, std::size_t place) {
      copy_few(bytes_of + at, &block[place], static_cast<Count>(bytes));
    });
    done += n;
  }
}

}  // namespace forebay::vol
