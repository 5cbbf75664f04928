#include "simulation/commands/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text_table.h"
#include "method/method_values.h"

namespace forebay::tools {
namespace {

using simulation::ChunkPlanFacts;
using simulation::NodeFacts;
using simulation::PlanFacts;

// With more nodes, the list of single nodes would hide everything else.
constexpr std::size_t most_listed = 1 << 16;

std::string heading(const PlanSubject& s) {
  return fmt::format("{}, {}: {} on {} of {}\n", s.workload, s.machine.write ? "write" : "read",
                     counted(s.machine.ranks, "rank"), counted(s.machine.nodes(), "node"),
                     s.machine.ranks_per_node);
}

std::string memory_text(const simulation::MemoryFacts& m) {
  const std::pair<const char*, Count> parts[] = {{"slots", m.slots},   {"messages", m.mailbox},
                                                 {"wishes", m.wishes}, {"requests", m.requests},
                                                 {"visits", m.visits}, {"direct", m.direct}};
  std::string text = friendly_size(m.all()) + " of the fullest rank";
  const char* before = ": ";
  for (const auto& [name, bytes] : parts)
    if (bytes > 0)
      text += fmt::format("{}{} {}", std::exchange(before, ", "), name, friendly_size(bytes));
  return text;
}

Json subject_json(const PlanSubject& s) {
  const simulation::Rates& r = s.rates;
  return {{"workload", s.workload},
          {"op", s.machine.write ? "write" : "read"},
          {"ranks", s.machine.ranks},
          {"ranks_per_node", s.machine.ranks_per_node},
          {"nodes", s.machine.nodes()},
          {"stripe", s.machine.transport.striping_unit},
          {"rates",
           {{"network", r.network},
            {"message_latency", r.message_latency},
            {"copy", r.copy},
            {"storage", r.storage},
            {"writer", r.writer},
            {"call_latency", r.call_latency},
            {"deflate", r.deflate},
            {"piece", r.piece}}}};
}

Json prediction_json(const simulation::Prediction& p) {
  return {{"network", p.network},   {"copy", p.copy},     {"storage", p.storage},
          {"planning", p.planning}, {"coding", p.coding}, {"total", p.total}};
}

std::string prediction_text(const simulation::Prediction& p) {
  std::string text = fmt::format(
      "{:.3g} s: network {:.3g}, copy {:.3g}, storage {:.3g}, "
      "planning {:.3g}",
      p.total, p.network, p.copy, p.storage, p.planning);
  if (p.coding > 0) text += fmt::format(", coding {:.3g}", p.coding);
  return text;
}

template <typename F>
auto largest(const std::vector<NodeFacts>& nodes, F&& f) {
  Count value = 0;
  for (const NodeFacts& n : nodes) value = std::max(value, f(n));
  return value;
}

Count writers(const PlanFacts& f) {
  return std::count_if(f.nodes.begin(), f.nodes.end(),
                       [](const NodeFacts& n) { return n.windows > 0; });
}

}  // namespace

std::string plan_text(const PlanSubject& subject, const PlanFacts& f) {
  TextTable table("ll");
  table.add({"operations",
             fmt::format("{}, {} of them direct, {} in bulk", f.operations, f.direct, f.bulk)});
  table.add({"bytes", fmt::format("{} in {} of {}", friendly_size(f.bytes),
                                  counted(f.pieces, "piece"), counted(f.requests, "request"))});
  if (f.window > 0) {
    const Count writing = writers(f);
    table.add(
        {"windows", fmt::format("{} of {}; {} with {} at most, {:.1f} on average", f.windows,
                                friendly_size(f.window),
                                counted(writing, subject.machine.write ? "writer" : "reader"),
                                largest(f.nodes, [](const NodeFacts& n) { return n.windows; }),
                                static_cast<double>(f.windows) / static_cast<double>(writing))});
    table.add({"messages", fmt::format("{} of {} in all; a node sends {} and gets {} at most",
                                       f.messages, friendly_size(f.message_bytes),
                                       largest(f.nodes, [](auto& n) { return n.messages_out; }),
                                       largest(f.nodes, [](auto& n) { return n.messages_in; }))});
    table.add({"degree", fmt::format("{} nodes out, {} in, at most", f.out_degree, f.in_degree)});
  }
  table.add({"memory", memory_text(f.memory)});
  table.add({"hand-overs", f.hand_overs ? fmt::format("{} at least", *f.hand_overs)
                                        : "not counted: no stripe is given, or nothing written"});
  table.add({"predicted", prediction_text(f.predicted)});
  return heading(subject) + table.text();
}

std::string chunk_plan_text(const PlanSubject& subject, const ChunkPlanFacts& f) {
  TextTable table("ll");
  table.add(
      {"bytes", fmt::format("{} of {}", friendly_size(f.bytes), counted(f.requests, "request"))});
  table.add({"chunks", fmt::format("{}, {} of them touched by others than their owners; {}",
                                   f.chunks, f.shared, counted(f.owners, "owner"))});
  table.add({"moved", friendly_size(f.bytes_moved) + " between ranks"});
  table.add({"messages", fmt::format("{} at least, with {} of data between nodes", f.messages,
                                     friendly_size(f.message_bytes))});
  table.add({"degree", fmt::format("{} ranks out, {} in, at most", f.out_degree, f.in_degree)});
  table.add(
      {"balance", fmt::format("the busiest rank has {:.2f} times the mean work; {} of chunks "
                              "at most",
                              f.mean > 0 ? f.busiest / f.mean : 1, friendly_size(f.most_owned))});
  table.add({"memory", "not counted"});
  table.add({"predicted", prediction_text(f.predicted)});
  return heading(subject) + table.text();
}

Json plan_json(const PlanSubject& subject, const PlanFacts& f) {
  Json json = subject_json(subject);
  json["operations"] = f.operations;
  json["direct_operations"] = f.direct;
  json["bulk_operations"] = f.bulk;
  json["requests"] = f.requests;
  json["pieces"] = f.pieces;
  json["bytes"] = f.bytes;
  json["window"] = f.window;
  json["windows"] = f.windows;
  json["messages"] = f.messages;
  json["message_bytes"] = f.message_bytes;
  json["out_degree"] = f.out_degree;
  json["in_degree"] = f.in_degree;
  json["writers"] = writers(f);
  json["windows_a_writer"] = largest(f.nodes, [](const NodeFacts& n) { return n.windows; });
  json["hand_overs"] = f.hand_overs ? Json(*f.hand_overs) : Json();
  json["memory"] = {{"slots", f.memory.slots},   {"mailbox", f.memory.mailbox},
                    {"wishes", f.memory.wishes}, {"requests", f.memory.requests},
                    {"visits", f.memory.visits}, {"direct", f.memory.direct},
                    {"all", f.memory.all()}};
  json["predicted_seconds"] = prediction_json(f.predicted);
  if (f.nodes.size() > most_listed) return json;
  const auto list = [&](const char* name, Count NodeFacts::*member) {
    Json& values = json["per_node"][name] = Json::array();
    for (const NodeFacts& n : f.nodes) values.push_back(n.*member);
  };
  list("messages_out", &NodeFacts::messages_out);
  list("messages_in", &NodeFacts::messages_in);
  list("bytes_out", &NodeFacts::bytes_out);
  list("bytes_in", &NodeFacts::bytes_in);
  list("windows", &NodeFacts::windows);
  list("stored", &NodeFacts::stored);
  return json;
}

Json chunk_plan_json(const PlanSubject& subject, const ChunkPlanFacts& f) {
  Json json = subject_json(subject);
  json["requests"] = f.requests;
  json["bytes"] = f.bytes;
  json["chunks"] = f.chunks;
  json["shared_chunks"] = f.shared;
  json["owners"] = f.owners;
  json["accesses"] = f.accesses;
  json["bytes_moved"] = f.bytes_moved;
  json["messages"] = f.messages;
  json["message_bytes"] = f.message_bytes;
  json["out_degree"] = f.out_degree;
  json["in_degree"] = f.in_degree;
  json["busiest_over_mean"] = f.mean > 0 ? f.busiest / f.mean : 1;
  json["most_owned"] = f.most_owned;
  json["predicted_seconds"] = prediction_json(f.predicted);
  if (f.owned_by_node.size() <= most_listed) json["per_node"]["stored"] = f.owned_by_node;
  return json;
}

}  // namespace forebay::tools
