"""What the tests ask of the real engines. One request as JSON on stdin, one answer as JSON on stdout.

Keys and values are lower-case hexadecimal.
"""

import json
import os
import shutil
import sys
import time


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
    if "compaction_style" in settings:
        style = getattr(r.DBCompactionStyle, settings["compaction_style"])()
        options.set_compaction_style(style)
    if "min_blob_size" in settings:
        options.set_enable_blob_files(True)
        options.set_enable_blob_gc(True)
        options.set_min_blob_size(settings["min_blob_size"])
        options.set_blob_compression_type(compression)
    for name in (
        "write_buffer_size",
        "target_file_size_base",
        "max_bytes_for_level_base",
        "level_zero_file_num_compaction_trigger",
        "level_compaction_dynamic_level_bytes",
        "disable_auto_compactions",
        "recycle_log_file_num",
        "optimize_filters_for_hits",
        "atomic_flush",
        "wal_dir",
        "num_levels",
    ):
        if name in settings:
            getattr(options, "set_" + name)(settings[name])
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
    statistics counted during the gets. `properties`: its own view of the tables. With
    `may_be_refused`, the engine's reason not to take the tables is an answer: `refused`.
    """
    import rocksdict as r

    options = rocksdb_options(request["settings"])
    options.enable_statistics()
    db = r.Rdict(request["path"], options=options)
    try:
        db.ingest_external_file(request["tables"])
    except Exception as refusal:
        if not request.get("may_be_refused"):
            raise
        return {"refused": str(refusal)}
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


def rocksdb_ingest_into(request):
    """Ingests `tables` into the existing database at `path`; `refused` is the reason not to."""
    import rocksdict as r

    # Without the column families, the engine opens them with options of its own.
    families = {"default": rocksdb_options(request["settings"])}
    options = rocksdb_options(request["settings"])
    db = r.Rdict(request["path"], options=options, column_families=families)
    try:
        db.ingest_external_file(request["tables"])
        return {}
    except Exception as refusal:
        return {"refused": str(refusal)}
    finally:
        db.close()


def hex_or_none(value):
    return None if value is None else value.hex()


def tickers(options):
    counts = {}
    for line in options.get_statistics().splitlines():
        name, _, rest = line.partition(" COUNT : ")
        if rest.isdigit():
            counts[name] = int(rest)
    return counts


def rocksdb_read_database(request):
    """Reads what is in the database at `path`, after RocksDB's repair if `repair` is set.

    `error`: why it could not be opened, or not be read to its end.
    """
    import rocksdict as r

    entries = []
    try:
        if request["repair"]:
            r.Rdict.repair(request["path"], rocksdb_options(request["settings"]))
        db = r.Rdict(request["path"], options=rocksdb_options(request["settings"]))
        for key, value in db.items():
            entries.append([key.hex(), value.hex()])
        db.close()
    except Exception as error:
        return {"entries": entries, "error": str(error)}
    return {"entries": entries}


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


def leveldb_read_database(request):
    """The same for LevelDB."""
    import plyvel

    entries = []
    settings = leveldb_options(request["settings"])
    try:
        if request["repair"]:
            plyvel.repair_db(request["path"], **settings)
        db = plyvel.DB(request["path"], create_if_missing=False, **settings)
        for key, value in db.iterator():
            entries.append([key.hex(), value.hex()])
        db.close()
    except Exception as error:
        return {"entries": entries, "error": str(error)}
    return {"entries": entries}


class RocksDbLife:
    """A RocksDB database that steps are done to: one method for each kind of step.

    Without `settings` it exists, and RocksDB's own loader reads its OPTIONS. If it is `quiet`, then
    nothing is compacted unless a step says so.
    """

    def __init__(self, path, settings, quiet=False):
        self.path, self.settings, self.quiet = path, settings, quiet
        self.families, self.snapshots, self.ingested = ["default"], [], 0
        self.open()

    def open(self):
        import rocksdict as r

        if self.settings is None:
            options, families = self.load()
        else:
            options = rocksdb_options(self.settings)
            families = {name: rocksdb_options(self.settings) for name in self.families}
        options.enable_statistics()
        self.options = options
        self.db = r.Rdict(self.path, options=options, column_families=families)
        self.handles = {name: self.db.get_column_family(name) for name in self.families}

    def load(self):
        import rocksdict as r

        # What rocksdict wants to know beside OPTIONS: keys are bytes.
        config = {"raw_mode": True, "prefix_extractor": None, "prefix_extractor_args": None}
        with open(os.path.join(self.path, "rocksdict-config.json"), "w") as file:
            json.dump(config, file)
        self.families = r.Rdict.list_cf(self.path)
        options, families = r.Options.load_latest(self.path)
        for it in [options, *families.values()]:
            it.set_paranoid_checks(True)
            it.set_disable_auto_compactions(self.quiet)
        assert sorted(families) == sorted(self.families), (families, self.families)
        return options, families

    def close(self):
        self.snapshots.clear()
        for handle in self.handles.values():
            handle.close()
        self.handles.clear()
        self.db.close()

    def reopen(self):
        self.close()
        self.open()

    def create_family(self, name):
        self.handles[name] = self.db.create_column_family(name, rocksdb_options(self.settings))
        self.families.append(name)

    def drop_family(self, name):
        self.handles.pop(name).close()
        self.families.remove(name)
        self.db.drop_column_family(name)

    def put(self, family, key, value):
        self.handles[family].put(unhex(key), unhex(value))

    def put_entity(self, family, key, columns):
        names, values = zip(*((unhex(name), unhex(value)) for name, value in columns))
        self.handles[family].put_entity(unhex(key), list(names), list(values))

    def delete(self, family, key):
        self.handles[family].delete(unhex(key))

    def delete_range(self, family, begin, end):
        self.handles[family].delete_range(unhex(begin), unhex(end))

    def write(self, changes):
        """Several changes as one batch; a value of null deletes."""
        import rocksdict as r

        batch = r.WriteBatch(raw_mode=True)
        for family, key, value in changes:
            handle = self.db.get_column_family_handle(family)
            if value is None:
                batch.delete(unhex(key), handle)
            else:
                batch.put(unhex(key), unhex(value), handle)
        self.db.write(batch)

    def ingest(self, family, entries):
        import rocksdict as r

        self.ingested += 1
        table = "%s-ingested-%d.sst" % (self.path, self.ingested)
        writer = r.SstFileWriter(options=rocksdb_options(self.settings))
        writer.open(table)
        for key, value in entries:
            writer[unhex(key)] = unhex(value)
        writer.finish()
        self.handles[family].ingest_external_file([table])

    def flush(self, family):
        self.handles[family].flush()

    def compact(self, family):
        self.handles[family].compact_range(None, None)

    def set_options(self, family, text):
        """Changes options, which have the form of RocksDB's option strings."""
        options, start, depth = {}, 0, 0
        for at, letter in enumerate(text):
            depth += (letter == "{") - (letter == "}")
            if letter == ";" and depth == 0:
                name, _, value = text[start:at].partition("=")
                options[name], start = value, at + 1
        assert start == len(text), text
        self.handles[family].set_options(options)

    def rewrite(self, family):
        """Compacts every table, also those that are in the last level already."""
        import rocksdict as r

        everything = r.CompactOptions()
        everything.set_bottommost_level_compaction(r.BottommostLevelCompaction.force())
        self.handles[family].compact_range(None, None, everything)

    def probe(self, family, keys):
        """The values of `keys`, and what the statistics counted meanwhile."""
        before = tickers(self.options)
        found = [hex_or_none(self.handles[family].get(unhex(key))) for key in keys]
        after = tickers(self.options)
        return {
            "found": found,
            "tickers": {name: after[name] - before.get(name, 0) for name in after},
        }

    def look(self):
        """What there is to be seen now. It stays: a snapshot is held until the next reopening."""
        import rocksdict as r

        self.snapshots.extend(handle.snapshot() for handle in self.handles.values())

        # With a prefix extractor RocksDB may leave out keys of other prefixes unless told not to.
        everything = r.ReadOptions()
        everything.set_total_order_seek(True)
        views = {}
        for name, handle in self.handles.items():
            items = handle.items(read_opt=everything)
            entries = [[key.hex(), value.hex()] for key, value in items]
            entities = [
                [key.hex(), [[column.hex(), value.hex()] for column, value in columns]]
                for key, columns in handle.entities(read_opt=everything)
            ]
            views[name] = {"entries": entries, "entities": entities}
        return {"sequence": self.db.latest_sequence_number(), "views": views}


