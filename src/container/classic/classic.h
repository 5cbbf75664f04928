// The container `classic`: netCDF's CDF-1, CDF-2 and CDF-5 (docs/formats.md). Variables lie in one
// file as the formats say (layout canonical), but for what a layout's ClassicPart keeps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "container/container.h"
#include "layout/classic_part.h"
#include "plan/begins.h"
#include "storage/file.h"
#include "transport/transport.h"

namespace forebay {

/// What a method's keys ask for.
Alignment alignment_hints(const Method& method);

class ClassicContainer : public Container {
 public:
  explicit ClassicContainer(const ContainerSite& site);
  ~ClassicContainer() override;

  bool create(bool exclusive, bool may_be_later, bool& made, const Tells& tells) override;
  bool is_being_made() const override { return being_made_; }
  FileNumber wait_until_made() override;
  void made() override { being_made_ = false; }
  void open() override;
  bool has_engine() const override { return transport_ != nullptr; }

  std::vector<std::byte> print() const override;
  Offset definitions_bytes() const override;
  void check_attribute(const std::string& name) const override;
  void set_chunk(Variable& var, std::span<const Count> shape) const override;
  void set_filter(Variable& var, const std::string& pipeline) const override;
  void choose(const Schema* old) override;
  void place(const Schema* old, const EnddefArguments& arguments) override;
  std::vector<std::byte> print_placed() const override;
  void take_over(std::span<const std::byte> placed) override;
  bool redefine(const Schema* old) override;
  bool is_defined_by_root(const Schema* old) const override;
  bool fills_new(const Schema* old) const override;
  void fill_new(const Schema* old) override;
  std::shared_ptr<const Decomposition> stored_decomposition(int id) override;
  void write_definitions() override;

  Layout& layout() override { return *layout_; }
  bool publishes_records() const override { return any_begun_apart(); }
  bool has_fixed_places() const override { return !any_begun(); }
  std::optional<bool> has_last_work() const override;
  void publish() override;
  void fill_record(VarId var, Count record) override;
  bool is_regular() override { return file_.is_regular(); }
  std::shared_ptr<File> beside(Report& report) override;

  ByteFile* values_file() override;
  bool has_weak_caches() const override { return file_.has_weak_caches(); }
  void put_off_definitions(bool put_off) override { puts_off_ = put_off; }
  bool definitions_wait() const override { return definitions_wait_; }
  void publish_alone() override;
  void published() override;
  std::string place_now() override { return file_.place_now(); }
  void moved(const std::string& path) override { file_.moved(path); }
  void expect(std::uint64_t inode) override { file_.expect(inode); }

  void sync() override;
  void look_again() override { file_.look_again(); }
  void refresh_definitions() override;
  void publish_last() override;
  void fill_up(bool changed) override;
  void release() override;
  void close() override;
  void remove() override;
  std::vector<std::string> reasons() const override;

 protected:
  /// Whether layouts may have files of their own beside the file.
  virtual bool in_directory() const { return false; }

 private:
  class Dispatch;
  using Moves = std::function<void(const std::function<void(const Move&)>&)>;

  /// A layout's part, of a file in which some variable is its.
  struct Kept {
    const LayoutEntry* layout;
    std::unique_ptr<ClassicPart> part;
    /// It has begun there. Before, in define mode, ranks may differ in having it.
    bool in_file = false;
  };

  // classic.cc
  void share_file();
  bool create_later();
  void meet();
  // Which rank 0 does before; true: a thread does it. Its last step is a meeting.
  void find_stripes(bool makes, const std::function<bool()>& on_root, const Tells& tells);
  void make_engine();
  Kept make_part(const LayoutEntry& layout) const;
  static std::vector<const LayoutEntry*> part_layouts();  // that may be part of a classic file
  bool has_part(const LayoutEntry& layout) const;
  void add_part(Kept kept);
  HeapPart* heap() const;
  /// The one that has something to tell of what it placed: the heap, where there is one.
  ApartPart* last_apart() const;
  HeapPart* begun_heap() const;
  bool any_begun() const;
  bool any_begun_apart() const;
  template <typename F>
  void each_apart(F&& f) const {
    for (const Kept& kept : parts_)
      if (ApartPart* part = kept.part->apart()) f(*part);
  }
  template <typename F>
  void each_begun_apart(F&& f) const;
  /// Null: canonical.
  ClassicPart* keeper(const Variable& var) const;
  /// Null: its values lie where the classic formats say, in this file.
  ApartPart* keeper_apart(const Variable& var) const;
  void parts_begin();

  // header.cc
  Schema stored() const { return stored(schema_); }
  Schema stored(const Schema& schema) const;
  /// Nothing: it is stored as it is.
  std::optional<Schema> changed_by_parts(const Schema& schema) const;
  std::vector<std::byte> print_header() const;
  void read_header();  // collective
  /// Collective. `beside`: what rank 0 writes ahead of the header. `placed`: of the same
  /// definitions, as stored, or null.
  void write_definitions(const std::function<void()>& beside, Schema* placed);
  void write_header(Schema* placed = nullptr);  // rank 0 only, as the next
  void write_numrecs();

  Offset full_size() const;

  // placement.cc
  bool fills_anything() const;
  bool is_header_alone(const Schema* old) const;  // that redefine() and fill_new() write
  Alignment alignment_for(const EnddefArguments& arguments) const;
  void settle_alignment(const Alignment& alignment);
  void relocate(const Moves& moves);                                       // collective
  void clear_gaps(const Schema& old, const Schema& now);                   // collective
  void clear_new(const Schema& old);                                       // collective
  void fill_elements(const Variable& var, Offset offset, Count elements);  // local

  ContainerSite site_;
  const Comm& comm_;
  Schema& schema_;
  std::shared_ptr<File> file_owner_;
  File& file_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Layout> canonical_;
  std::vector<Kept> parts_;  // a heap last
  bool has_plain_ = true;    // some variable is nobody's
  bool puts_off_ = false, definitions_wait_ = false, being_made_ = false;
  bool named_alike_ = false;  // the folder, by all ranks
  std::unique_ptr<Layout> layout_;
  mutable std::optional<Schema> printed_;  // as stored, of print() for the place() behind it
  std::optional<Schema> placed_;           // as stored, on rank 0, for the redefine() behind it
  std::optional<Alignment> alignment_;     // settled at the first enddef since open
};

}  // namespace forebay
