// Ordering alone: the processor time it takes to bring the requests of one rank's log into file
// order, before anything is communicated or written (Hou 2023, §3.2.4, §3.3.5).
//
//     two-level    whole requests are sorted, only those that interleave are taken apart
//                  (layout/canonical/canonical.h): "set up" sorts and groups, "all" walks to the
//                  end as well
//     flatten      every request becomes a list of extents, all of them are sorted, what overlaps
//     is
//                  cut (layout/canonical/flattened.h); walked to the end
//
// Cases:
//     btio         cells of diagonal multi-partitioning, as `forebay-bench btio` writes them
//     apart        parts of the rows of a matrix, each request with rows of its own, shuffled
//     interleaved  parts of the columns: every request has a piece in every row
//
// forebay-order [--quick] [--json FILE]; exits with 1 where the two orders differ.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "layout/canonical/canonical.h"
#include "layout/canonical/flattened.h"

namespace {

using namespace forebay;

constexpr double enough_seconds = 0.2;  // of repetitions, for one figure
constexpr int samples = 5;

struct Case {
  std::string name;
  Schema schema;
  std::vector<Request> requests;
};

double processor_now() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Schema schema_of(const std::vector<Count>& shape) {
  Schema s;
  s.version = 5;
  Variable v;
  v.name = "x";
  v.type = Type::float64;
  for (std::size_t d = 0; d < shape.size(); ++d)
    v.dimids.push_back(s.add_dim({"d" + std::to_string(d), shape[d]}));
  s.vars[static_cast<std::size_t>(s.add_var(std::move(v)))].begin = 1 << 20;
  return s;
}

void add_request(Case& c, std::vector<Count> start, std::vector<Count> count) {
  Request& r = c.requests.emplace_back();
  r.write = true;
  r.element_size = 8;
  r.swap = 8;
  r.sequence = c.requests.size();
  r.selection = Subarray{std::move(start), std::move(count), {}};
}

// The middle rank of q² ranks.
Case btio(Count n, Count q, Count iterations) {
  Case c{"btio " + std::to_string(n) + "^3, " + std::to_string(q * q) + " ranks",
         schema_of({iterations, n, n, n, 5}),
         {}};
  const Count i = q / 2, j = q / 2;
  const auto cut = [&](Count p) { return n / q * p + std::min(n % q, p); };
  for (Count step = 0; step < iterations; ++step) {
    for (Count z = 0; z < q; ++z) {
      const Count y = (j - z + q) % q, x = (i + z) % q;
      add_request(c, {step, cut(z), cut(y), cut(x), 0},
                  {1, cut(z + 1) - cut(z), cut(y + 1) - cut(y), cut(x + 1) - cut(x), 5});
    }
  }
  return c;
}

Case apart(Count requests, Count rows) {
  Case c{
      "apart, " + std::to_string(requests) + " requests", schema_of({requests * rows, 1024}), {}};
  std::vector<Count> order;
  for (Count r = 0; r < requests; ++r) order.push_back(r);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (Count r : order) add_request(c, {r * rows, 256}, {rows, 64});
  return c;
}

Case interleaved(Count requests, Count rows) {
  Case c{"interleaved, " + std::to_string(requests) + " requests",
         schema_of({rows, requests * 16}),
         {}};
  for (Count r = 0; r < requests; ++r) add_request(c, {0, r * 16}, {rows, 8});
  return c;
}

// A sum that depends on every extent, so that none is left out by the compiler.
std::uint64_t walk(ExtentStream& stream) {
  std::array<Extent, 256> batch;
  std::uint64_t sum = 0;
  while (const std::size_t n = stream.next(batch)) {
    for (std::size_t i = 0; i < n; ++i)
      sum =
          sum * 31 + static_cast<std::uint64_t>(batch[i].offset + batch[i].length + batch[i].skip);
  }
  return sum;
}

// Neighbours may be cut at other places: compared is which byte goes where.
bool same_order(const Case& c) {
  CanonicalStream two_level(c.requests, c.schema, true);
  FlattenedStream flat(c.requests, c.schema);
  if (two_level.summary().bytes != flat.summary().bytes) return false;
  std::array<Extent, 1> a, b;
  for (;;) {
    const std::size_t n = two_level.next(a);
    if (n != flat.next(b)) return false;
    if (n == 0) return true;
    if (a[0].offset != b[0].offset || a[0].length != b[0].length || a[0].skip != b[0].skip)
      return false;
  }
}

template <typename Work>
double median_seconds(bool quick, Work work) {
  std::vector<double> found;
  volatile std::uint64_t kept = 0;
  for (int s = 0; s < (quick ? 1 : samples); ++s) {
    const double begin = processor_now();
    double passed = 0;
    int times = 0;
    do {
      kept = kept + work();
      ++times;
      passed = processor_now() - begin;
    } while (!quick && passed < enough_seconds / samples);
    found.push_back(passed / times);
  }
  std::sort(found.begin(), found.end());
  return found[found.size() / 2];
}

nlohmann::json measure(const Case& c, bool quick) {
  Count pieces = 0;
  for (const Request& r : c.requests) pieces += RequestCursor(r, c.schema).summary().pieces;
  const double set_up = median_seconds(quick, [&] {
    return static_cast<std::uint64_t>(CanonicalStream(c.requests, c.schema, true).summary().last);
  });
  const double all = median_seconds(quick, [&] {
    CanonicalStream stream(c.requests, c.schema, true);
    return walk(stream);
  });
  const double flat = median_seconds(quick, [&] {
    FlattenedStream stream(c.requests, c.schema);
    return walk(stream);
  });
  const auto ns = [&](double seconds) { return seconds / static_cast<double>(pieces) * 1e9; };
  std::printf("%-28s %9zu %10lld %10.4f %10.4f %10.4f %8.1f %8.2f %8.2f\n", c.name.c_str(),
              c.requests.size(), static_cast<long long>(pieces), set_up * 1e3, all * 1e3,
              flat * 1e3, flat / all, ns(all), ns(flat));
  return {{"workload", "order"},           {"of", c.name},
          {"requests", c.requests.size()}, {"pieces", pieces},
          {"set_up_seconds", set_up},      {"two_level_seconds", all},
          {"flatten_seconds", flat},       {"ratio", flat / all}};
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false;
  const char* json_path = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--quick")) quick = true;
    if (!std::strcmp(argv[i], "--json") && i + 1 < argc) json_path = argv[++i];
  }
  std::vector<Case> cases;
  if (quick) {
    cases.push_back(btio(13, 3, 2));
    cases.push_back(apart(50, 10));
    cases.push_back(interleaved(20, 10));
  } else {
    for (const Count n : {64, 128, 256}) {
      for (const Count q : {2, 4, 16}) cases.push_back(btio(n, q, 8));
    }
    cases.push_back(apart(100, 1000));
    cases.push_back(apart(10000, 10));
    cases.push_back(interleaved(16, 6000));
    cases.push_back(interleaved(1000, 100));
  }
  std::printf("ordering the requests of one rank; processor time, medians of %d\n",
              quick ? 1 : samples);
  std::printf("%-28s %9s %10s %10s %10s %10s %8s %8s %8s\n", "", "requests", "pieces", "set up ms",
              "all ms", "flatten ms", "ratio", "ns/piece", "flatten");
  nlohmann::json records = nlohmann::json::array();
  bool right = true;
  for (const Case& c : cases) {
    if (!same_order(c)) {
      std::printf("%s: the orders DIFFER\n", c.name.c_str());
      right = false;
    }
    records.push_back(measure(c, quick));
  }
  if (json_path) std::ofstream(json_path) << records.dump(1) << '\n';
  return right ? 0 : 1;
}
