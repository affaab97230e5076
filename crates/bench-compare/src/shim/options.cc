// RocksDB's options for the settings that both sides share.

#include <cstdlib>

#include "rocksdb/cache.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#include "shim.h"

namespace shim {

rocksdb::Options options_of(const Settings& settings) {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = settings.block_size;
  table.format_version = settings.format_version;
  table.checksum = static_cast<rocksdb::ChecksumType>(settings.checksum);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // Sizes of filters must not depend on the allocator.
  table.optimize_filters_for_memory = false;
  if (settings.cache_bytes > 0) {
    // The cache that RocksDB recommends; entry charge 0 lets it find out by itself.
    table.block_cache =
        rocksdb::HyperClockCacheOptions(settings.cache_bytes, /*estimated_entry_charge=*/0)
            .MakeSharedCache();
  }
  rocksdb::Options options;
  options.compression = static_cast<rocksdb::CompressionType>(settings.codec);
  options.compression_opts.parallel_threads = settings.parallel_threads;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace shim

extern "C" {

void shim_free_message(char* message) { free(message); }

void shim_version(uint32_t version[3]) {
  version[0] = ROCKSDB_MAJOR;
  version[1] = ROCKSDB_MINOR;
  version[2] = ROCKSDB_PATCH;
}

}  // extern "C"
