#include "sizes/size_grid.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace forebay::bench {
namespace {

constexpr const char* format = "forebay sizes 1";
constexpr Count most_blocks = Count{1} << 24;

[[noreturn]] void wrong(const std::string& what) { throw std::invalid_argument(what); }

}  // namespace

Lengths parse_lengths(const std::string& text) {
  Lengths lengths{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    const auto [rest, error] = std::from_chars(at, end, lengths[d]);
    const bool ends_well = d + 1 < lengths.size() ? rest != end && *rest == 'x' : rest == end;
    if (error != std::errc{} || lengths[d] < 1 || lengths[d] > most_blocks || !ends_well)
      wrong("a grid is three lengths, as 8x8x8, not " + text);
    at = rest + 1;
  }
  return lengths;
}

std::string print(const SizeGrid& grid) {
  nlohmann::json json = {{"format", format}, {"source", grid.source}, {"grid", grid.shape}};
  json["bytes"] = nlohmann::json::array();
  for (const double bytes : grid.bytes) json["bytes"].push_back(std::llround(bytes));
  return json.dump() + "\n";
}

SizeGrid parse_size_grid(const std::string& text) {
  SizeGrid grid;
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("format") != format) wrong("these are no sizes of blocks");
    grid.source = json.value("source", "");
    json.at("grid").get_to(grid.shape);
    json.at("bytes").get_to(grid.bytes);
  } catch (const nlohmann::json::exception& error) {
    wrong(std::string("these are no sizes of blocks: ") + error.what());
  }
  Count blocks = 1;
  for (const Count n : grid.shape) {
    if (n < 1 || n > most_blocks / blocks) wrong("a grid of sizes with impossible lengths");
    blocks *= n;
  }
  if (std::ssize(grid.bytes) != blocks) wrong("a grid has other numbers of blocks and sizes");
  for (const double bytes : grid.bytes)
    if (!(bytes >= 0 && bytes < 0x1p62)) wrong("a size that cannot be");
  return grid;
}

double size_at(const SizeGrid& grid, const Lengths& shape, const Lengths& block) {
  Lengths low{}, high{};
  std::array<double, 3> part{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto own = static_cast<double>(grid.shape[d]);
    const double middle = (static_cast<double>(block[d]) + 0.5) / static_cast<double>(shape[d]);
    const double at = std::clamp(middle * own - 0.5, 0.0, own - 1);
    low[d] = static_cast<Count>(at);
    high[d] = std::min(low[d] + 1, grid.shape[d] - 1);
    part[d] = at - static_cast<double>(low[d]);
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    Lengths at{};
    double weight = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      const bool upper = (corner >> d & 1) != 0;
      at[d] = upper ? high[d] : low[d];
      weight *= upper ? part[d] : 1 - part[d];
    }
    if (weight > 0) sum += weight * grid.at(at);
  }
  return sum;
}

}  // namespace forebay::bench
