// A layout in one file, which no other file of the library knows: it keeps the elements of a
// variable (of each record) in reversed order, in the space that the variable has.
//
// A toy in that every element of an operation is an extent that it holds.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "layout/canonical/canonical.h"
#include "layout/classic_part.h"
#include "layout/codec_choice.h"
#include "layout/list_stream.h"

namespace forebay {

namespace {

constexpr const char* mark = "_toy";  // an attribute of each variable that it keeps

const LayoutEntry& toy();  // the entry, which stands below

class ToyLayout : public ClassicPart {
 public:
  explicit ToyLayout(const ClassicSite& site) : site_(site) {}

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    std::vector<Extent> reversed;
    const auto failed = attempt_to([&] {
      for (std::size_t v = 0; v < site_.schema.vars.size(); ++v) {
        const auto end = std::stable_partition(
            requests.begin(), requests.end(),
            [&](const Request& r) { return static_cast<std::size_t>(r.var) == v; });
        CanonicalStream stream(requests.first(static_cast<std::size_t>(end - requests.begin())),
                               site_.schema, write);
        Extent extent;
        while (stream.next({&extent, 1}) > 0) reverse(site_.schema.vars[v], extent, reversed);
      }
    });
    if (collective) {
      agree_on_error(site_.comm, failed);
    } else if (failed) {
      throw *failed;
    }
    ListStream stream(std::move(reversed));
    if (collective) return write ? site_.io.write_all(stream) : site_.io.read_all(stream);
    write ? site_.io.write(stream) : site_.io.read(stream);
  }

  bool keeps(const Variable& var) const override { return var.layout == &toy(); }

  void choose(const Schema* old, const KeptElsewhere& elsewhere) override {
    for (std::size_t i = old ? old->vars.size() : 0; i < site_.schema.vars.size(); ++i) {
      Variable& var = site_.schema.vars[i];
      if (!elsewhere(var) && layout_for(site_.method, var) == "toy") var.layout = &toy();
    }
  }

  Schema stored(const Schema& schema) const override {
    Schema stored = schema;
    for (Variable& var : stored.vars)
      if (keeps(var)) var.attributes.put({mark, Type::byte, 1, {std::byte{1}}});
    return stored;
  }

  Schema take_over(Schema stored) override {
    for (Variable& var : stored.vars) {
      const auto found = var.attributes.find(mark);
      if (!found) continue;
      var.attributes.remove(*found);
      var.layout = &toy();
    }
    return stored;
  }

 private:
  void reverse(const Variable& var, const Extent& extent, std::vector<Extent>& reversed) const {
    const Count width = size_of(var.type);
    for (Count done = 0; done < extent.length; done += width) {
      const Offset place = extent.offset + done - var.begin;
      const Count record = var.is_record ? place / site_.schema.recsize : 0;
      const Offset begin = var.begin + record * site_.schema.recsize;
      const Count element = (extent.offset + done - begin) / width;
      reversed.push_back({.offset = begin + (var.inner_elements - 1 - element) * width,
                          .length = width,
                          .memory = extent.memory + extent.skip + done,
                          .skip = 0,
                          .swap = extent.swap});
    }
  }

  ClassicSite site_;
};

}  // namespace

extern const LayoutEntry toy_layout{
    {"toy", "elements in reversed order", 900},
    {.make = [](const ClassicSite& site) -> std::unique_ptr<ClassicPart> {
       return std::make_unique<ToyLayout>(site);
     },
     .is_in =
         [](const Schema& stored) {
           return std::any_of(stored.vars.begin(), stored.vars.end(), [](const Variable& v) {
             return v.attributes.find(mark).has_value();
           });
         },
     .owns = [](std::string_view attribute) { return attribute == mark; },
     .instead = "layout=toy says it"}};

namespace {

const LayoutEntry& toy() { return toy_layout; }

// Leave this out in src, whose entries the build lists.
const AddedPart added(toy_layout);

}  // namespace

}  // namespace forebay
