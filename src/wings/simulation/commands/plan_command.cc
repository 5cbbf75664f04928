// forebay plan: simulates in one process what the ranks of a job would do (simulation/simulate.h).
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "method/method.h"
#include "method/method_values.h"
#include "simulation/commands/plan_report.h"
#include "simulation/commands/workloads.h"
#include "simulation/simulate.h"
#include "simulation/simulated_chunks.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

/// An option that only some workloads have.
struct OwnOption {
  Option option;
  std::string name, workloads;
};

struct PlanOptions {
  WorkloadChoice workload;
  std::vector<OwnOption> own;
  Count ranks = 0, ranks_per_node = 0;
  std::string op = "write", hints, stripe, size, piece, total, chunk;
  simulation::Rates rates;
  bool json = false;
};

std::optional<Count> size_of(const std::string& text) {
  return text.empty() ? std::nullopt : parse_size(text);
}

Option add_size(Command& command, const std::string& name, std::string& value,
                const std::string& text) {
  return command.add_option(name, value, text).size();
}

constexpr const char* blocks = "contiguous strided checkerboard ior-strided ior-contiguous";
constexpr const char* blocks_of_pieces = "strided checkerboard ior-strided ior-contiguous";

void add_workload_options(Command& command, PlanOptions& o) {
  WorkloadChoice& w = o.workload;
  const auto of = [&](const char* workloads, const char* name, auto& value, const char* text) {
    return o.own.emplace_back(OwnOption{command.add_option(name, value, text), name, workloads})
        .option;
  };
  const auto size_of_its = [&](const char* workloads, const char* name, std::string& value,
                               const char* text) {
    o.own.push_back({add_size(command, name, value, text), name, workloads});
  };
  command
      .add_option("WORKLOAD", w.name,
                  "e3sm, contiguous, strided, checkerboard, ior-strided, ior-contiguous, btio, or "
                  "checkerboard2d, which is chunked: as forebay bench has them")
      .required();
  of("e3sm", "--case", w.e3sm_case, "e3sm: F atmosphere (default), G ocean, I land")
      .one_of({"F", "G", "I"});
  of("e3sm", "--history", w.history, "e3sm: which history file of F and I").one_of({"h0", "h1"});
  of("e3sm", "--data", w.data,
     "e3sm: folder of recorded maps and headers (default: FOREBAY_E3SM_DATA)");
  of("e3sm", "--generate", w.generate,
     "e3sm: generate the F pattern instead: ne=N (without recorded maps: ne=120)");
  of("e3sm", "--map-ranks", w.map_ranks,
     "e3sm: ranks that a generated map is made for (default: all)");
  of("e3sm", "--tile", w.tiles, "e3sm: repeat the horizontal dimensions so often");
  of("e3sm", "--records", w.records, "e3sm: records (default: F 1, G 5, I 7)");
  size_of_its(blocks, "--size", o.size, "blocks: bytes of a rank");
  size_of_its(blocks_of_pieces, "--piece", o.piece,
              "blocks: contiguous bytes, or a transfer of ior");
  of("btio", "--iterations", w.iterations, "btio: times that it writes");
  size_of_its("checkerboard2d", "--total", o.total, "checkerboard2d: bytes of the variable");
  size_of_its("checkerboard2d", "--chunk", o.chunk, "checkerboard2d: bytes of a chunk, about");
  of("btio checkerboard2d", "--grid", w.grid,
     "btio: points along an edge; checkerboard2d: chunks aligned with blocks, shared at their "
     "edges "
     "(default), or d5: twice a block");
}

void check_own_options(const PlanOptions& o) {
  const std::string name = " " + o.workload.name + " ";
  for (const OwnOption& own : o.own)
    if (own.option.given() && (" " + own.workloads + " ").find(name) == std::string::npos)
      throw Error(Errc::einval, fmt::format("plan: {} has no {}", o.workload.name, own.name),
                  "it is for " + own.workloads);
}

void add_machine_options(Command& command, PlanOptions& o) {
  command.add_option("--ranks", o.ranks, "how many").required();
  command.add_option("--ranks-per-node", o.ranks_per_node, "neighbours on one node").required();
  command.add_option("--op", o.op, "write (default) or read").one_of({"write", "read"});
  add_size(command, "--stripe", o.stripe,
           "bytes of a stripe of the file system (striping_unit): hand-overs are counted of them");
  command.add_option("--hints", o.hints, "keys of methods, as FOREBAY_HINTS has them")
      .type_name("KEY=VALUE;...");
  simulation::Rates& r = o.rates;
  command.add_rate("--network", r.network, "bytes a second into or out of a node");
  command.add_rate("--message-latency", r.message_latency, "seconds of a node for a message");
  command.add_rate("--copy", r.copy, "bytes a second that a node moves in memory");
  command.add_rate("--storage", r.storage, "bytes a second of storage, all nodes together");
  command.add_rate("--writer", r.writer, "bytes a second of storage, one node");
  command.add_rate("--call-latency", r.call_latency, "seconds of a system call");
  command.add_rate("--deflate", r.deflate, "bytes a second that a rank encodes with deflate:6");
  command.add_rate("--piece-time", r.piece, "seconds of a rank for a piece");
}

