#include "bundles/plan/bundle_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "base/error.h"

namespace forebay {

namespace {

using Wide = __int128;

constexpr std::pair<BundleScheme, std::string_view> names[] = {
    {BundleScheme::off, "off"}, {BundleScheme::joint, "joint"},
    {BundleScheme::bps, "bps"}, {BundleScheme::lps, "lps"},
    {BundleScheme::ips, "ips"}, {BundleScheme::balanced, "balanced"}};

/// The files of one group, and their bytes.
struct FileGroup {
  std::int64_t bytes = 0;
  std::vector<int> files;
};

/// Merges files into at most `most` groups, in the order of their first files.
std::vector<FileGroup> merged_groups(std::span<const std::int64_t> bytes, std::size_t most) {
  const auto more = [](const FileGroup& a, const FileGroup& b) {
    return std::pair(a.bytes, a.files[0]) > std::pair(b.bytes, b.files[0]);
  };
  std::vector<FileGroup> groups;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    groups.push_back({bytes[i], {static_cast<int>(i)}});
  if (groups.size() > most) {
    std::make_heap(groups.begin(), groups.end(), more);
    const auto least = [&] {
      std::pop_heap(groups.begin(), groups.end(), more);
      FileGroup group = std::move(groups.back());
      groups.pop_back();
      return group;
    };
    while (groups.size() > most) {
      FileGroup one = least(), other = least();
      if (one.files.size() < other.files.size()) std::swap(one, other);
      one.bytes += other.bytes;
      one.files.insert(one.files.end(), other.files.begin(), other.files.end());
      groups.push_back(std::move(one));
      std::push_heap(groups.begin(), groups.end(), more);
    }
  }
  for (FileGroup& group : groups) std::sort(group.files.begin(), group.files.end());
  std::sort(groups.begin(), groups.end(),
            [](const FileGroup& a, const FileGroup& b) { return a.files[0] < b.files[0]; });
  return groups;
}

std::size_t largest_of(const std::vector<FileGroup>& groups) {
  const auto less = [](const FileGroup& a, const FileGroup& b) { return a.bytes < b.bytes; };
  return static_cast<std::size_t>(std::max_element(groups.begin(), groups.end(), less) -
                                  groups.begin());
}

/// Returns whether a / m < b / n (bytes per rank).
bool less_a_rank(std::int64_t a, std::int64_t m, std::int64_t b, std::int64_t n) {
  return Wide{a} * n < Wide{b} * m;
}

/// Even shares, for files without any bytes.
std::vector<std::int64_t> even_shares(std::int64_t groups, std::int64_t all) {
  std::vector<std::int64_t> shares(static_cast<std::size_t>(groups), all / groups);
  for (std::int64_t i = 0; i < all % groups; ++i) ++shares[static_cast<std::size_t>(i)];
  return shares;
}

/// Adds ranks one by one to the group with most bytes per rank, until there are `all`.
void give(const std::vector<FileGroup>& groups, std::vector<std::int64_t>& shares,
          std::int64_t all) {
  for (auto left = all - std::accumulate(shares.begin(), shares.end(), std::int64_t{0}); left > 0;
       --left) {
    std::size_t most = 0;
    for (std::size_t i = 1; i < groups.size(); ++i)
      if (less_a_rank(groups[most].bytes, shares[most], groups[i].bytes, shares[i])) most = i;
    ++shares[most];
  }
}

/// Removes ranks one by one from the group that then has fewest bytes per rank, until there are
/// `all`.
void take(const std::vector<FileGroup>& groups, std::vector<std::int64_t>& shares,
          std::int64_t all) {
  for (auto over = std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) - all; over > 0;
       --over) {
    std::size_t least = groups.size();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (shares[i] == 1) continue;
      if (least == groups.size() ||
          less_a_rank(groups[i].bytes, shares[i] - 1, groups[least].bytes, shares[least] - 1))
        least = i;
    }
    --shares[least];
  }
}

/// The shares by eq. 3, including the ranks left over.
std::vector<std::int64_t> shares_of_bps(const std::vector<FileGroup>& groups, std::int64_t n,
                                        std::int64_t total) {
  std::vector<std::int64_t> shares;
  shares.reserve(groups.size());
  const auto spare = n - std::ssize(groups);
  for (const FileGroup& group : groups)
    shares.push_back(1 + static_cast<std::int64_t>(Wide{spare} * group.bytes / total));
  shares[largest_of(groups)] += n - std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  return shares;
}

