#include "workloads/arrays_field.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace forebay::bench {

FieldPattern::FieldPattern(const FieldOptions& options, int ranks)
    : options_(options), ranks_(ranks) {
  const MPI_Offset chunk = std::min(options.edge, options.chunk_edge);
  variable_ = {"v",
               options.is_float ? Element::Float : Element::Double,
               {options.edge, options.edge, options.edge},
               {chunk, chunk, chunk}};
  std::size_t bytes = size_of(variable_.type);
  for (const MPI_Offset length : options.shape) bytes *= static_cast<std::size_t>(length);
  std::ifstream in(options.file, std::ios::binary | std::ios::ate);
  if (!in || static_cast<std::size_t>(in.tellg()) != bytes)
    throw std::runtime_error(options.file + " has not the " + std::to_string(bytes) +
                             " bytes of such a field");
  values_.resize(bytes);
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(values_.data()), static_cast<std::streamsize>(bytes)))
    throw std::runtime_error(options.file + " cannot be read");
}

nlohmann::json FieldPattern::parameters() const {
  return {{"file", options_.file.substr(options_.file.rfind('/') + 1)},
          {"edge", options_.edge},
          {"bound", options_.bound}};
}

Box FieldPattern::block(std::size_t, int rank) const {
  const MPI_Offset n = options_.edge, first = n * rank / ranks_, last = n * (rank + 1) / ranks_;
  return {{first, 0, 0}, {last - first, n, n}};
}

void FieldPattern::fill(std::size_t, const Box& box, std::byte* out) const {
  const std::size_t width = size_of(variable_.type);
  const MPI_Offset planes = options_.shape[0], rows = options_.shape[1],
                   columns = options_.shape[2];
  std::byte* to = out;
  visit_rows(box, out, [&](const auto& at, std::byte*, MPI_Offset n) {
    const MPI_Offset row = (at[0] % planes * rows + at[1] % rows) * columns;
    for (MPI_Offset x = at[2]; x < at[2] + n;) {
      const MPI_Offset now = std::min(columns - x % columns, at[2] + n - x);
      const std::size_t bytes = static_cast<std::size_t>(now) * width;
      std::memcpy(to, values_.data() + static_cast<std::size_t>(row + x % columns) * width, bytes);
      to += bytes;
      x += now;
    }
  });
}

}  // namespace forebay::bench