def rocksdb_live_database(request):
    """Does `steps` to a new database at `path`, then copies it to `copy` while it is open.

    `looks`: what each step "look" saw, and one more at the end.
    """
    life = RocksDbLife(request["path"], request["settings"])
    looks = [
        dict(seen, step=number)
        for number, (step, *arguments) in enumerate(request["steps"])
        if (seen := getattr(life, step)(*arguments)) is not None
    ]
    looks.append(dict(life.look(), step=len(request["steps"])))
    life.db.flush_wal(True)
    copy_database(request)
    life.close()
    return {"looks": looks}


def rocksdb_continue_database(request):
    """Opens the database `path`, which exists, with its own OPTIONS, and does `steps` to it.

    `looks`: what is seen at first, at each step "look" or "probe", at the end, and after it was
    opened again.
    """
    life = RocksDbLife(request["path"], None, request.get("quiet", False))
    looks = [life.look()]
    for step, *arguments in request["steps"]:
        looks.extend(filter(None, [getattr(life, step)(*arguments)]))
    looks.append(life.look())
    life.reopen()
    looks.append(life.look())
    life.close()
    return {"looks": looks}


def copy_database(request):
    """Without the lock, which belongs to the process that holds it. Again if it changes meanwhile."""
    path, copy = request["path"], request["copy"]
    while True:
        before = sorted(os.listdir(path))
        try:
            shutil.copytree(path, copy, ignore=shutil.ignore_patterns("LOCK"))
        except shutil.Error:
            pass
        if before == sorted(os.listdir(path)) == sorted(os.listdir(copy) + ["LOCK"]):
            return
        shutil.rmtree(copy)
        time.sleep(0.1)


