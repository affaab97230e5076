// What the tests request of the RocksDB that npm has. One request as JSON on stdin, one answer as JSON on
// stdout: the same as in engines.py.

const RocksDB = require('rocksdb-native')
const { ColumnFamily, BloomFilterPolicy, RibbonFilterPolicy } = RocksDB

// Creates a database at `path` with a column family for each of `families`, which have a `name`, a
// `format_version`, a `filter` (bloom, ribbon or none) and a `min_blob_size`. Each gets the `entries`, then
// loses `deleted`, a range, and is flushed; `logged` are written last and stay in the log. Returns what the
// engine sees of each then.
async function rocksdb_database(request) {
  const policies = { bloom: new BloomFilterPolicy(10), ribbon: new RibbonFilterPolicy(10), none: null }
  const families = request.families.map((family) => {
    const blobs = family.min_blob_size === undefined ? {} : { enableBlobFiles: true, minBlobSize: family.min_blob_size, blobFileSize: 1 << 20 }
    const filterPolicy = policies[family.filter]
    return new ColumnFamily(family.name, { tableFormatVersion: family.format_version, filterPolicy, ...blobs })
  })
  const database = new RocksDB(request.path, { columnFamilies: families })
  await database.ready()
  const bytes = (text) => Buffer.from(text, 'hex')
  const seen = {}
  for (const { name } of request.families) {
    const family = database.columnFamily(name)
    const put = async (entries) => {
      const batch = family.write()
      for (const [key, value] of entries) batch.put(bytes(key), bytes(value))
      await batch.flush()
      batch.destroy()
    }
    await put(request.entries)
    const [start, end] = request.deleted
    await family.deleteRange(bytes(start), bytes(end))
    await family.flush()
    await put(request.logged)
    seen[name] = []
    for await (const { key, value } of family.iterator({})) {
      seen[name].push([key.toString('hex'), value.toString('hex')])
    }
    await family.close()
  }
  await database.close({ force: true })
  return { seen }
}

const requests = { rocksdb_database }
const input = JSON.parse(require('fs').readFileSync(0, 'utf8'))
requests[process.argv[2]](input).then(
  (answer) => process.stdout.write(JSON.stringify(answer)),
  (error) => {
    console.error(error)
    process.exit(1)
  }
)
