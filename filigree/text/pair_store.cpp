#include "filigree/text/pair_store.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "filigree/base/error.h"
#include "filigree/base/hash.h"

namespace filigree::text {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr uint64_t kMagic = 0x7352694150676c46u;  // "FlgPAiRs"
constexpr uint32_t kVersion = 1;
constexpr uint64_t kAlignment = 8;
constexpr int64_t kBlock = 64;

struct Header {
  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t id_bytes = 0;
};

struct Footer {
  uint64_t pairs = 0, corpora = 0, bytes_of_ids = 0;
  uint64_t index_hash = 0;
  uint64_t own_hash = 0;  // of the fields before

  uint64_t hash() const { return hash_bytes(this, offsetof(Footer, own_hash), kMagic); }
};

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

// Where things are, as offsets in the file.
struct Layout {
  uint64_t ids = sizeof(Header);
  uint64_t index, lengths, checksums, corpora, footer, end;

  Layout(uint64_t bytes_of_ids, uint64_t pairs, uint64_t sources) {
    index = ids + bytes_of_ids;
    lengths = aligned(index);
    checksums = lengths + pairs * sizeof(PairLength);
    corpora = aligned(checksums + pairs * sizeof(uint32_t));
    footer = corpora + sources * SourceReport::kCounts * sizeof(int64_t);
    end = footer + sizeof(Footer);
  }
};

// Of a pair's bytes and of its number, so that two pairs that changed places are noticed.
uint32_t checksum(std::string_view bytes, uint64_t number) {
  return static_cast<uint32_t>(hash_bytes(bytes, number));
}

void append_ids(std::string& bytes, std::span<const int32_t> ids, size_t id_bytes) {
  for (const int32_t id : ids) bytes.append(reinterpret_cast<const char*>(&id), id_bytes);
}

void take_ids(const char*& place, std::vector<int32_t>& ids, size_t count, size_t id_bytes) {
  ids.assign(count, 0);
  for (int32_t& id : ids) {
    std::memcpy(&id, place, id_bytes);
    place += id_bytes;
  }
}

}  // namespace

PairStore::PairStore(const std::filesystem::path& path) : file_(path) { check_and_map_index(); }

void PairStore::check_and_map_index() {
  const auto require = [&](bool good, const char* problem) {
    if (!good) throw Error("{}: {}", file_.path().string(), problem);
  };
  require(file_.size() >= Layout(0, 0, 0).end, "damaged: cut short");
  Header header;
  file_.read(0, &header, sizeof(header));
  require(header.magic == kMagic, "is not a file of tokenised pairs");
  require(header.version == kVersion, "is of another version");
  id_bytes_ = header.id_bytes;
  require(id_bytes_ == 2 || id_bytes_ == 4, "damaged: its header is impossible");
  Footer footer;
  file_.read(file_.size() - sizeof(footer), &footer, sizeof(footer));
  require(footer.hash() == footer.own_hash, "damaged: cut short, or its footer has changed");
  const Layout layout(footer.bytes_of_ids, footer.pairs, footer.corpora);
  require(layout.end == file_.size(), "damaged: its size is not that of its content");

  index_ = file_.map(layout.index, layout.footer - layout.index);
  const std::byte* const bytes = index_.bytes().data();
  fingerprint_ = hash_bytes(bytes, index_.bytes().size());
  require(fingerprint_ == footer.index_hash, "damaged: its index has changed");
  const auto at = [&](uint64_t offset) { return bytes + (offset - layout.index); };
  lengths_ = {reinterpret_cast<const PairLength*>(at(layout.lengths)), footer.pairs};
  checksums_ = {reinterpret_cast<const uint32_t*>(at(layout.checksums)), footer.pairs};
  for (uint64_t i = 0; i < footer.corpora; ++i) {
    std::array<int64_t, SourceReport::kCounts> counts;
    std::memcpy(counts.data(), at(layout.corpora + i * sizeof(counts)), sizeof(counts));
    corpora_.emplace_back().set_counts(counts);
  }
  uint64_t ids = 0;
  for (int64_t i = 0; i < size(); ++i) {
    if (i % kBlock == 0) block_begins_.push_back(ids);
    const PairLength length = lengths_[static_cast<size_t>(i)];
    ids += static_cast<uint64_t>(length.source) + static_cast<uint64_t>(length.target);
  }
  int64_t kept = 0;
  for (const SourceReport& corpus : corpora_) kept += corpus.kept;
  require(ids * id_bytes_ == footer.bytes_of_ids && kept == size(),
          "damaged: its numbers contradict each other");
}

