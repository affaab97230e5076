// Writing a table with RocksDB's SstFileWriter, of sorted entries or of entries in any order.

#include <algorithm>
#include <vector>

#include "rocksdb/sst_file_writer.h"
#include "shim.h"

namespace {

using rocksdb::Slice;
using rocksdb::Status;
using shim::Entries;

// Writes `count` entries, of which `key` and `value` know the bytes.
template <typename Key, typename Value>
char* write(const char* path, const shim::Settings& settings, uint64_t count, Key key, Value value,
            uint64_t* file_size) {
  // The table is read afterwards: it stays in the page cache, as sstkit's does.
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), shim::options_of(settings),
                                /*column_family=*/nullptr, /*invalidate_page_cache=*/false);
  Status status = writer.Open(path);
  for (uint64_t i = 0; i < count && status.ok(); ++i) {
    status = writer.Put(key(i), value(i));
  }
  if (status.ok()) {
    status = writer.Finish();
    *file_size = writer.FileSize();
  }
  return shim::message_of(status);
}

// Keys and values that come one by one, in memory of our own.
class Gathered {
 public:
  void add(const Slice& key, const Slice& value) {
    if (chunks_.empty() || chunks_.back().size() + key.size() + value.size() > kChunk) {
      chunks_.emplace_back().reserve(kChunk);
    }
    std::string& chunk = chunks_.back();
    entries_.push_back(chunk.data() + chunk.size());
    chunk.append(key.data(), key.size()).append(value.data(), value.size());
  }

  void sort() {
    std::sort(entries_.begin(), entries_.end(), [](const char* a, const char* b) {
      return memcmp(a, b, shim::kKeySize) < 0;
    });
  }

  Slice key(uint64_t i) const { return {entries_[i], shim::kKeySize}; }
  Slice value(uint64_t i) const { return {entries_[i] + shim::kKeySize, shim::kValueSize}; }

 private:
  static constexpr size_t kChunk = 1 << 20;
  // A deque of chunks would do, too: the bytes of a long string stay where they are if it moves.
  std::vector<std::string> chunks_;
  std::vector<const char*> entries_;
};

}  // namespace

extern "C" {

// Writes the entries in the order of the keys.
char* shim_write(const char* path, const shim::Settings* settings, const Entries* entries,
                 uint64_t* file_size) {
  return write(
      path, *settings, entries->count, [&](uint64_t i) { return entries->key(i); },
      [&](uint64_t i) { return entries->value(i); }, file_size);
}

// Takes the entries in the order given, sorts them in memory, and writes them: what RocksDB asks
// of those who make tables of entries in any order.
char* shim_sort_and_write(const char* path, const shim::Settings* settings, const Entries* entries,
                          const uint32_t* order, uint64_t* file_size) {
  Gathered gathered;
  for (uint64_t i = 0; i < entries->count; ++i) {
    gathered.add(entries->key(order[i]), entries->value(order[i]));
  }
  gathered.sort();
  return write(
      path, *settings, entries->count, [&](uint64_t i) { return gathered.key(i); },
      [&](uint64_t i) { return gathered.value(i); }, file_size);
}

}  // extern "C"
