#include "layout/codec_choice.h"

#include "base/error.h"
#include "codec/quantise.h"
#include "format/anchor.h"
#include "method/part.h"

namespace forebay {

bool is_coordinate(const Schema& schema, const Variable& var) {
  return var.ndims() == 1 && schema.dims[static_cast<std::size_t>(var.dimids[0])].name == var.name;
}

const std::string& layout_for(const Method& method, const Variable& var) {
  return variable_value(method, var.name, "layout");
}

namespace {

// Only a layout makes hierarchies.
Pipeline asked_for(const std::string& text) {
  Pipeline pipeline = Pipeline::parse(text);
  if (pipeline.parts() > 1)
    throw Error(Errc::einval, "codec " + pipeline.text() + ": a hierarchy is no codec to choose",
                "layout=patches makes it; name the codec of its details");
  return pipeline;
}

}  // namespace

std::string codec_for(const Method& method, const Schema& schema, const Variable& var) {
  const std::string& text = variable_value(method, var.name, "codec");
  const Pipeline pipeline = asked_for(text);
  if (pipeline.lossy() && !has_rule(method, var.name, "codec") && is_coordinate(schema, var))
    return pipeline.lossless().for_type(var.type).text();
  return pipeline.for_type(var.type).text();
}

std::string codec_by_program(const Variable& var, const std::string& text) {
  const Pipeline pipeline = Pipeline::parse(text);
  if (pipeline.lossy() && !is_floating(var.type)) {
    throw Error(Errc::einval,
                "variable " + var.name + " of type " + name_of(var.type) +
                    " cannot go through the lossy codec " + pipeline.text(),
                "use a lossless one: deflate, zstd, shuffle, bitshuffle");
  }
  return pipeline.for_type(var.type).text();
}

void add_quantisation(Variable& var) {
  const auto by = quantisation_of(var.chunking ? var.chunking->codec : var.slab_codec.value_or(""));
  if (!by) return;
  for (const char* name : {by->netcdf_attribute(), by->cf_attribute()}) {
    const auto known = anchors::integers_of(var.attributes, name);
    if (known && known->size() == 1 && (*known)[0] <= by->number) continue;
    var.attributes.put(anchors::integers(name, std::vector<std::int32_t>{by->number}));
  }
}

Pipeline stored_pipeline(const Variable& var, const std::string& codec) {
  try {
    return Pipeline::parse(codec).for_type(var.type);
  } catch (const Error& error) {
    if (error.code() == Errc::enomem) throw;
    throw Error(Errc::enotsupport,
                "variable " + var.name + " is encoded with \"" + codec +
                    "\", which cannot be read: " + error.message(),
                error.code() == Errc::einval && !absent_names().empty()
                    ? "use a build with all wings"
                    : error.advice());
  }
}

}  // namespace forebay
