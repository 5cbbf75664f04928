#include "sizes/capture.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "files/classic_file.h"
#include "layout/chunked/file_chunks.h"

namespace forebay::bench {
namespace {

/// Of a variable that has three dimensions beside records; else nothing.
std::optional<Lengths> domain_of(const Variable& var) {
  const std::size_t n = var.shape.size();
  if (!var.chunking || n - (var.is_record ? 1 : 0) < 3) return std::nullopt;
  return Lengths{var.shape[n - 3], var.shape[n - 2], var.shape[n - 1]};
}

/// Which elements along a dimension a block has: from begin(block) to begin(block + 1).
Count begin(Count block, Count blocks, Count length) { return block * length / blocks; }

class Capture {
 public:
  Capture(const Lengths& shape, const Lengths& domain) : domain_(domain) {
    grid_.shape = shape;
    grid_.bytes.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  }

  void add(const ChunkGrid::Box& box, Count bytes) {
    const std::size_t skip = box.first.size() - 3;
    std::array<std::vector<double>, 3> parts;  // of a chunk that each block has, by dimension
    for (std::size_t d = 0; d < 3; ++d) {
      const Count first = box.first[skip + d], length = box.extent[skip + d];
      for (Count b = 0; b < grid_.shape[d]; ++b) {
        const Count low = std::max(first, begin(b, grid_.shape[d], domain_[d]));
        const Count high = std::min(first + length, begin(b + 1, grid_.shape[d], domain_[d]));
        parts[d].push_back(static_cast<double>(std::max<Count>(high - low, 0)) /
                           static_cast<double>(length));
      }
    }
    std::size_t block = 0;
    for (const double z : parts[0])
      for (const double y : parts[1])
        for (const double x : parts[2])
          grid_.bytes[block++] += z * y * x * static_cast<double>(bytes);
  }

  SizeGrid take() { return std::move(grid_); }

 private:
  Lengths domain_;
  SizeGrid grid_;
};

}  // namespace

SizeGrid capture_sizes(const std::string& path, const Lengths& shape) {
  const ClassicFile file(path);
  const auto& vars = file.schema().vars;
  std::map<Lengths, Count> elements;
  for (const Variable& var : vars)
    if (const auto domain = domain_of(var)) elements[*domain] += var.inner_elements;
  if (elements.empty() || file.chunks() == nullptr)
    throw std::invalid_argument(path +
                                " has no variables in chunks or patches of three dimensions");
  const Lengths domain = std::max_element(elements.begin(), elements.end(), [](auto& a, auto& b) {
                           return a.second < b.second;
                         })->first;
  for (std::size_t d = 0; d < 3; ++d)
    if (domain[d] < shape[d])
      throw std::invalid_argument(path + ": fewer elements along a dimension than blocks");
  Capture capture(shape, domain);
  for (std::size_t v = 0; v < vars.size(); ++v) {
    const auto id = static_cast<VarId>(v);
    if (domain_of(vars[v]) != domain || file.chunks()->refused(id)) continue;
    const chunked::VariableCoding& coding = file.chunks()->coding(id);
    file.chunks()->table(id).for_each([&](Count entry, const chunked::Entry& e) {
      capture.add(coding.grid.box(entry / coding.parts()), e.bytes);
    });
  }
  SizeGrid grid = capture.take();
  grid.source = path.substr(path.rfind('/') + 1);
  return grid;
}

}  // namespace forebay::bench
