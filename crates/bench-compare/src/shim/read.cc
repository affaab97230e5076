// Reading a table with RocksDB's SstFileReader: its table reader, without a database around it.

#include <vector>

#include "rocksdb/iterator.h"
#include "rocksdb/sst_file_reader.h"
#include "shim.h"

using rocksdb::PinnableSlice;
using rocksdb::Slice;
using rocksdb::Status;
using shim::Answer;

struct ShimReader {
  explicit ShimReader(const shim::Settings& settings) : table(shim::options_of(settings)) {}
  rocksdb::SstFileReader table;
};

namespace {

// Checksums are verified and blocks go into the cache: RocksDB's defaults, and sstkit's.
rocksdb::ReadOptions read_options() {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = true;
  return options;
}

// What MultiGet takes at once.
constexpr uint64_t kMaxBatch = 32;

}  // namespace

extern "C" {

char* shim_reader_open(const char* path, const shim::Settings* settings, ShimReader** reader) {
  auto opened = std::make_unique<ShimReader>(*settings);
  Status status = opened->table.Open(path);
  *reader = status.ok() ? opened.release() : nullptr;
  return shim::message_of(status);
}

void shim_reader_close(ShimReader* reader) { delete reader; }

// All entries; `readahead` 0 leaves it to RocksDB, which then begins small and grows.
char* shim_reader_scan(ShimReader* reader, uint64_t readahead, int fill_cache, int backward,
                       Answer* answer) {
  rocksdb::ReadOptions options = read_options();
  options.readahead_size = readahead;
  options.fill_cache = fill_cache != 0;
  std::unique_ptr<rocksdb::Iterator> it(reader->table.NewIterator(options));
  if (backward) {
    for (it->SeekToLast(); it->Valid(); it->Prev()) {
      answer->entry(it->key(), it->value());
    }
  } else {
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      answer->entry(it->key(), it->value());
    }
  }
  return shim::message_of(it->status());
}

// From each key on, it and `next` more entries, with one iterator.
char* shim_reader_seek(ShimReader* reader, const char* keys, uint64_t count, uint64_t next,
                       Answer* answer) {
  std::unique_ptr<rocksdb::Iterator> it(reader->table.NewIterator(read_options()));
  for (uint64_t i = 0; i < count; ++i) {
    it->Seek(Slice(keys + i * shim::kKeySize, shim::kKeySize));
    for (uint64_t left = next + 1; left > 0 && it->Valid(); --left) {
      answer->entry(it->key(), it->value());
      if (left > 1) {
        it->Next();
      }
    }
  }
  return shim::message_of(it->status());
}

char* shim_reader_get(ShimReader* reader, const char* keys, uint64_t count, Answer* answer) {
  rocksdb::ReadOptions options = read_options();
  PinnableSlice value;
  for (uint64_t i = 0; i < count; ++i) {
    Status status = reader->table.Get(options, Slice(keys + i * shim::kKeySize, shim::kKeySize),
                                      &value);
    if (status.ok()) {
      answer->got(value);
    } else if (status.IsNotFound()) {
      answer->missed();
    } else {
      return shim::message_of(status);
    }
  }
  return nullptr;
}

char* shim_reader_multi_get(ShimReader* reader, const char* keys, uint64_t count, uint64_t batch,
                            Answer* answer) {
  rocksdb::ReadOptions options = read_options();
  std::vector<Slice> slices;
  std::vector<PinnableSlice> values;
  for (uint64_t begin = 0; begin < count;) {
    uint64_t end = std::min({count, (begin / batch + 1) * batch, begin + kMaxBatch});
    slices.clear();
    for (uint64_t i = begin; i < end; ++i) {
      slices.emplace_back(keys + i * shim::kKeySize, shim::kKeySize);
    }
    std::vector<Status> statuses = reader->table.MultiGet(options, slices, &values);
    for (uint64_t i = 0; i < end - begin; ++i) {
      if (statuses[i].ok()) {
        answer->got(values[i]);
      } else if (statuses[i].IsNotFound()) {
        answer->missed();
      } else {
        return shim::message_of(statuses[i]);
      }
    }
    begin = end;
  }
  return nullptr;
}

}  // extern "C"
