// Makes BP4 directories of arbitrary blocks, even such as no writer makes, for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "groups/format/bp_write.h"

namespace forebay::bp {

struct MadeStep {
  std::vector<std::pair<Variable, std::vector<Block>>> variables;
  std::vector<Attribute> attributes;
};

inline void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

/// `values` are the bytes of data.0 from byte 64 on.
inline void make_directory(const std::filesystem::path& path, const std::vector<MadeStep>& steps,
                           std::span<const std::byte> values) {
  std::filesystem::create_directories(path);
  const auto head = [](const char* kind) {
    const auto bytes = print_head(kind);
    return Bytes(bytes.begin(), bytes.end());
  };
  Bytes data = head("Data"), metadata = head("Metadata"), index = head("Index Table");
  data.insert(data.end(), values.begin(), values.end());
  StepRecord record;
  for (const MadeStep& step : steps) {
    ++record.step;
    record.groups = std::ssize(metadata);
    append_groups_head(metadata, 0, 0);
    record.variables = std::ssize(metadata);
    Bytes entries;
    for (const auto& [variable, blocks] : step.variables) {
      Bytes printed;
      for (const Block& block : blocks) append_block(printed, variable, block);
      append_variable_head(entries, variable, 0, blocks.size(), std::ssize(printed));
      entries.insert(entries.end(), printed.begin(), printed.end());
    }
    append_elements_head(metadata, static_cast<std::uint32_t>(step.variables.size()),
                         std::ssize(entries));
    metadata.insert(metadata.end(), entries.begin(), entries.end());
    record.attributes = std::ssize(metadata);
    Bytes attributes;
    for (const Attribute& attribute : step.attributes)
      append_attribute(attributes, attribute, 0, static_cast<std::uint32_t>(record.step), 0);
    append_elements_head(metadata, static_cast<std::uint32_t>(step.attributes.size()),
                         std::ssize(attributes));
    metadata.insert(metadata.end(), attributes.begin(), attributes.end());
    record.end = std::ssize(metadata);
    const auto printed = print_record(record);
    index.insert(index.end(), printed.begin(), printed.end());
  }
  write_bytes(path / "data.0", data);
  write_bytes(path / "md.0", metadata);
  write_bytes(path / "md.idx", index);
}

}  // namespace forebay::bp
