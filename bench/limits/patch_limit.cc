// The least time that a field in patches can take on this machine: coding alone, divided by the
// cores, and one stream of system calls (docs/patches.md, "Speed").
//
// One thread encodes each patch of a cube as the layout does, with transform, zfp, and the search
// for the largest tolerance that holds, and decodes it again; patches lie ready in external form,
// and nothing is exchanged, placed or awaited. What comes of it is written by one pwrite, and read
// back. Medians; each patch is compared with what it was.
//
//     forebay-patch-limit FIELD --type double --edge 256 --bound 1.5 --out FILE [--cores 2]
//     [--rounds 3]
//
// FIELD: edge³ numbers in the machine's order. With --codec another pipeline is timed, as for the
// numbers of encode_work().
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/byteorder.h"
#include "codec/pipeline.h"
#include "limits/posix_file.h"

namespace {

using namespace forebay;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

struct Options {
  std::string field, type = "double", out, codec;
  Count edge = 256, patch = 64;
  int levels = 4, cores = 2, rounds = 3;
  double bound = 0;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

/// One after another, in external form.
std::vector<Bytes> patches_of(const Options& o, std::size_t width) {
  std::ifstream in(o.field, std::ios::binary);
  std::vector<Bytes> patches;
  const auto row = static_cast<std::size_t>(o.patch) * width;
  const Count each = o.edge / o.patch;
  if (each * o.patch != o.edge) throw std::runtime_error("the edge is no multiple of the patch's");
  patches.resize(static_cast<std::size_t>(each * each * each));
  for (Bytes& patch : patches) patch.reserve(row * static_cast<std::size_t>(o.patch * o.patch));
  Bytes line(static_cast<std::size_t>(o.edge) * width), turned(line.size());
  for (Count z = 0; z < o.edge; ++z) {
    for (Count y = 0; y < o.edge; ++y) {
      in.read(reinterpret_cast<char*>(line.data()), std::ssize(line));
      if (!in) throw std::runtime_error(o.field + " is shorter than the cube");
      copy_swapped(turned.data(), line.data(), line.size(), static_cast<int>(width));
      for (Count x = 0; x < each; ++x) {
        Bytes& patch =
            patches[static_cast<std::size_t>((z / o.patch * each + y / o.patch) * each + x)];
        const auto from = turned.begin() + x * std::ssize(turned) / each;
        patch.insert(patch.end(), from, from + static_cast<std::ptrdiff_t>(row));
      }
    }
  }
  return patches;
}

template <typename T>
bool within(std::span<const std::byte> a, std::span<const std::byte> b, double bound) {
  for (std::size_t at = 0; at < a.size(); at += sizeof(T))
    if (!(std::abs(static_cast<double>(load_be<T>(a.data() + at)) -
                   static_cast<double>(load_be<T>(b.data() + at))) <= bound))
      return false;
  return true;
}

struct Round {
  double encode = 0, pwrite = 0, pread = 0, decode = 0;
  std::size_t bytes = 0;
};

Round one_round(const Options& o, const Pipeline& pipeline, const ChunkInfo& chunk,
                const std::vector<Bytes>& patches, CodecWorkspace& workspace) {
  Round round;
  std::vector<EncodedChunk> parts(static_cast<std::size_t>(pipeline.parts()));
  std::vector<std::size_t> lengths;
  Bytes stored;
  for (const Bytes& patch : patches) {
    const auto start = Clock::now();
    pipeline.encode(chunk, patch, parts, workspace);
    round.encode += since(start);
    for (const EncodedChunk& part : parts) {
      stored.insert(stored.end(), part.bytes.begin(), part.bytes.end());
      lengths.push_back(part.bytes.size());
    }
  }
  round.bytes = stored.size();
  {
    bench::PosixFile file(o.out, O_RDWR | O_CREAT | O_TRUNC);
    auto start = Clock::now();
    file.write_all(0, stored);
    round.pwrite = since(start);
    std::fill(stored.begin(), stored.end(), std::byte{});
    start = Clock::now();
    file.read_all(0, stored);
    round.pread = since(start);
    file.close();
  }
  Bytes back(patches[0].size());
  std::size_t at = 0;
  auto length = lengths.begin();
  for (const Bytes& patch : patches) {
    for (EncodedChunk& part : parts) {
      part = {{stored.data() + at, *length}, 0};
      at += *length++;
    }
    const auto start = Clock::now();
    pipeline.decode(chunk, parts, back, workspace);
    round.decode += since(start);
    if (!(chunk.type == Type::float64 ? within<double>(patch, back, o.bound)
                                      : within<float>(patch, back, o.bound)))
      throw std::runtime_error("a patch does not keep the bound");
  }
  return round;
}

void run(const Options& o) {
  const Type type = o.type == "float" ? Type::float32 : Type::float64;
  const auto patches = patches_of(o, static_cast<std::size_t>(size_of(type)));
  const ChunkInfo chunk{type, {o.patch, o.patch, o.patch}};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "wavelet:%d,zfp:accuracy=%.17g", o.levels, o.bound);
  const Pipeline pipeline = Pipeline::parse(o.codec.empty() ? text.data() : o.codec);
  CodecWorkspace workspace;
  std::vector<Round> rounds;
  rounds.reserve(static_cast<std::size_t>(o.rounds));
  for (int r = 0; r < o.rounds; ++r)
    rounds.push_back(one_round(o, pipeline, chunk, patches, workspace));
  const auto of = [&](double Round::*what) {
    std::vector<double> all(rounds.size());
    std::ranges::transform(rounds, all.begin(), what);
    return median(all);
  };
  const double encode = of(&Round::encode), decode = of(&Round::decode);
  const double pwrite = of(&Round::pwrite), pread = of(&Round::pread);
  const nlohmann::json told{
      {"encode", encode},        {"pwrite", pwrite}, {"write", encode / o.cores + pwrite},
      {"decode", decode},        {"pread", pread},   {"read", decode / o.cores + pread},
      {"bytes", rounds[0].bytes}};
  std::printf("%s\n", told.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("The least time that a field in patches can take.");
  app.add_option("field", o.field, "edge^3 numbers in the machine's order")->required();
  app.add_option("--type", o.type)->check(CLI::IsMember({"float", "double"}));
  app.add_option("--edge", o.edge);
  app.add_option("--patch", o.patch)->check(CLI::PositiveNumber);
  app.add_option("--levels", o.levels);
  app.add_option("--bound", o.bound)->required();
  app.add_option("--codec", o.codec,
                 "another one than patches have, which keeps the bound, for comparison");
  app.add_option("--out", o.out)->required();
  app.add_option("--cores", o.cores)->check(CLI::PositiveNumber);
  app.add_option("--rounds", o.rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    run(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "forebay-patch-limit: %s\n", e.what());
    return 1;
  }
  return 0;
}
