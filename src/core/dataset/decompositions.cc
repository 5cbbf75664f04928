#include "dataset/decompositions.h"

#include <string>
#include <vector>

#include "base/attempt.h"

namespace forebay {

std::shared_ptr<const Decomposition> make_decomposition(const Dataset& file,
                                                        std::span<const DimId> dims,
                                                        const VarnPieces& pieces) {
  const Schema& schema = file.schema();
  if (dims.empty()) throw Error(Errc::einval, "a decomposition map has one dimension at least");
  std::vector<Count> shape;
  for (const DimId id : dims) {
    const Dimension& dim = schema.dim(id);
    if (dim.is_record())
      throw Error(Errc::eunlimpos, "dimension " + dim.name + " of a decomposition map is unlimited",
                  "give it to the variables that are defined by the map");
    shape.push_back(dim.length);
  }
  if (pieces.num < 0) throw Error(Errc::einval, "the number of a map's pieces is negative");
  if (schema.decompositions.size() >= most_decompositions)
    throw Error(Errc::einval, "a file has " + std::to_string(most_decompositions) +
                                  " decomposition maps at most");
  return std::make_shared<const Decomposition>(std::vector(dims.begin(), dims.end()),
                                               std::move(shape), file.comm().size(), pieces);
}

const Decomposition& decomposition_in(const Schema& schema, int id) {
  const auto& all = schema.decompositions;
  if (id < 0 || id >= static_cast<int>(all.size()) || !all[static_cast<std::size_t>(id)])
    throw Error(Errc::einval, "there is no decomposition map " + std::to_string(id));
  return *all[static_cast<std::size_t>(id)];
}

const Decomposition& decomposition_of(Dataset& file, VarId id) {
  const Variable& var = file.variable(id);
  if (var.decomposition < 0)
    throw Error(Errc::einval, "variable " + var.name + " was not defined by a decomposition map",
                "use put_varn, get_vara and the like");
  return *naming("variable " + var.name,
                 [&] { return &file.own_decomposition(var.decomposition); });
}

}  // namespace forebay
