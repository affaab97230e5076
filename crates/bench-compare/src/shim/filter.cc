// RocksDB's own filters, without a table around them.

#include <vector>

#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "shim.h"
#include "table/block_based/filter_policy_internal.h"

using rocksdb::Slice;

struct ShimFilterBuilder {
  rocksdb::BlockBasedTableOptions table;
  std::unique_ptr<rocksdb::FilterBitsBuilder> bits;
};

struct ShimFilter {
  std::unique_ptr<const char[]> owner;
  Slice bytes;
  std::unique_ptr<rocksdb::FilterBitsReader> bits;
};

namespace {

// What a batch of RocksDB's readers holds at most.
constexpr uint64_t kMaxBatch = 32;

uint64_t query_batch(ShimFilter* filter, const char* keys, uint64_t key_size, uint64_t count) {
  Slice slices[kMaxBatch];
  Slice* pointers[kMaxBatch];
  bool may_match[kMaxBatch];
  for (uint64_t i = 0; i < count; ++i) {
    slices[i] = Slice(keys + i * key_size, key_size);
    pointers[i] = &slices[i];
    may_match[i] = true;
  }
  filter->bits->MayMatch(static_cast<int>(count), pointers, may_match);
  uint64_t positives = 0;
  for (uint64_t i = 0; i < count; ++i) {
    positives += may_match[i];
  }
  return positives;
}

}  // namespace

extern "C" {

ShimFilterBuilder* shim_filter_builder(const char* policy, uint64_t bits_per_key) {
  auto builder = std::make_unique<ShimFilterBuilder>();
  double bits = static_cast<double>(bits_per_key);
  builder->table.filter_policy.reset(std::string(policy) == "ribbonfilter"
                                         ? rocksdb::NewRibbonFilterPolicy(bits)
                                         : rocksdb::NewBloomFilterPolicy(bits));
  builder->table.optimize_filters_for_memory = false;
  rocksdb::FilterBuildingContext context(builder->table);
  builder->bits.reset(rocksdb::BuiltinFilterPolicy::GetBuilderFromContext(context));
  return builder.release();
}

void shim_filter_add(ShimFilterBuilder* builder, const char* keys, uint64_t key_size,
                     uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    builder->bits->AddKey(Slice(keys + i * key_size, key_size));
  }
}

ShimFilter* shim_filter_finish(ShimFilterBuilder* builder) {
  auto filter = std::make_unique<ShimFilter>();
  filter->bytes = builder->bits->Finish(&filter->owner);
  delete builder;
  filter->bits.reset(
      rocksdb::BuiltinFilterPolicy::GetBuiltinFilterBitsReader(filter->bytes));
  return filter.release();
}

void shim_filter_free(ShimFilter* filter) { delete filter; }

const char* shim_filter_bytes(ShimFilter* filter, uint64_t* length) {
  *length = filter->bytes.size();
  return filter->bytes.data();
}

// How many of the keys may be in it.
uint64_t shim_filter_query(ShimFilter* filter, const char* keys, uint64_t key_size,
                           uint64_t count) {
  uint64_t positives = 0;
  for (uint64_t i = 0; i < count; ++i) {
    positives += filter->bits->MayMatch(Slice(keys + i * key_size, key_size));
  }
  return positives;
}

uint64_t shim_filter_query_batch(ShimFilter* filter, const char* keys, uint64_t key_size,
                                 uint64_t count) {
  uint64_t positives = 0;
  for (uint64_t i = 0; i < count; i += kMaxBatch) {
    positives +=
        query_batch(filter, keys + i * key_size, key_size, std::min(kMaxBatch, count - i));
  }
  return positives;
}

// Each key of its own filter.
uint64_t shim_filters_query(ShimFilter* const* filters, const uint32_t* which, const char* keys,
                            uint64_t key_size, uint64_t count) {
  uint64_t positives = 0;
  for (uint64_t i = 0; i < count; ++i) {
    positives += filters[which[i]]->bits->MayMatch(Slice(keys + i * key_size, key_size));
  }
  return positives;
}

// Each 32 keys of one filter.
uint64_t shim_filters_query_batch(ShimFilter* const* filters, const uint32_t* which,
                                  const char* keys, uint64_t key_size, uint64_t count) {
  uint64_t positives = 0;
  for (uint64_t i = 0; i < count; i += kMaxBatch) {
    positives += query_batch(filters[which[i]], keys + i * key_size, key_size,
                             std::min(kMaxBatch, count - i));
  }
  return positives;
}

}  // extern "C"