int whole(Count value, const char* option, int most) {
  if (value >= 1 && value <= most) return static_cast<int>(value);
  throw Error(Errc::einval,
              fmt::format("plan: {} {} is not a number from 1 to {}", option, value, most));
}

/// A key that changes what a run does, and its values for which the plan is right.
struct CountedKey {
  const char* name;
  std::vector<std::string> values;
  std::string advice;
};

void check_hints(const Method& method, const PlanOptions& o) {
  const bool chunked = o.workload.name == "checkerboard2d";
  const std::string layout = chunked ? "chunked" : "canonical";
  const CountedKey keys[] = {
      {"layout", {"canonical", layout}, "checkerboard2d is chunked, the others are canonical"},
      {"subfiling", {"none"}, "leave it out"},
      {"stage", {"auto", "direct"}, "what waits in a stage is not counted: leave it out"},
      {"exchange", {"auto", "shared"}, "give --ranks-per-node 1"},
      {"ranks_per_node", {"0", std::to_string(o.ranks_per_node)}, "--ranks-per-node says it"},
      {"chunk_read", {"auto", "owners"}, "leave it out: owners decode"},
  };
  for (const CountedKey& key : keys) {
    const std::string value = method_value(method, key.name);
    if (std::find(key.values.begin(), key.values.end(), value) == key.values.end())
      throw Error(Errc::einval, fmt::format("plan: {}={} is not simulated", key.name, value),
                  key.advice);
  }
}

void run_plan(PlanOptions& o) {
  check_own_options(o);
  Method method;
  apply_hints(method, o.hints, "--hints");
  apply_aliases(method);
  check_hints(method, o);
  if (const auto stripe = size_of(o.stripe)) method.striping_unit = *stripe;
  using simulation::Machine;
  Machine machine;
  machine.ranks = whole(o.ranks, "--ranks", Machine::most_ranks);
  machine.ranks_per_node = whole(o.ranks_per_node, "--ranks-per-node", Machine::most_per_node);
  machine.write = o.op == "write";
  machine.transport = transport_options(method);
  check(machine);
  WorkloadChoice& w = o.workload;
  w.size = size_of(o.size), w.piece = size_of(o.piece);
  w.total = size_of(o.total), w.chunk = size_of(o.chunk);
  const auto workload = make_plan_workload(w, machine.ranks, machine.write, method);
  const PlanSubject subject{w.name, machine, o.rates};
  if (workload->schema().any_chunked()) {
    const auto facts = simulate_chunks(*workload, machine, o.rates);
    o.json ? print_json(chunk_plan_json(subject, facts))
           : fmt::print("{}", chunk_plan_text(subject, facts));
  } else {
    const auto facts = simulate(*workload, machine, o.rates);
    o.json ? print_json(plan_json(subject, facts)) : fmt::print("{}", plan_text(subject, facts));
  }
}

}  // namespace

static void add_plan_command(CLI::App& app, int& status) {
  const auto options = std::make_shared<PlanOptions>();
  Command command(app, "plan",
                  "Count what a workload would do on any number of ranks: messages, bytes, "
                  "windows, memory, and a predicted time");
  add_workload_options(command, *options);
  add_machine_options(command, *options);
  command.add_flag("--json", options->json,
                   "print one JSON object, which forebay plot --plan draws");
  command.footer(
      "One process goes through the requests of one rank after another with the library's own "
      "planning, and neither sends nor stores anything: messages and their bytes are those that a "
      "run has (docs/performance.md). There are no rounds to count: each node sends one message "
      "for each window in which it has pieces and which another node writes, and a read has an "
      "answer for each.\n"
      "In bulk: where a call takes 100 us or more, a run finds that out from its first few writes, "
      "and carries out later operations as on a slow file. That small writes wait in memory then "
      "(stage=auto) is not counted: each operation is carried out by itself. Where calls take "
      "less, "
      "a run between nodes may write pieces of 256 B and more directly, as it finds that quicker, "
      "unless transport=aggregated is given: counted are windows.\n"
      "Predicted is the time of what takes longest in each operation: the network of the busiest "
      "node, its memory, storage, or the planning of the busiest rank. It is for comparing plans, "
      "at the rates that are given.\n"
      "Memory is that of the fullest rank at most: its share of the node's slots, messages under "
      "way and arriving, wishes of others for what they read, its requests with their lists, "
      "windows that its node visits, and the buffer of what it writes or reads for itself "
      "(direct); not the data itself.\n"
      "Hand-overs: how often a stripe passes from one writing node to another, at least.\n"
      "Of checkerboard2d messages and their time are of data alone, without heads and agreements, "
      "as if in one round; reads are counted as if owners decoded for all; and memory is not "
      "counted.");
  command.callback([options, &status] {
    run_plan(*options);
    status = exit_done;
  });
}

extern const CommandEntry plan_command{11, add_plan_command};

}  // namespace forebay::tools
