// The layout `patches` (Fan et al. 2021, §III, §IV): chunks that are cubes. Each is a hierarchy of
// levels in separate parts, so that a file can be read at any resolution with as many bytes as that
// needs. Patches are encoded, stored and found like other chunks. This file decides which variables
// are cut into patches, and how.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "codec/pipeline.h"
#include "layout/chunked/chunk_policy.h"
#include "layout/classic_part.h"
#include "layout/codec_choice.h"
#include "method/method_keys.h"
#include "patches/balance.h"
#include "patches/coarse_view.h"
#include "patches/deal_patches.h"
#include "plan/chunk_shape.h"

namespace forebay::patches {
namespace {

constexpr Count edge_in_3d = 64, edge_in_2d = 256;
constexpr int most_levels = 16;
/// An axis is halved only if it then has so many elements (Fan et al. 2021, §III-A; their example
/// of 64³ has one level more).
constexpr Count least_axis = 4;
constexpr const char* default_codec = "shuffle,zstd:3";

/// The chunk's shape: 1 along all dimensions except the last three that are not records.
std::vector<Count> shape_of(const Variable& var, const std::string& wanted) {
  const auto n = static_cast<std::size_t>(var.ndims());
  const std::size_t inner = n - (var.is_record ? 1 : 0);
  const std::size_t cut = std::min<std::size_t>(inner, 3);
  const Count edge = wanted != "auto" ? std::stoll(wanted) : cut == 2 ? edge_in_2d : edge_in_3d;
  std::vector<Count> shape(n, 1);
  for (std::size_t d = n - cut; d < n; ++d) shape[d] = std::min(edge, var.shape[d]);
  return shape;
}

/// Axes that are too short to be halved once are ignored and keep their length.
int levels_of(std::span<const Count> shape, int most) {
  Count shortest = 0;
  for (const Count n : shape)
    if (n >= 2 * least_axis) shortest = shortest == 0 ? n : std::min(shortest, n);
  int levels = 0;
  while (levels < most && ((shortest - 1) >> (levels + 1)) + 1 >= least_axis) ++levels;
  return shortest == 0 ? 0 : levels;
}

constexpr std::string_view edges[] = {"auto", "8", "16", "32", "64", "128", "256", "512", "1024"};
constexpr std::string_view orders[] = {"level", "patch"};
constexpr std::string_view balances[] = {"balanced", "groups"};

constexpr KeySpec keys[] = {
    word_key({"patch_edge", "auto|8|16|32|...|1024", "auto",
              "Elements along the edges of a patch; auto: 64, or 256 in two dimensions.", "engine"},
             nullptr, edges)
        .with("layout=patches"),
    count_key({"patch_levels", "a number, 1 to 16", "16",
               "How often a patch is halved, at most, along its three (two) axes; each keeps four "
               "elements in any case.",
               "engine"},
              nullptr, 1, most_levels)
        .with("layout=patches"),
    word_key({"patch_order", "level|patch", "level",
              "What lies together in the file: all patches of a level, which is what previews "
              "read, or all levels of a patch, which is what regions in full read.",
              "engine"},
             nullptr, orders)
        .with("layout=patches"),
    word_key(
        {"patch_files", "balanced|groups", "balanced",
         "Where subfiling asks for several files for patches: they go there by their sizes, so "
         "that all are about equally large; or each to the file of the ranks that encoded it.",
         "engine"},
        nullptr, balances)
        .with("layout=patches"),
    count_key({"read_level", "a number, 0 to 16", "0",
               "Of files with variables in patches that are opened for reading: programs see them "
               "at this level, where dimensions have ⌈n/2^k⌉ elements and other variables every "
               "2^k-th one (docs/patches.md).",
               "engine"},
              nullptr, 0, most_levels)
        .with("file=opened and layout=patches"),
};

/// How a variable is cut into patches whose details are encoded by the pipeline `codec`. Nothing if
/// it cannot be cut: it has no floating-point values, fewer than two dimensions besides records, or
/// axes too short to be halved. Errc::einval if hierarchies cannot use the codec.
std::optional<Chunking> patches_of(const Method& method, const Variable& var,
                                   const std::string& codec) {
  if (!is_floating(var.type) || var.ndims() - (var.is_record ? 1 : 0) < 2) return std::nullopt;
  std::vector<Count> shape = shape_of(var, method_value(method, "patch_edge"));
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::nullopt;
  const int levels = levels_of(shape, std::stoi(method_value(method, "patch_levels")));
  if (levels == 0) return std::nullopt;
  const std::string rest = codec.empty() || codec == "none" ? "" : "," + codec;
  const Pipeline pipeline = Pipeline::parse("wavelet:" + std::to_string(levels) + rest);
  check_chunk_shape(var, shape);
  return Chunking{std::move(shape), pipeline.text(),
                  "patches with " + std::to_string(levels) + " coarser levels"};
}

/// The lossless codec for data beside patches: the method's codec without its lossy stages.
std::string codec_beside_patches(const std::string& codec, Type type) {
  const Pipeline pipeline = Pipeline::parse(codec).lossless();
  return (pipeline.empty() ? Pipeline::parse(default_codec) : pipeline).for_type(type).text();
}

class PatchPolicy final : public chunked::ChunkPolicy {
 public:
  Chunking cut(const Method& method, const Variable& var) const override {
    const std::string& codec = var.chunking->codec;
    if (auto patches = patches_of(method, var, codec)) return *std::move(patches);
    return {{}, codec_beside_patches(codec, var.type), var.chunking->reason};
  }
  void deal(const Comm& comm, chunked::Operation& op, std::span<const chunked::Access> mine,
            const std::function<bool(const chunked::PlannedChunk&)>& is_its) const override {
    deal_patches(comm, op, mine, is_its);
  }
  bool stores_by_level(const Method& method) const override {
    return method_value(method, "patch_order") == "level";
  }
  bool balances_files(const Method& method) const override {
    return method_value(method, "patch_files") == "balanced";
  }
  std::vector<std::uint32_t> share_out(const Comm& comm,
                                       std::span<const chunked::WrittenVariable> written,
                                       std::span<const chunked::SizedChunk> mine,
                                       Count files) const override {
    return patches::share_out(comm, written, mine, files);
  }
};

constexpr PatchPolicy policy;

}  // namespace

}  // namespace forebay::patches

namespace forebay {

extern const LayoutEntry patches_layout{
    {"patches",
     "floating-point fields are cut into cubes, each a hierarchy that is read at any resolution; "
     "all else as chunked, without loss",
     25, patches::keys, netcdf_files, Encoded::chunks, ""},
    {},
    &patches::policy,
    CoarseView::of};

}  // namespace forebay
