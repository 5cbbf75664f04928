// The container `classic`: netCDF's CDF-1, CDF-2 and CDF-5 (docs/formats.md). Variables lie in one
// file as the formats prescribe (layout canonical), except those that a ClassicPart keeps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "container/classic/moved.h"
#include "container/joint_container.h"
#include "layout/classic_part.h"
#include "plan/classic_placement.h"
#include "storage/file.h"
#include "transport/transport.h"

namespace forebay {

/// Returns the alignments that a method's keys ask for.
Alignment alignment_hints(const Method& method);

class ClassicContainer : public JointContainer {
 public:
  explicit ClassicContainer(const ContainerSite& site);
  ~ClassicContainer() override;

  bool create(bool exclusive, bool may_be_later, bool& made, const Tells& tells) override;
  void open() override;
  bool has_engine() const override { return transport_ != nullptr; }

  std::vector<std::byte> print() const override;
  Offset definitions_bytes() const override;
  void check_attribute(const std::string& name) const override;
  void set_chunk(Variable& var, std::span<const Count> shape) const override {
    set_chunk_by_program(schema_, site_.method, var, shape);
  }
  void set_filter(Variable& var, const std::string& pipeline) const override {
    set_filter_by_program(schema_, site_.method, var, pipeline);
  }
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

  bool is_being_made() const override { return being_made_; }
  FileIdentity wait_until_made() override;
  void made(const FileIdentity& file) override;
  void finish_making() override;
  ByteFile* values_file() override;
  bool has_weak_caches() const override { return file_.has_weak_caches(); }
  void put_off_definitions(bool put_off) override { puts_off_ = put_off; }
  bool definitions_wait() const override { return definitions_wait_; }
  void publish_alone() override;
  void published() override;
  void moved(const std::string& path) override { file_.moved(path); }

  void sync() override;
  void look_again() override { file_.look_again(); }
  void refresh_definitions() override;
  void publish_last() override;
  void fill_up(bool changed) override;
  void release() override;
  void close() override;
  std::string place_now() override { return file_.place_now(); }
  void remove(const std::string& place) override;
  std::vector<std::string> reasons() const override;

 protected:
  /// Returns whether the file at `place`, if there is one, may be this file.
  bool may_be_at(const std::string& place) const;
  /// Returns whether layouts may have files of their own beside the file.
  virtual bool in_directory() const { return false; }

 private:
  class Dispatch;
  using Moves = std::function<void(const std::function<void(const Move&)>&)>;

  /// The part of a layout that keeps some variable of the file.
  struct Kept {
    const LayoutEntry* layout;
    std::unique_ptr<ClassicPart> part;
    /// The part is in the file. Before that, in define mode, not all ranks need have it.
    bool in_file = false;
  };

  // classic.cc
  void share_file();
  bool create_later();
  void meet();
  void sync_name();
  // `on_root` is what rank 0 does first; it returns whether a thread does it. The last step is a
  // reduction.
  void find_stripes(bool makes, const std::function<bool()>& on_root, const Tells& tells);
  void make_engine();
  Kept make_part(const LayoutEntry& layout) const;
  bool has_part(const LayoutEntry& layout) const;
  void add_part(Kept kept);
  HeapPart* heap() const;
  /// Returns the last part that prints what it placed: the heap, if there is one.
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
  /// Returns the part that keeps a variable. Null: its layout is canonical.
  ClassicPart* keeper(const Variable& var) const;
  /// Null: its values lie in this file, where the classic formats prescribe.
  ApartPart* keeper_apart(const Variable& var) const;
  void parts_begin();

  // header.cc
  Schema stored() const { return stored(schema_); }
  Schema stored(const Schema& schema) const;
  /// Returns nothing if the schema is stored as it is.
  std::optional<Schema> changed_by_parts(const Schema& schema) const;
  std::vector<std::byte> print_header() const;
  void read_header();  // collective
  /// Collective. `beside`: what rank 0 writes before the header. `placed`: the same definitions as
  /// they are stored, or null.
  void write_definitions(const std::function<void()>& beside, Schema* placed);
  void write_header(Schema* placed = nullptr);  // rank 0 only; so is write_numrecs()
  void write_numrecs();

  Offset full_size() const;

  // placement.cc
  bool fills_anything() const;
  bool is_header_alone(const Schema* old) const;  // redefine() and fill_new() write only it
  Alignment alignment_for(const EnddefArguments& arguments) const;
  void settle_alignment(const Alignment& alignment);
  void relocate(const Moves& moves);                      // collective
  void move_variables(const Schema& old);                 // collective
  void clear_gaps(const Schema& old, const Schema& now);  // collective
  void clear_new(const Schema& old);                      // collective

  ContainerSite site_;
  const Comm& comm_;
  Schema& schema_;
  std::shared_ptr<File> file_owner_;
  File& file_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Layout> canonical_;
  std::vector<Kept> parts_;  // a heap is the last one
  bool has_plain_ = true;    // some variable belongs to no part
  bool puts_off_ = false, definitions_wait_ = false, being_made_ = false;
  bool has_new_name_ = false;  // this rank made the file, and no sync has come since
  PathSync path_sync_;
  bool named_alike_ = false;  // all ranks name the folder alike
  bool has_copies_ = false;   // other nodes may have copies; read only
  std::unique_ptr<Layout> layout_;
  mutable std::optional<Schema> printed_;  // as stored; print() leaves it to place()
  std::optional<Schema> placed_;           // as stored, on rank 0; place() leaves it to redefine()
  std::optional<Alignment> alignment_;     // settled at the first enddef since open
  Alignment hints_;                        // from the method
  EnddefArguments asked_;                  // by this enddef
  Moved moved_;
};

}  // namespace forebay
