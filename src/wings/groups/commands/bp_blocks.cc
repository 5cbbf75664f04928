#include "groups/commands/bp_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text_table.h"

namespace forebay::tools {
namespace {

/// Sums over the blocks of a variable.
struct Sum {
  Count steps = 0, blocks = 0;
  std::optional<std::size_t> last;
  FoundBlock range;  // over all blocks with a known range

  void add(const FoundBlock& block) {
    steps += last != block.step;
    last = block.step;
    ++blocks;
    if (!block.known) return;
    range.least = range.known ? std::min(range.least, block.least) : block.least;
    range.greatest = range.known ? std::max(range.greatest, block.greatest) : block.greatest;
    range.known = true;
  }
};

/// Calls on_block(variable, block) for each block of a variable, then done(variable, sum), for all
/// variables.
template <typename OnBlock, typename Done>
void each_variable(const std::string& path, OnBlock&& on_block, Done&& done) {
  Report report;
  const process_group::BpReader file(Comm(), path, report);
  for (std::size_t v = 0; v < file.variables().size(); ++v) {
    const std::string& name = file.variables()[v].variable.name;
    Sum sum;
    each_block(file, v, [&](const FoundBlock& block) {
      sum.add(block);
      on_block(name, block);
    });
    done(name, sum);
  }
}

}  // namespace

std::string place_of(const std::string& variable, const FoundBlock& block) {
  std::string text = fmt::format("step {}, {}", block.step, printable(variable));
  if (block.start.empty()) {
    text += fmt::format(", block {}", block.block);
    for (std::size_t d = 0; d < block.count.size(); ++d)
      text += fmt::format("{}{}", d == 0 ? " of " : " x ", block.count[d]);
    return text;
  }
  for (std::size_t d = 0; d < block.start.size(); ++d)
    text += fmt::format("{}{}:{}", d == 0 ? "[" : ", ", block.start[d],
                        block.start[d] + block.count[d]);
  return text + "]";
}

std::string range_of(const FoundBlock& block) {
  if (!block.known) return "not in the index";
  return fmt::format("{} to {}", static_cast<double>(block.least),
                     static_cast<double>(block.greatest));
}

static void put_range(Json& json, const FoundBlock& block) {
  json["least"] = block.known ? Json(static_cast<double>(block.least)) : Json();
  json["greatest"] = block.known ? Json(static_cast<double>(block.greatest)) : Json();
}

Json block_json(const FoundBlock& block) {
  Json json = {
      {"step", block.step}, {"block", block.block}, {"start", block.start}, {"count", block.count}};
  put_range(json, block);
  json["known"] = block.known;
  return json;
}

std::string blocks_text(const std::string& path, bool all) {
  std::string text, lines;
  each_variable(
      path,
      [&](const std::string& variable, const FoundBlock& block) {
        if (all) lines += fmt::format("    {}: {}\n", place_of(variable, block), range_of(block));
      },
      [&](const std::string& variable, const Sum& sum) {
        text += fmt::format("{}: {} steps, {} blocks, {}\n{}", printable(variable), sum.steps,
                            sum.blocks, range_of(sum.range), std::exchange(lines, {}));
      });
  return text;
}

Json blocks_json(const std::string& path, bool all) {
  Json json = Json::object(), list = Json::array();
  each_variable(
      path,
      [&](const std::string&, const FoundBlock& block) {
        if (all) list.push_back(block_json(block));
      },
      [&](const std::string& variable, const Sum& sum) {
        Json& item = json[variable] = {{"steps", sum.steps}, {"blocks", sum.blocks}};
        put_range(item, sum.range);
        if (all) item["list"] = std::exchange(list, Json::array());
      });
  return json;
}

}  // namespace forebay::tools