uint64_t PairStore::offset_of(int64_t i) const {
  uint64_t ids = block_begins_[static_cast<size_t>(i / kBlock)];
  for (int64_t before = i / kBlock * kBlock; before < i; ++before) {
    const PairLength length = lengths_[static_cast<size_t>(before)];
    ids += static_cast<uint64_t>(length.source) + static_cast<uint64_t>(length.target);
  }
  return sizeof(Header) + ids * id_bytes_;
}

void PairStore::read(int64_t i, std::vector<int32_t>& source, std::vector<int32_t>& target) const {
  const auto number = static_cast<size_t>(i);
  const PairLength length = lengths_[number];
  const auto sources = static_cast<size_t>(length.source),
             targets = static_cast<size_t>(length.target);
  std::string bytes((sources + targets) * id_bytes_, 0);
  file_.read(offset_of(i), bytes.data(), bytes.size());
  if (checksum(bytes, number) != checksums_[number]) {
    std::error_code error;
    std::filesystem::remove(file_.path(), error);
    throw Error("{}: pair {} is damaged; {}", file_.path().string(), i + 1,
                error ? "remove the file" : "the file is removed and will be made again");
  }
  const char* place = bytes.data();
  take_ids(place, source, sources, id_bytes_);
  take_ids(place, target, targets, id_bytes_);
}

PairStoreWriter::PairStoreWriter(const std::filesystem::path& path, int vocabulary)
    : file_(path), id_bytes_(vocabulary <= 1 << 16 ? 2 : 4) {
  const Header header{.id_bytes = static_cast<uint32_t>(id_bytes_)};
  file_.write(&header, sizeof(header));
}

void PairStoreWriter::add(std::span<const int32_t> source, std::span<const int32_t> target) {
  pair_.clear();
  append_ids(pair_, source, id_bytes_);
  append_ids(pair_, target, id_bytes_);
  file_.write(pair_);
  ids_ += source.size() + target.size();
  checksums_.push_back(checksum(pair_, lengths_.size()));
  lengths_.push_back({static_cast<int32_t>(source.size()), static_cast<int32_t>(target.size())});
}

void PairStoreWriter::commit(std::span<const SourceReport> corpora) {
  Footer footer{
      .pairs = lengths_.size(), .corpora = corpora.size(), .bytes_of_ids = ids_ * id_bytes_};
  const Layout layout(footer.bytes_of_ids, footer.pairs, footer.corpora);
  Hasher hasher;
  uint64_t position = layout.index;
  const auto write = [&](const void* data, size_t size) {
    file_.write(data, size);
    hasher.update(data, size);
    position += size;
  };
  const auto pad = [&] {
    constexpr char kZeros[kAlignment] = {};
    write(kZeros, aligned(position) - position);
  };
  pad();
  for (const PairLength& length : lengths_) write(&length, sizeof(length));
  for (const uint32_t sum : checksums_) write(&sum, sizeof(sum));
  pad();
  for (const SourceReport& corpus : corpora) {
    const auto counts = corpus.counts();
    write(counts.data(), sizeof(counts));
  }
  footer.index_hash = hasher.digest();
  footer.own_hash = footer.hash();
  file_.write(&footer, sizeof(footer));
  file_.commit();
}

}  // namespace filigree::text
