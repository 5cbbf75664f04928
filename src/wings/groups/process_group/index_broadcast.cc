#include "groups/process_group/index_broadcast.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "groups/operators/operators.h"

namespace forebay::process_group {

namespace {

constexpr Count most_attributes = Count{256} << 20;

enum class Item : std::uint8_t { order, step, variable, changed, places, attribute };

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Reads the bytes of IndexBroadcast. They are trusted to be valid.
class Received {
 public:
  explicit Received(std::span<const std::byte> told) : rest_(told) {}

  bool at_end() const { return rest_.empty(); }
  template <typename T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::span<const std::byte> bytes() {
    const auto n = static_cast<std::size_t>(get<std::uint64_t>());
    const auto taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }
  std::string text() {
    const auto taken = bytes();
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  bp::Attribute attribute() {
    bp::Attribute attribute;
    attribute.name = text();
    attribute.type = get<bp::Type>();
    const auto values = bytes();
    attribute.values.assign(values.begin(), values.end());
    for (auto texts = get<std::uint64_t>(); texts > 0; --texts) attribute.texts.push_back(text());
    return attribute;
  }

 private:
  std::span<const std::byte> rest_;
};

/// Learns the properties of a variable from its first block in a step.
void learn(StoredIndex& index, const bp::Variable& said, const bp::Block& block) {
  const auto [found, is_new] = index.places.emplace(said.name, index.variables.size());
  const Kind kind = kind_of(block.at);
  const bool without_extents = bp::may_be_global(block.at);
  if (is_new) {
    StoredVariable& made = index.variables.emplace_back();
    made.variable = said;
    made.kind = kind;
    made.dimensions = dimensions_of(block.at);
    made.without_extents = without_extents;
  }
  StoredVariable& variable = index.variables[found->second];
  if (variable.without_extents && !without_extents) {
    variable.kind = kind;
    variable.without_extents = false;
    variable.varies = true;
  }
  const bool fits = kind == variable.kind || (without_extents && variable.kind == Kind::global);
  if (variable.variable.type != said.type || !fits ||
      variable.dimensions != dimensions_of(block.at))
    variable.fault = "its type or shape differs between steps";
  if (kind == Kind::global && variable.shape.empty()) variable.shape = block.at.shape;
  variable.varies |= variable.kind == Kind::global && variable.shape != block.at.shape;
  if (variable.unreadable.empty()) variable.unreadable = operators::why_unreadable(block);
  variable.longest_text = std::max(variable.longest_text, block.text.size());
}

}  // namespace

Said said_by(const bp::Variable& variable, bp::Block&& first) {
  return {variable.type, std::move(first.at), operators::why_unreadable(first), first.text.size()};
}

template <typename T>
void IndexBroadcast::put(T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  told_.insert(told_.end(), bytes.begin(), bytes.end());
}

void IndexBroadcast::put(std::span<const std::byte> some) {
  put(static_cast<std::uint64_t>(some.size()));
  told_.insert(told_.end(), some.begin(), some.end());
}

void IndexBroadcast::order(Container container, bp::Form form, bool swapped) {
  put(Item::order);
  put(container);
  put(form);
  put(static_cast<std::uint8_t>(swapped));
}

void IndexBroadcast::step(bool column_major, std::uint32_t time) {
  put(Item::step);
  put(static_cast<std::uint8_t>(column_major));
  put(time);
  ++steps_;
}

void IndexBroadcast::variable(const bp::Variable& variable, std::span<const std::byte> first) {
  put(Item::variable);
  put(bytes_of(variable.name));
  put(variable.type);
  put(first);
  places_.emplace_back();
}

void IndexBroadcast::changed(std::uint32_t number, bp::Type type,
                             std::span<const std::byte> first) {
  put(Item::changed);
  put(number);
  put(type);
  put(first);
}

void IndexBroadcast::place(std::uint32_t number, std::string_view name, const EntryPlace& place) {
  StepPlaces& places = places_[number];
  const std::uint32_t step = steps_ - 1;
  if (!places.empty() && places.back() == step)
    throw Error(Errc::ebad_file,
                "damaged: variable " + std::string(name) + " is twice in the index of a step", "");
  places.append(step, place);
}

std::vector<std::byte> IndexBroadcast::take() {
  for (std::size_t number = 0; number < places_.size(); ++number)
    for (const StepPlaces::Stretch& stretch : places_[number].stretches()) {
      put(Item::places);
      put(static_cast<std::uint32_t>(number));
      put(stretch);
    }
  for (StepPlaces& places : places_) places = {};
  return std::exchange(told_, {});
}

void IndexBroadcast::attribute(const bp::Attribute& attribute) {
  const std::size_t before = told_.size();
  put(Item::attribute);
  put(bytes_of(attribute.name));
  put(attribute.type);
  put(std::span<const std::byte>(attribute.values));
  put(static_cast<std::uint64_t>(attribute.texts.size()));
  for (const std::string& text : attribute.texts) put(bytes_of(text));
  attribute_bytes_ += static_cast<Count>(told_.size() - before);
  if (attribute_bytes_ > most_attributes)
    throw Error(Errc::ebad_file, "its attributes take more than 256 MiB",
                "write what is so large as variables");
}

Kind kind_of(const bp::Shape& at) {
  if (is_local_value(at) && at.count.empty()) return Kind::local_value;
  if (at.count.empty()) return Kind::scalar;
  if (at.shape.empty()) return Kind::local;
  return at.start.empty() ? Kind::joined : Kind::global;
}

std::size_t dimensions_of(const bp::Shape& at) {
  return std::max(at.count.size(), at.shape.size());
}

StoredIndex receive_index(std::span<const std::byte> told) {
  StoredIndex index;
  receive_more(index, told);
  return index;
}

void receive_more(StoredIndex& index, std::span<const std::byte> told) {
  bp::Origin& origin = index.origin;
  Received from(told);
  const auto learn_first = [&](const bp::Variable& variable) {
    bp::VariableEntry parsed(variable, from.bytes(), origin);
    bp::Block block;
    parsed.next(block);
    learn(index, variable, block);
  };
  while (!from.at_end()) {
    switch (from.get<Item>()) {
      case Item::order:
        index.container = from.get<Container>();
        origin.form = from.get<bp::Form>();
        origin.swapped = from.get<std::uint8_t>() != 0;
        break;
      case Item::step:
        origin.column_major = from.get<std::uint8_t>() != 0;
        index.column_major.push_back(origin.column_major);
        index.times.push_back(from.get<std::uint32_t>());
        break;
      case Item::attribute:
        index.attributes.push_back(from.attribute());
        break;
      case Item::places: {
        StoredVariable& variable = index.variables[from.get<std::uint32_t>()];
        variable.steps.append(from.get<StepPlaces::Stretch>());
        break;
      }
      case Item::changed: {
        const std::string& name = index.variables[from.get<std::uint32_t>()].variable.name;
        learn_first({name, from.get<bp::Type>()});
        break;
      }
      case Item::variable:
        learn_first({from.text(), from.get<bp::Type>()});
        break;
    }
  }
}

}  // namespace forebay::process_group