def leveldb_live_database(request):
    """The same for LevelDB, which has fewer kinds of steps, and no sequence numbers to request."""
    import plyvel

    settings = dict(leveldb_options(request["settings"]), **request.get("buffers", {}))
    db = plyvel.DB(request["path"], create_if_missing=True, **settings)
    db = leveldb_steps(db, request, settings)
    entries = leveldb_entries(db)
    copy_database(request)
    db.close()
    return {"entries": entries}


def leveldb_steps(db, request, settings):
    """Does `steps` to an open database, and returns it, as it may have been opened again."""
    import plyvel

    for step, *arguments in request["steps"]:
        if step == "put":
            db.put(*map(unhex, arguments))
        elif step == "delete":
            db.delete(*map(unhex, arguments))
        elif step == "write":
            with db.write_batch() as batch:
                for key, value in arguments[0]:
                    batch.delete(unhex(key)) if value is None else batch.put(unhex(key), unhex(value))
        elif step == "compact":
            db.compact_range()
        else:
            assert step == "reopen", step
            db.close()
            db = plyvel.DB(request["path"], **settings)
    return db


def leveldb_entries(db):
    return [[key.hex(), value.hex()] for key, value in db.iterator(verify_checksums=True)]


def leveldb_continue_database(request):
    """Opens the database `path`, which exists, with paranoid checks, and does `steps` to it.

    `looks`: what is seen at first, at the end, and after it was opened again. `found`: the values of
    `gets`, before the steps.
    """
    import plyvel

    settings = dict(leveldb_options(request["settings"]), **request.get("buffers", {}))
    settings.update(create_if_missing=False, paranoid_checks=True)
    db = plyvel.DB(request["path"], **settings)
    looks = [leveldb_entries(db)]
    gets = request.get("gets", [])
    found = [hex_or_none(db.get(unhex(key), verify_checksums=True)) for key in gets]
    db = leveldb_steps(db, request, settings)
    looks.append(leveldb_entries(db))
    db.close()
    db = plyvel.DB(request["path"], **settings)
    looks.append(leveldb_entries(db))
    db.close()
    return {"looks": [{"entries": entries} for entries in looks], "found": found}


