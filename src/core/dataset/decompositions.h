// Decomposition maps of a dataset, made from the arguments of a call and found by a variable.
#pragma once

#include <memory>
#include <span>

#include "array/decomposition.h"
#include "dataset/dataset.h"

namespace forebay {

/// Local. Returns a decomposition map: this rank's pieces of an array of fixed dimensions, for
/// Dataset::def_decomposition(). Throws the errors of flatten_varn; also Errc::ebaddim, eunlimpos,
/// and einval without dimensions.
std::shared_ptr<const Decomposition> make_decomposition(const Dataset& file,
                                                        std::span<const DimId> dims,
                                                        const VarnPieces& pieces);

/// Local. Returns a map, perhaps without pieces. Errc::einval: there is no such map.
const Decomposition& decomposition_in(const Schema& schema, int id);

/// Local. Returns the map by which a variable was defined, with this rank's pieces
/// (Dataset::own_decomposition). Errc::einval: it was not defined by one.
const Decomposition& decomposition_of(Dataset& file, VarId var);

}  // namespace forebay
