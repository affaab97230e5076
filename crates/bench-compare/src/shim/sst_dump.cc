// RocksDB's command `sst_dump`, of its own source (tools/sst_dump_tool.cc, compiled by build.rs), and
// stand-ins for the two functions it takes from other tools: one reads keys given in hexadecimal,
// the other registers codecs that only RocksDB's stress test writes. Neither is needed here.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "db_stress_tool/db_stress_compression_manager.h"
#include "rocksdb/sst_dump_tool.h"
#include "rocksdb/utilities/ldb_cmd.h"

namespace rocksdb {

std::string LDBCommand::HexToString(const std::string&) {
  fprintf(stderr, "this sst_dump takes no keys in hexadecimal\n");
  exit(2);
}

void DbStressCustomCompressionManager::Register() {}

}  // namespace rocksdb

extern "C" int shim_sst_dump(int argc, char const* const* argv) {
  return rocksdb::SSTDumpTool().Run(argc, argv);
}