/// The shares by eq. 4, in nodes.
std::vector<std::int64_t> shares_of_lps(const std::vector<FileGroup>& groups, std::int64_t nodes,
                                        std::int64_t total) {
  std::vector<std::int64_t> shares;
  shares.reserve(groups.size());
  const Wide spare = nodes - std::ssize(groups);
  for (const FileGroup& group : groups) {
    // Rounded; exactly half a node is rounded up.
    const Wide twice = 2 * spare * group.bytes / total;
    shares.push_back(1 + static_cast<std::int64_t>((twice + 1) / 2));
  }
  take(groups, shares, nodes);
  give(groups, shares, nodes);
  return shares;
}

std::vector<std::int64_t> balanced_shares(const std::vector<FileGroup>& groups, std::int64_t n,
                                          std::int64_t total) {
  std::vector<std::int64_t> shares;
  shares.reserve(groups.size());
  const Wide spare = n - std::ssize(groups);
  // These add up to at most n; adding ranks one by one passes through this state.
  for (const FileGroup& group : groups)
    shares.push_back(std::max<std::int64_t>(
        1, static_cast<std::int64_t>((spare * group.bytes + total - 1) / total)));
  give(groups, shares, n);
  return shares;
}

/// The whole part of a number >= 0; the largest integer if it is too large.
std::int64_t whole(double number) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  return number < static_cast<double>(most) ? static_cast<std::int64_t>(number) : most;
}

}  // namespace

std::string_view name_of(BundleScheme scheme) {
  for (const auto& [one, name] : names)
    if (one == scheme) return name;
  return {};
}

std::optional<BundleScheme> bundle_scheme(std::string_view name) {
  for (const auto& [one, known] : names)
    if (known == name) return one;
  return std::nullopt;
}

bool BundlePlan::operator==(const BundlePlan& other) const {
  const auto same = [](const BundleGroup& a, const BundleGroup& b) {
    return a.first == b.first && a.ranks == b.ranks && a.bytes == b.bytes;
  };
  return scheme == other.scheme && ranks == other.ranks && ranks_per_node == other.ranks_per_node &&
         bytes == other.bytes && group_of == other.group_of &&
         std::equal(groups.begin(), groups.end(), other.groups.begin(), other.groups.end(), same);
}

Rank BundlePlan::owner(std::size_t file, Count unit, Count units) const {
  const BundleGroup& to = group(file);
  return to.first + static_cast<Rank>(Wide{unit} * to.ranks / units);
}

std::string BundlePlan::text() const {
  std::string text = "scheme " + std::string(name_of(scheme)) + ", " + std::to_string(ranks) +
                     " ranks, " + std::to_string(ranks_per_node) + " a node\n";
  for (std::size_t file = 0; file < bytes.size(); ++file) {
    const BundleGroup& to = group(file);
    text += "file " + std::to_string(file) + ", " + std::to_string(bytes[file]) + " bytes: ";
    text += to.ranks == 1 ? "rank " + std::to_string(to.first)
                          : "ranks " + std::to_string(to.first) + " to " +
                                std::to_string(to.first + to.ranks - 1);
    text += "\n";
  }
  return text;
}

