// forebay checkpoint: lists and checks the files of checkpoints, and plans how often a model would
// run (checkpoints/inspect.h, checkpoints/plan/adjoint_runs.h).
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text_table.h"
#include "base/words.h"
#include "checkpoints/inspect.h"
#include "checkpoints/plan/adjoint_runs.h"
#include "method/method_values.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

using checkpoint::Inspection;
using checkpoint::Part;
using checkpoint::RankFiles;
using checkpoint::Record;
using checkpoint::StateId;

struct CheckpointOptions {
  std::string what, name;
  bool variables = false, json = false;
  Count steps = 0;
  std::string state, memory, fast, dir;
  double keeping = 0;
  std::vector<double> ratios{1, 2, 3, 5, 10, 20};
};

// -- ls

/// One state, summed over its ranks.
struct Held {
  Count ranks = 0, bytes = 0, raw_bytes = 0;
};

std::map<StateId, Held> states_of(const Inspection& found) {
  std::map<StateId, Held> states;
  for (const RankFiles& rank : found.ranks)
    for (const Record& record : rank.states) {
      Held& held = states[record.id];
      ++held.ranks;
      held.bytes += record.bytes;
      for (const Part& part : record.parts) held.raw_bytes += part.raw_bytes();
    }
  return states;
}

int ranks_of(const Inspection& found) {
  return found.ranks.empty() ? 0 : found.ranks.front().header.ranks;
}

std::string shape_text(const Part& part) {
  if (part.type == Type::none) return "bytes";
  return part.shape.empty() ? "scalar" : joined(part.shape, " x ");
}

/// Prints the variables of the first rank's latest state.
void print_variables(const Inspection& found) {
  if (found.ranks.empty() || found.ranks.front().states.empty()) return;
  const Record* latest = &found.ranks.front().states.front();
  for (const Record& record : found.ranks.front().states)
    if (record.id.kind == checkpoint::Kind::state) latest = &record;
  TextTable table("lllrrrl");
  table.add({"variable", "type", "shape", "bytes", "stored", "ratio", "codec"});
  for (const Part& part : latest->parts)
    table.add({printable(part.name, 60), part.type == Type::none ? "-" : name_of(part.type),
               shape_text(part), grouped(part.raw_bytes()), grouped(part.stored_bytes()),
               ratio_text(part.raw_bytes(), part.stored_bytes()), printable(part.codec, 60)});
  fmt::print("\n{} of rank {}\n{}", words_for(latest->id), found.ranks.front().header.rank,
             table.text());
}

Json to_json(const Inspection& found) {
  Json states = Json::array(), damage = Json::array();
  for (const auto& [id, held] : states_of(found))
    states.push_back({{"step", id.step},
                      {"kind", checkpoint::name_of(id.kind)},
                      {"ranks", held.ranks},
                      {"bytes", held.raw_bytes},
                      {"stored", held.bytes}});
  for (const std::string& what : found.damage) damage.push_back(what);
  for (const RankFiles& rank : found.ranks)
    for (const std::string& what : rank.damage) damage.push_back(what);
  return {{"ranks", ranks_of(found)}, {"states", std::move(states)}, {"damage", std::move(damage)}};
}

std::size_t print_damage(const Inspection& found) {
  std::size_t n = 0;
  const auto print = [&](const std::vector<std::string>& list) {
    for (const std::string& what : list) fmt::print("damaged: {}\n", printable(what));
    n += list.size();
  };
  print(found.damage);
  for (const RankFiles& rank : found.ranks) print(rank.damage);
  return n;
}

int list(const CheckpointOptions& options) {
  const Inspection found = checkpoint::inspect(options.name, false);
  if (options.json) {
    print_json(to_json(found));
    return exit_done;
  }
  const int ranks = ranks_of(found);
  TextTable table("llrrrr");
  table.add({"step", "kind", "bytes", "stored", "ratio", "ranks"});
  for (const auto& [id, held] : states_of(found))
    table.add({std::to_string(id.step), checkpoint::name_of(id.kind), grouped(held.raw_bytes),
               grouped(held.bytes), ratio_text(held.raw_bytes, held.bytes),
               held.ranks == ranks ? "all" : fmt::format("{} of {}", held.ranks, ranks)});
  fmt::print("{}: {} ranks\n{}", printable(options.name), grouped(ranks), table.text());
  if (options.variables) print_variables(found);
  print_damage(found);
  return exit_done;
}

// -- check

int check(const CheckpointOptions& options) {
  const Inspection found = checkpoint::inspect(options.name, true);
  std::size_t damaged = found.damage.size(), states = 0;
  for (const RankFiles& rank : found.ranks)
    damaged += rank.damage.size(), states += rank.states.size();
  if (options.json) {
    print_json(to_json(found));
    return damaged == 0 ? exit_done : exit_failed;
  }
  print_damage(found);
  Count lonely = 0;
  for (const auto& [id, held] : states_of(found))
    if (held.ranks < ranks_of(found) && !is_parity(id.kind)) ++lonely;
  if (lonely > 0)
    fmt::print("{} states are not there on all ranks: a job that goes on drops them\n", lonely);
  fmt::print("{}: {} states of {} ranks read, {}\n", printable(options.name),
             grouped(static_cast<long long>(states)), found.ranks.size(),
             damaged == 0 ? "all whole" : fmt::format("{} faults", damaged));
  return damaged == 0 ? exit_done : exit_failed;
}

