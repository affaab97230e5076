"""What the tests ask of the real engines. One request as JSON on stdin, one answer as JSON on stdout.

Keys and values are lower-case hexadecimal.
"""

import json
import os
import shutil
import sys


def unhex(text):
    return bytes.fromhex(text)


def rocksdb_options(settings):
    """`settings` uses RocksDB's own names; what is left out keeps RocksDB's default."""
    import rocksdict as r

    table = r.BlockBasedOptions()
    if "bits_per_key" in settings:
        table.set_bloom_filter(float(settings["bits_per_key"]), False)
    if "format_version" in settings:
        table.set_format_version(settings["format_version"])
    if "block_size" in settings:
        table.set_block_size(settings["block_size"])
    if "block_restart_interval" in settings:
        table.set_block_restart_interval(settings["block_restart_interval"])
    if "metadata_block_size" in settings:
        table.set_metadata_block_size(settings["metadata_block_size"])
    if "checksum" in settings:
        table.set_checksum_type(getattr(r.ChecksumType, settings["checksum"])())
    if "index_type" in settings:
        table.set_index_type(getattr(r.BlockBasedIndexType, settings["index_type"])())
    if settings.get("partition_filters"):
        table.set_partition_filters(True)
    if settings.get("data_block_hash_index"):
        table.set_data_block_index_type(r.DataBlockIndexType.binary_and_hash())
    options = r.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(table)
    compression = getattr(r.DBCompressionType, settings.get("compression", "none"))()
    options.set_compression_type(compression)
    if "fixed_prefix" in settings:
        extractor = r.SliceTransform.create_fixed_prefix(settings["fixed_prefix"])
        options.set_prefix_extractor(extractor)
    return options


def rocksdb_write_table(request):
    """Writes `entries` to the table `path` with RocksDB's SstFileWriter."""
    import rocksdict as r

    writer = r.SstFileWriter(options=rocksdb_options(request["settings"]))
    writer.open(request["path"])
    for key, value in request["entries"]:
        writer[unhex(key)] = unhex(value)
    writer.finish()
    return {}


def rocksdb_ingest(request):
    """Ingests `tables` into a new database at `path`; says what RocksDB then sees.

    `entries`: all of them, by its iterator. `found`: the answers to `gets`. `tickers`: what its
    statistics counted during the gets. `properties`: its own view of the tables.
    """
    import rocksdict as r

    options = rocksdb_options(request["settings"])
    options.enable_statistics()
    db = r.Rdict(request["path"], options=options)
    db.ingest_external_file(request["tables"])
    before = tickers(options)
    found = [hex_or_none(db.get(unhex(key))) for key in request["gets"]]
    after = tickers(options)
    entries = [[key.hex(), value.hex()] for key, value in db.items()]
    properties = db.property_value("rocksdb.aggregated-table-properties")
    db.close()
    return {
        "entries": entries,
        "found": found,
        "tickers": {name: after[name] - before.get(name, 0) for name in after},
        "properties": properties,
    }


def hex_or_none(value):
    return None if value is None else value.hex()


def tickers(options):
    counts = {}
    for line in options.get_statistics().splitlines():
        name, _, rest = line.partition(" COUNT : ")
        if rest.isdigit():
            counts[name] = int(rest)
    return counts


def leveldb_options(settings):
    options = {"compression": settings.get("compression")}
    if "bits_per_key" in settings:
        options["bloom_filter_bits"] = settings["bits_per_key"]
    if "block_size" in settings:
        options["block_size"] = settings["block_size"]
    return options


def leveldb_write_database(request):
    """Writes `entries` to a database at `path` and compacts it into tables."""
    import plyvel

    db = plyvel.DB(request["path"], create_if_missing=True, **leveldb_options(request["settings"]))
    with db.write_batch() as batch:
        for key, value in request["entries"]:
            batch.put(unhex(key), unhex(value))
    db.compact_range()
    db.close()
    return {"tables": sorted(name for name in os.listdir(request["path"]) if name.endswith(".ldb"))}


def leveldb_read_tables(request):
    """Makes a database at `path` of `tables` alone (LevelDB's repair) and reads it."""
    import plyvel

    os.makedirs(request["path"])
    for number, table in enumerate(request["tables"], start=5):
        shutil.copy(table, os.path.join(request["path"], "%06d.ldb" % number))
    settings = leveldb_options(request["settings"])
    plyvel.repair_db(request["path"], paranoid_checks=True, **settings)
    db = plyvel.DB(request["path"], paranoid_checks=True, **settings)
    found = [hex_or_none(db.get(unhex(key), verify_checksums=True)) for key in request["gets"]]
    entries = [[key.hex(), value.hex()] for key, value in db.iterator(verify_checksums=True)]
    db.close()
    return {"entries": entries, "found": found}


REQUESTS = {
    function.__name__: function
    for function in (
        rocksdb_write_table,
        rocksdb_ingest,
        leveldb_write_database,
        leveldb_read_tables,
    )
}

if __name__ == "__main__":
    answer = REQUESTS[sys.argv[1]](json.load(sys.stdin))
    json.dump(answer, sys.stdout)