BundlePlan plan_bundle(std::span<const std::int64_t> bytes, int ranks, int ranks_per_node,
                       BundleScheme scheme) {
  if (ranks < 1 || ranks_per_node < 1)
    throw Error(Errc::einval, "a bundle of no ranks",
                "plan for one rank, and one a node, at least");
  std::int64_t total = 0;
  for (const std::int64_t size : bytes)
    if (size < 0 || __builtin_add_overflow(total, size, &total))
      throw Error(Errc::einval, "files of a bundle that have less than no bytes, or over 2^63",
                  "give the bytes of each");
  BundlePlan plan{scheme, ranks, ranks_per_node, {bytes.begin(), bytes.end()}, {}, {}};
  if (bytes.empty()) return plan;
  plan.group_of.resize(bytes.size());
  if (scheme == BundleScheme::off || scheme == BundleScheme::joint) {
    plan.groups.push_back({0, ranks, total});
    return plan;
  }
  const bool by_nodes = scheme == BundleScheme::lps;
  const int nodes = (ranks + ranks_per_node - 1) / ranks_per_node;
  const int slots = by_nodes ? nodes : ranks;
  const std::vector<FileGroup> groups = merged_groups(bytes, static_cast<std::size_t>(slots));
  const auto shares = total == 0                         ? even_shares(std::ssize(groups), slots)
                      : by_nodes                         ? shares_of_lps(groups, nodes, total)
                      : scheme == BundleScheme::balanced ? balanced_shares(groups, ranks, total)
                                                         : shares_of_bps(groups, ranks, total);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    // The last node may have fewer ranks.
    const std::int64_t step = by_nodes ? shares[i] * ranks_per_node : shares[i];
    const std::int64_t end = std::min<std::int64_t>(first + step, ranks);
    plan.groups.push_back(
        {static_cast<Rank>(first), static_cast<int>(end - first), groups[i].bytes});
    for (const int file : groups[i].files)
      plan.group_of[static_cast<std::size_t>(file)] = static_cast<int>(i);
    first = end;
  }
  return plan;
}

BundlePrediction predict(const BundlePlan& plan, const BundleRates& rates) {
  BundlePrediction all;
  const double n = plan.ranks;
  const bool isolated = plan.scheme == BundleScheme::ips;
  // Windows are distributed over all ranks.
  const bool dealt = plan.scheme == BundleScheme::joint || plan.scheme == BundleScheme::off;
  // The number of pairs that are active at a time: all groups send at once.
  double pairs = 0;
  for (const BundleGroup& group : plan.groups)
    pairs += isolated ? std::max(0.0, n - group.ranks) : group.ranks * (n - 1);
  const double crowd = 1 + pairs / rates.pairs;
  const double writers = dealt ? 1 : static_cast<double>(plan.bytes.size());
  // The files of one group are written one after another, but (except for off) in one operation.
  std::vector<double> files_of(plan.groups.size());
  for (const int group : plan.group_of) ++files_of[static_cast<std::size_t>(group)];
  const double writer_bytes = std::min(rates.writer_bytes, rates.file_system_bytes / writers);
  for (std::size_t file = 0; file < plan.bytes.size(); ++file) {
    const double members = plan.group(file).ranks;
    const auto bytes = static_cast<double>(plan.bytes[file]);
    const double units = std::ceil(bytes / static_cast<double>(rates.unit_bytes));
    BundleCost cost;
    double bytes_in = 0, messages = 0, parts = 0, part_bytes = 0;
    // A member of an isolated group has a part of each unit: its own, and what comes from the
    // ranks outside that send to it. The first member has most, or as much as any.
    const double sharers = std::ceil(n / members);
    if (isolated) {
      messages = units * (sharers - 1);
      bytes_in = bytes * (sharers - 1) / n;
      parts = units * (members - 1);
      part_bytes = bytes * (n - sharers) / n;
    } else {
      messages = units / members * (n - 1);
      bytes_in = bytes / members * (n - 1) / n;
      parts = units * (members - 1) / members;
      part_bytes = bytes * (members - 1) / members;
    }
    cost.messages = whole(std::ceil(messages));
    cost.bytes_in = whole(bytes_in);
    cost.aggregation_messages = whole(std::ceil(parts));
    cost.aggregation_bytes = whole(part_bytes);
    const double beside = std::min<double>(members, plan.ranks_per_node);
    cost.shuffle = messages * rates.message * crowd + bytes_in * beside / rates.node_bytes;
    // The group's root receives the parts that it does not own, and writes.
    cost.aggregation = parts * rates.message + part_bytes / rates.node_bytes;
    const double together = plan.scheme == BundleScheme::off
                                ? 1
                                : files_of[static_cast<std::size_t>(plan.group_of[file])];
    cost.write = bytes / writer_bytes + units * rates.call + rates.meeting / together;
    if (dealt && n > 1) cost.write += units * rates.hand_over / n;
    all.files.push_back(cost);
  }
  std::vector<double> of_group(plan.groups.size());
  for (std::size_t file = 0; file < all.files.size(); ++file)
    of_group[static_cast<std::size_t>(plan.group_of[file])] += all.files[file].seconds();
  for (const double seconds : of_group) all.seconds = std::max(all.seconds, seconds);
  return all;
}

}  // namespace forebay
