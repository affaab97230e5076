// What the C++ of this crate shares: the plain data that Rust and C++ hand each other, and the
// digest that both compute over answers. src/rocks/ffi.rs has the same in Rust.
//
// The loops over entries and keys are in C++, so that RocksDB is called as C++ programs call it,
// without a binding in between.

#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace shim {

constexpr size_t kKeySize = 16;
constexpr size_t kValueSize = 100;

// How tables are written and read; the same numbers as in Rust.
struct Settings {
  uint32_t codec;             // 0 none, 4 LZ4, 7 Zstd
  uint32_t checksum;          // 1 CRC-32C, 4 XXH3
  uint32_t block_size;
  uint32_t format_version;
  uint32_t parallel_threads;  // of the writer
  uint64_t cache_bytes;       // of the reader
};

// Keys of 16 bytes, and values of 100 bytes in a pool of 2^16.
struct Entries {
  const char* keys;
  const char* pool;
  uint64_t count;

  rocksdb::Slice key(uint64_t i) const { return {keys + i * kKeySize, kKeySize}; }
  rocksdb::Slice value(uint64_t i) const {
    return {pool + i % (1u << 16) * kValueSize, kValueSize};
  }
};

// What came out: so many, so many of them found, and a digest of their bytes.
struct Answer {
  uint64_t count = 0;
  uint64_t found = 0;
  uint64_t digest = 0;

  static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

  static uint64_t word(const char* bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
  }

  void add(uint64_t word) { digest = rotate(digest, 5) + word; }

  // The ends of a value.
  static uint64_t of(const rocksdb::Slice& value) {
    return rotate(word(value.data()), 21) ^ word(value.data() + value.size() - 8) ^ value.size();
  }

  void entry(const rocksdb::Slice& key, const rocksdb::Slice& value) {
    ++count;
    ++found;
    add(word(key.data() + key.size() - 8) ^ of(value));
  }

  void got(const rocksdb::Slice& value) {
    ++count;
    ++found;
    add(of(value));
  }

  void missed() {
    ++count;
    add(1);
  }
};

rocksdb::Options options_of(const Settings& settings);

// Null for success, or else a message that shim_free_message() frees.
inline char* message_of(const rocksdb::Status& status) {
  return status.ok() ? nullptr : strdup(status.ToString().c_str());
}

}  // namespace shim
