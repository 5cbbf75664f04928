// What Forebay's HDF5 connector costs a program that logs nothing: metadata-only work, native and
// through the connector, in one process and in turns, so that both see the same machine.
//
//     create   groups, scalar datasets and attributes are created and closed
//     open     all of them are opened by name and closed; shapes and types are asked for
//     inquire  link existence, object info, group info, iteration
//
// Processor time per call. A round does all of it natively and through the connector, one after the
// other; the overhead is the median over the rounds of the ratio of the two, so that what else the
// machine does, which changes more slowly than that, falls out. `--core` keeps the files in memory,
// which leaves HDF5's own work alone and so shows the largest share that the connector can have.
//
// forebay-vol-overhead [--objects N] [--rounds R] [--core] [--dir DIR]
//                      [--hints TEXT] [--limit PERCENT]
// exits with 1 when the connector costs more than --limit percent over all phases.
#include <hdf5.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "forebay_vol.h"

namespace {

constexpr std::array phase_names = {"create", "open", "inquire", "all"};

double processor_now() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

hid_t valid(hid_t id) {
  if (id < 0) throw std::runtime_error("a call of HDF5 failed");
  return id;
}

struct Work {
  std::string path;
  hid_t fapl;
  int objects;
};

// Each returns how many calls it made.

int create(const Work& work, hid_t file) {
  const hid_t space = valid(H5Screate(H5S_SCALAR));
  for (int i = 0; i < work.objects; ++i) {
    const std::string name = std::to_string(i);
    const hid_t group =
        valid(H5Gcreate2(file, ("g" + name).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t dataset = valid(
        H5Dcreate2(group, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t attribute =
        valid(H5Acreate2(dataset, "units", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
    valid(H5Awrite(attribute, H5T_NATIVE_INT, &i));
    valid(H5Aclose(attribute));
    valid(H5Dclose(dataset));
    valid(H5Gclose(group));
  }
  H5Sclose(space);
  return 7 * work.objects;
}

int open(const Work& work, hid_t file) {
  for (int i = 0; i < work.objects; ++i) {
    const std::string name = std::to_string(i);
    int value = -1;
    const hid_t group = valid(H5Gopen2(file, ("g" + name).c_str(), H5P_DEFAULT));
    const hid_t dataset = valid(H5Dopen2(group, "data", H5P_DEFAULT));
    const hid_t type = valid(H5Dget_type(dataset));
    const hid_t space = valid(H5Dget_space(dataset));
    const hid_t attribute = valid(H5Aopen(dataset, "units", H5P_DEFAULT));
    valid(H5Aread(attribute, H5T_NATIVE_INT, &value));
    if (value != i) throw std::runtime_error("an attribute has another value than was written");
    valid(H5Aclose(attribute));
    valid(H5Sclose(space));
    valid(H5Tclose(type));
    valid(H5Dclose(dataset));
    valid(H5Gclose(group));
  }
  return 11 * work.objects;
}

int inquire(const Work& work, hid_t file) {
  for (int i = 0; i < work.objects; ++i) {
    const std::string name = "g" + std::to_string(i);
    H5O_info2_t object;
    H5G_info_t group;
    valid(H5Lexists(file, name.c_str(), H5P_DEFAULT));
    valid(H5Oget_info_by_name3(file, name.c_str(), &object, H5O_INFO_ALL, H5P_DEFAULT));
    valid(H5Gget_info_by_name(file, name.c_str(), &group, H5P_DEFAULT));
  }
  hsize_t links = 0;
  valid(H5Literate2(
      file, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr,
      [](hid_t, const char*, const H5L_info2_t*, void* count) -> herr_t {
        ++*static_cast<hsize_t*>(count);
        return 0;
      },
      &links));
  return 3 * work.objects + 1;
}

// Microseconds a call, one for each phase.
std::array<double, 3> round(const Work& work) {
  std::array<double, 3> cost{};
  const auto timed = [&](int phase, auto&& body) {
    const double begin = processor_now();
    const int calls = body();
    cost.at(static_cast<std::size_t>(phase)) = 1e6 * (processor_now() - begin) / calls;
  };
  const hid_t file = valid(H5Fcreate(work.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, work.fapl));
  timed(0, [&] { return create(work, file); });
  timed(1, [&] { return open(work, file); });
  timed(2, [&] { return inquire(work, file); });
  valid(H5Fclose(file));
  return cost;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

hid_t access_list(bool in_memory, bool connector, const std::string& hints) {
  const hid_t fapl = valid(H5Pcreate(H5P_FILE_ACCESS));
  if (in_memory) valid(H5Pset_fapl_core(fapl, std::size_t{1} << 24, false));
  if (connector) valid(H5Pset_fapl_forebay(fapl, 0, nullptr, hints.c_str()));
  return fapl;
}

int run(int objects, int rounds, bool in_memory, const std::string& dir, const std::string& hints,
        double limit) {
  const std::array work = {
      Work{dir + "/vol-overhead-native.h5", access_list(in_memory, false, hints), objects},
      Work{dir + "/vol-overhead-forebay.h5", access_list(in_memory, true, hints), objects}};
  std::array<std::vector<std::array<double, 3>>, 2> costs;
  for (int r = -1; r < rounds; ++r) {  // the first warms up
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t turn = (static_cast<std::size_t>(r) + side) % 2;
      const auto cost = round(work.at(turn));
      if (r >= 0) costs.at(turn).push_back(cost);
    }
  }
  std::printf("%-8s %12s %12s %9s\n", "phase", "native us", "forebay us", "overhead");
  double overhead = 0;
  for (std::size_t phase = 0; phase <= 3; ++phase) {
    const auto of = [&](std::size_t side, std::size_t r) {
      const auto& cost = costs.at(side).at(r);
      return phase < 3 ? cost.at(phase) : cost[0] + cost[1] + cost[2];
    };
    std::vector<double> native, forebay, ratio;
    for (std::size_t r = 0; r < costs[0].size(); ++r) {
      native.push_back(of(0, r));
      forebay.push_back(of(1, r));
      ratio.push_back(of(1, r) / of(0, r));
    }
    overhead = 100 * (median(ratio) - 1);
    std::printf("%-8s %12.3f %12.3f %8.1f%%\n", phase_names.at(phase), median(native),
                median(forebay), overhead);
  }
  for (const Work& w : work) {
    H5Pclose(w.fapl);
    if (!in_memory) std::remove(w.path.c_str());
  }
  if (overhead <= limit) return 0;
  std::fprintf(stderr, "forebay-vol-overhead: %.1f %% is over the limit of %.1f %%\n", overhead,
               limit);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Overhead of Forebay's HDF5 connector on metadata-only work");
  int objects = 200, rounds = 100;
  bool in_memory = false;
  std::string dir = ".", hints = "layout=canonical";
  double limit = 1e9;
  app.add_option("--objects", objects, "groups, each with a dataset and an attribute")
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds, "rounds of each side")->check(CLI::PositiveNumber);
  app.add_flag("--core", in_memory, "files in memory");
  app.add_option("--dir", dir, "where files go");
  app.add_option("--hints", hints, "hints of the connector; layout=log makes log files");
  app.add_option("--limit", limit, "percent that fail the run when exceeded");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(objects, rounds, in_memory, dir, hints, limit);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "forebay-vol-overhead: %s\n", error.what());
    return 1;
  }
}
