#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/recorded_map.h"

namespace forebay::bench {

/// A recorded map file, opened with the library under test. Each rank reads it for itself.
class MapFile final : public RecordedMaps {
 public:
  /// Throws std::runtime_error if the file cannot be read.
  explicit MapFile(const std::string& path);
  ~MapFile() override;
  MapFile(const MapFile&) = delete;
  MapFile& operator=(const MapFile&) = delete;

 private:
  std::int64_t dim_length(const std::string& name) const override;
  std::vector<int> attribute(const std::string& name) const override;
  std::vector<int> ints(const std::string& name, std::int64_t start,
                        std::int64_t count) const override;

  int ncid_ = -1;
};

}  // namespace forebay::bench