// -- plan

struct NamedTier {
  const char* name;
  Count bytes;
};

int plan(const CheckpointOptions& options) {
  if (options.steps < 1 || options.state.empty())
    throw Error(Errc::einval, "a plan needs to know the run", "give --steps and --state");
  std::vector<NamedTier> tiers;
  for (const auto& [name, size] :
       {std::pair{"memory", options.memory}, {"fast", options.fast}, {"dir", options.dir}})
    if (!size.empty()) tiers.push_back({name, *parse_size(size)});
  if (tiers.empty())
    throw Error(Errc::einval, "there is no room for states", "give --memory, --fast or --dir");
  std::vector<Count> rooms;
  rooms.reserve(tiers.size());
  for (const NamedTier& tier : tiers) rooms.push_back(tier.bytes);
  const auto raw = static_cast<double>(*parse_size(options.state));
  if (raw < 1) throw Error(Errc::einval, "states of 0 bytes need no plan", "give --state");
  TextTable table("r" + std::string(2 + 3 * tiers.size(), 'r'));
  std::vector<std::string> head{"ratio", "advances", "a step"};
  for (const NamedTier& tier : tiers)
    for (const char* what : {"states", "writes", "reads"})
      head.push_back(fmt::format("{} {}", tier.name, what));
  table.add(head);
  Json json = Json::array();
  for (const double ratio : options.ratios) {
    if (!(ratio > 0)) throw Error(Errc::einval, "a ratio is a number above 0");
    if (!(raw / ratio < 0x1p62))
      throw Error(Errc::einval, fmt::format("a ratio of {:g} makes states too large", ratio));
    const auto bytes = std::max<Count>(1, static_cast<Count>(raw / ratio));
    const auto runs = simulation::forecast_adjoint(options.steps, bytes, rooms, options.keeping);
    std::vector<std::string> cells{fmt::format("{:g}", ratio), grouped(runs.advances),
                                   fmt::format("{:.2f}", static_cast<double>(runs.advances) /
                                                             static_cast<double>(options.steps))};
    Json told = {{"ratio", ratio}, {"advances", runs.advances}, {"repeats", runs.repeats}};
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      const auto& [states, writes, reads] = runs.tiers[t];
      for (const Count n : {states, writes, reads}) cells.push_back(grouped(n));
      told[tiers[t].name] = {{"states", states}, {"writes", writes}, {"reads", reads}};
    }
    table.add(cells);
    json.push_back(std::move(told));
  }
  if (options.json) {
    print_json({{"steps", options.steps}, {"ratios", std::move(json)}});
  } else {
    fmt::print("{} steps, states of {} divided by a codec's ratio\n{}", grouped(options.steps),
               options.state, table.text());
  }
  return exit_done;
}

int run_checkpoint(const CheckpointOptions& options) {
  if (options.what == "plan") return plan(options);
  if (options.name.empty())
    throw Error(Errc::einval, options.what + " of nothing", "give the name of the checkpoints");
  return options.what == "ls" ? list(options) : check(options);
}

}  // namespace

static void add_checkpoint_command(CLI::App& app, int& status) {
  auto options = std::make_shared<CheckpointOptions>();
  Command command(app, "checkpoint", "Look at checkpoints of adjoint computations, and plan runs");
  command
      .add_option(
          "WHAT", options->what,
          "ls: states and their sizes; check: read all of them; plan: how often a model runs")
      .one_of({"ls", "check", "plan"})
      .required();
  command.add_option("NAME", options->name,
                     "of checkpoints, as the program gave it, or one journal");
  command.add_flag("--variables", options->variables, "ls: the variables of the latest state, too");
  command.add_option("--steps", options->steps, "plan: of the run").not_negative();
  command.add_option("--state", options->state, "plan: bytes of a state without a codec").size();
  command.add_option("--memory", options->memory, "plan: room in memory").size();
  command.add_option("--fast", options->fast, "plan: room on a quick disk").size();
  command.add_option("--dir", options->dir, "plan: room in the file system").size();
  command.add_option("--keeping", options->keeping,
                     "plan: steps of the model that take as long as a state is kept (default: 0)");
  command
      .add_option("--ratio", options->ratios,
                  "plan: of the codec, several with commas (default: 1,2,3,5,10,20)")
      .delimiter(',');
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "Nothing is changed: a job may go on meanwhile, and check then may name what was being "
      "written. "
      "Advances are steps that run besides the one before each is reversed.");
  command.callback([options, &status] { status = run_checkpoint(*options); });
}

extern const CommandEntry checkpoint_command{13, add_checkpoint_command};

}  // namespace forebay::tools