def parquet_read(request):
    """The rows of the Parquet file `path`, as pyarrow reads it: `schema`, and `rows` as dictionaries."""
    import pyarrow.parquet

    def plain(value):
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return value

    table = pyarrow.parquet.read_table(request["path"])
    rows = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
    schema = {field.name: str(field.type) for field in table.schema}
    return {"schema": schema, "rows": rows}


def parquet_write(request):
    """Writes columns of several types with pyarrow to `path`."""
    import pyarrow as pa
    import pyarrow.parquet

    count = request["rows"]
    numbers = range(-count // 2, count - count // 2)
    table = pa.table(
        {
            "id": pa.array(numbers, pa.int32()),
            "name": pa.array([f"name {number}" for number in numbers]),
            "score": pa.array([number / 4 for number in numbers], pa.float64()),
            "active": pa.array([number % 2 == 0 for number in numbers]),
            "note": pa.array([None if number % 3 else "x" for number in numbers]),
            "day": pa.array(numbers, pa.int32()).cast(pa.date32()),
        }
    )
    pa.parquet.write_table(table, request["path"], row_group_size=count // 3 + 1)
    return {}


def each(request):
    """Calls `function` with each of `requests`. A failure is an answer, and does not stop the others."""
    answers = []
    for arguments in request["requests"]:
        try:
            answers.append({"answer": REQUESTS[request["function"]](arguments)})
        except Exception as failure:
            answers.append({"failure": "%s: %s" % (type(failure).__name__, failure)})
    return {"answers": answers}


def oxigraph_database(request):
    """Makes a store of `count` triples at `path`, some of which are removed again.

    Returns those that it then has: `triples`, each as three texts of more than 16 bytes.
    """
    import pyoxigraph as ox

    store = ox.Store(request["path"])
    predicate = ox.NamedNode("http://example.org/predicate")

    def triples(numbers):
        for number in numbers:
            subject = ox.NamedNode(f"http://example.org/{number % 50}")
            yield ox.Quad(subject, predicate, ox.Literal(f"the literal number {number:06}" + "x" * (number % 90)))

    count = request["count"]
    store.extend(triples(range(count // 2)))
    store.flush()
    store.optimize()
    store.extend(triples(range(count // 2, count)))
    for quad in triples(range(0, count, 7)):
        store.remove(quad)
    return {
        "triples": [[quad.subject.value, quad.predicate.value, quad.object.value] for quad in store]
    }


REQUESTS = {
    function.__name__: function
    for function in (
        rocksdb_write_table,
        rocksdb_ingest,
        rocksdb_ingest_into,
        leveldb_write_database,
        leveldb_read_tables,
        rocksdb_read_database,
        leveldb_read_database,
        rocksdb_live_database,
        rocksdb_continue_database,
        leveldb_live_database,
        leveldb_continue_database,
        parquet_read,
        parquet_write,
        each,
        oxigraph_database,
    )
}

if __name__ == "__main__":
    answer = REQUESTS[sys.argv[1]](json.load(sys.stdin))
    json.dump(answer, sys.stdout)
