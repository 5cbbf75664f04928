// forebay bundle plan: plans how to divide ranks among files that are written together
// (bundles/plan/bundle_plan.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text_table.h"
#include "bundles/plan/simulated_bundles.h"
#include "method/method_values.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

struct BundleOptions {
  std::string what, scheme, unit;
  std::vector<std::string> files;
  Count ranks = 0, ranks_per_node = 1;
  BundleRates rates;
  bool json = false;
};

// A size stands for a file that does not exist yet. An existing file or folder of that name wins.
std::int64_t bytes_of(const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::is_regular_file(text, failed)) {
    const auto bytes = fs::file_size(text, failed);
    if (!failed) return static_cast<std::int64_t>(bytes);
  }
  if (!fs::exists(text, failed))
    if (const auto size = parse_size(text)) return *size;
  throw Error(Errc::einval, text + " is neither a file nor a size",
              "give files, or sizes such as 1201MiB");
}

using Row = simulation::BundleForecast;

void print_table(const BundleOptions& options, const std::vector<std::int64_t>& bytes,
                 const std::vector<Row>& rows) {
  std::string sides = "lr";
  std::vector<std::string> head{"ranks of", "bytes"};
  for (const Row& row : rows) {
    sides += 'r';
    head.emplace_back(name_of(row.plan.scheme));
  }
  TextTable table(sides);
  table.add(head);
  for (std::size_t file = 0; file < bytes.size(); ++file) {
    std::vector<std::string> cells{printable(options.files[file], 40), grouped(bytes[file])};
    for (const Row& row : rows) cells.push_back(grouped(row.plan.group(file).ranks));
    table.add(cells);
  }
  const auto add = [&](const std::string& what, auto&& of) {
    std::vector<std::string> cells{what, ""};
    for (const Row& row : rows) cells.push_back(of(row));
    table.add(cells);
  };
  // The times of the file that takes longest.
  const auto slowest = [](const Row& row) {
    return *std::max_element(
        row.predicted.files.begin(), row.predicted.files.end(),
        [](const BundleCost& a, const BundleCost& b) { return a.seconds() < b.seconds(); });
  };
  add("shuffle, s", [&](const Row& row) { return fmt::format("{:.3f}", slowest(row).shuffle); });
  add("aggregation, s",
      [&](const Row& row) { return fmt::format("{:.3f}", slowest(row).aggregation); });
  add("write, s", [&](const Row& row) { return fmt::format("{:.3f}", slowest(row).write); });
  add("messages in", [&](const Row& row) { return grouped(slowest(row).messages); });
  add("predicted, s", [&](const Row& row) { return fmt::format("{:.3f}", row.predicted.seconds); });
  fmt::print("{} files, {} ranks, {} a node\n{}", bytes.size(), grouped(options.ranks),
             grouped(options.ranks_per_node), table.text());
}

Json to_json(const Row& row) {
  Json files = Json::array();
  for (std::size_t file = 0; file < row.plan.bytes.size(); ++file) {
    const BundleGroup& group = row.plan.group(file);
    const BundleCost& cost = row.predicted.files[file];
    files.push_back({{"bytes", row.plan.bytes[file]},
                     {"first_rank", group.first},
                     {"ranks", group.ranks},
                     {"messages_in", cost.messages},
                     {"bytes_in", cost.bytes_in},
                     {"aggregation_messages_in", cost.aggregation_messages},
                     {"aggregation_bytes_in", cost.aggregation_bytes},
                     {"shuffle_seconds", cost.shuffle},
                     {"aggregation_seconds", cost.aggregation},
                     {"write_seconds", cost.write}});
  }
  return {{"scheme", name_of(row.plan.scheme)},
          {"seconds", row.predicted.seconds},
          {"files", std::move(files)}};
}

int plan(BundleOptions options) {
  constexpr Count most = 1 << 30;
  if (options.ranks < 1 || options.ranks > most || options.ranks_per_node < 1 ||
      options.ranks_per_node > most)
    throw Error(Errc::einval, "ranks, and ranks of a node, are from 1 to 2^30");
  if (!options.unit.empty()) options.rates.unit_bytes = *parse_size(options.unit);
  if (options.rates.unit_bytes < 1) throw Error(Errc::einval, "a unit has one byte at least");
  std::vector<std::int64_t> bytes;
  for (const std::string& file : options.files) bytes.push_back(bytes_of(file));
  std::vector<BundleScheme> schemes(std::begin(bundle_schemes), std::end(bundle_schemes));
  if (!options.scheme.empty()) schemes = {*bundle_scheme(options.scheme)};
  const auto rows =
      simulation::forecast_bundle(bytes, static_cast<int>(options.ranks),
                                  static_cast<int>(options.ranks_per_node), schemes, options.rates);
  for (const Row& row : rows)
    if (!std::isfinite(row.predicted.seconds))
      throw Error(Errc::einval,
                  fmt::format("scheme {} would take more seconds than a number holds",
                              name_of(row.plan.scheme)),
                  "give rates of a machine: see forebay bundle --help");
  if (!options.json) {
    print_table(options, bytes, rows);
    return exit_done;
  }
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(to_json(row));
  print_json({{"ranks", options.ranks},
              {"ranks_per_node", options.ranks_per_node},
              {"schemes", std::move(json)}});
  return exit_done;
}

}  // namespace

static void add_bundle_command(CLI::App& app, int& status) {
  auto options = std::make_shared<BundleOptions>();
  Command command(app, "bundle",
                  "Plan how ranks are divided among files that are written together");
  command.add_option("WHAT", options->what, "plan: print all schemes, with predicted times")
      .one_of({"plan"})
      .required();
  command.add_option("FILE", options->files, "files, or sizes of files to come: 1201MiB")
      .required();
  command.add_option("--ranks", options->ranks, "how many ranks write them").required();
  command.add_option("--ranks-per-node", options->ranks_per_node, "of them on a node (default: 1)");
  command.add_option("--scheme", options->scheme, "only this one")
      .one_of({"off", "joint", "bps", "lps", "ips", "balanced"});
  command
      .add_option("--unit", options->unit,
                  "what one rank receives in whole: a window, a chunk, a plane (default: 1MiB)")
      .size();
  BundleRates& rates = options->rates;
  command.add_rate("--message", rates.message, "seconds for a message");
  command.add_rate("--node-bytes", rates.node_bytes, "bytes a second into a node");
  command.add_rate("--pairs", rates.pairs, "senders and receivers at a time that delay nobody");
  command.add_rate("--writer-bytes", rates.writer_bytes, "bytes a second that a rank writes");
  command.add_rate("--file-system-bytes", rates.file_system_bytes, "bytes a second of all ranks");
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "Schemes: off, one file after another; joint, one operation of all ranks; bps, lps, ips, "
      "groups of ranks by the sizes of files, of whole nodes, and with isolated traffic (Wang and "
      "others, the paper that Forebay's bundles come from); balanced, the least largest share. "
      "Seconds are a model's, by the rates that are given: they compare schemes, and are no "
      "measurement. Shuffle, aggregation, write and messages are those of the file that takes "
      "longest.");
  command.callback([options, &status] { status = plan(*options); });
}

extern const CommandEntry bundle_command{12, add_bundle_command};

}  // namespace forebay::tools
