//! The command on a real S3 server (moto, from PyPI) and an HTTP server: the same output as for local files.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use object_store::path::Path as ObjectPath;
use sstkit_object_store::{Store, object_store, upload_folder};

use sstkit_testkit::object_stores::{Proxy, S3Server, Upstream, create_bucket};

struct Bucket {
    proxy: Proxy,
    store: Store,
    _server: S3Server,
}

impl Bucket {
    fn new() -> Self {
        // Selects the provider of TLS, as every program does that parses an address.
        Store::parse("s3://cli").unwrap();
        let server = S3Server::start();
        let proxy = Proxy::start(Upstream::Port(server.port));
        create_bucket(proxy.port, "cli");
        let store = AmazonS3Builder::new()
            .with_bucket_name("cli")
            .with_endpoint(format!("http://127.0.0.1:{}", proxy.port))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_access_key_id("test")
            .with_secret_access_key("test");
        let store = Store::new(Arc::new(store.build().unwrap()));
        Self { proxy, store, _server: server }
    }

    fn upload(&self, name: &str, folder: &Path) {
        upload_folder(&self.store, &ObjectPath::from(name), folder, "CURRENT").unwrap();
    }

    fn sst(&self, arguments: &[&str]) -> Output {
        sst(arguments, &settings(&format!("http://127.0.0.1:{}", self.proxy.port)))
    }

    fn fails(&self, arguments: &[&str]) -> String {
        let ran = self.sst(arguments);
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}: {ran:?}");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    }
}

/// The settings that all tools of S3 use.
fn settings(endpoint: &str) -> [(&str, &str); 5] {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "us-east-1"),
    ]
}

fn databases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases")
}

fn sst(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    command(arguments).envs(environment.iter().copied()).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sst"));
    command.current_dir(databases()).args(arguments).env_remove("COLUMNS");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("s3://cli/", "")
}

/// One server for all, since it takes seconds to start.
#[test]
fn the_command_on_a_bucket() {
    let bucket = Bucket::new();
    equal(&bucket);
    copied(&bucket);
    refused(&bucket);
    built(&bucket);
    failed(&bucket);
}

/// Each command prints the same for a database in the bucket as for the local one.
fn equal(bucket: &Bucket) {
    let name = "rocksdb-column-families";
    for database in [name, "leveldb-bloom-snappy", "rocksdb-blobs"] {
        bucket.upload(database, &databases().join(database));
    }
    let tables =
        std::fs::read_dir(databases().join(name)).unwrap().map(|it| it.unwrap().file_name());
    let table =
        tables.filter_map(|it| it.into_string().ok()).find(|it| it.ends_with(".sst")).unwrap();
    let table = format!("{name}/{table}");
    for (arguments, path) in [
        (&["info", "--format", "json", "PATH"][..], name),
        (&["info", "--format", "json", "PATH"], "leveldb-bloom-snappy/"),
        (&["info", "--format", "json", "PATH"], &table),
        (&["scan", "PATH"], name),
        (&["scan", "PATH"], "rocksdb-blobs"),
        (&["scan", "--internal", "--format", "json", "PATH"], &table),
        (&["get", "PATH", "no-such-key"], name),
        (&["get", "--explain", "PATH", "no-such-key"], &table),
        (&["verify", "--format", "json", "PATH"], name),
        (&["verify", "--format", "json", "PATH"], "leveldb-bloom-snappy"),
        (&["verify", "PATH"], &table),
        (&["verify", "PATH/CURRENT"], name),
        (&["filter", "--format", "json", "PATH"], name),
        (&["stats", "--format", "json", "PATH"], "rocksdb-blobs"),
        (&["layout", "PATH"], &table),
        (&["dump", "PATH"], &table),
        (&["dump", "PATH"], "rocksdb-blobs"),
        (&["advise", "PATH"], name),
    ] {
        let with = |path: &str| arguments.iter().map(|it| it.replace("PATH", path)).collect();
        let (near, far): (Vec<String>, Vec<String>) =
            (with(path), with(&format!("s3://cli/{path}")));
        let near = sst(&near.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        let far = bucket.sst(&far.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(text(&far.stdout), text(&near.stdout), "{arguments:?} {path}");
        assert_eq!(text(&far.stderr), text(&near.stderr), "{arguments:?} {path}");
        assert_eq!(far.status.code(), near.status.code());
        assert!(!near.stdout.is_empty() || near.status.code() == Some(1), "{arguments:?} {path}");
    }
    let ran = bucket.sst(&["diff", name, &format!("s3://cli/{name}")]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let check = |at: &str| {
        let (table, database) = (format!("{at}{table}"), format!("{at}rocksdb-blobs"));
        bucket.sst(&["ingest-check", &table, "--into", &database])
    };
    let (near, far) = (check(""), check("s3://cli/"));
    assert_eq!((text(&far.stdout), far.status), (text(&near.stdout), near.status), "{far:?}");
    assert!(!near.stdout.is_empty(), "{near:?}");
}

/// Commands that read from the bucket and write a file: the same file as from the local database.
fn copied(bucket: &Bucket) {
    let name = "leveldb-bloom-snappy";
    let folder = tempfile::tempdir().unwrap();
    let written = |arguments: &[&str], path: &str, output: &str| {
        let output = folder.path().join(output);
        let last = [path, "-o", output.to_str().unwrap()];
        let ran = bucket.sst(&[arguments, &last].concat());
        assert!(ran.status.success(), "{arguments:?} {path}: {ran:?}");
        output.to_str().unwrap().to_owned()
    };
    let scan = |table: &str| bucket.sst(&["scan", "--internal", table]).stdout;
    let near = scan(&written(&["compact"], name, "near.sst"));
    let far = scan(&written(&["compact"], &format!("s3://cli/{name}"), "far.sst"));
    assert!(!near.is_empty() && near == far);
    let report = |path: &str, output: &str| {
        text(&std::fs::read(written(&["report"], path, output)).unwrap())
    };
    let near = report(name, "near.html");
    let far = report(&format!("s3://cli/{name}"), "far.html");
    assert!(near.len() > 10_000 && near.len().abs_diff(far.len()) < 1000, "{}", far.len());

    // The pages of the inspector.
    let endpoint = format!("http://127.0.0.1:{}", bucket.proxy.port);
    let mut server = command(&["serve", "--no-open", &format!("s3://cli/{name}")]);
    server.envs(settings(&endpoint)).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = server.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET /0/database.json HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("levels"), "{response}");
}

fn refused(bucket: &Bucket) {
    for (arguments, problem) in [
        (&["get", "s3://cli/no-such", "key"][..], "s3://cli/no-such"),
        (&["salvage", "s3://cli/rocksdb-blobs"], "only local files"),
        (
            &["refilter", "s3://cli/rocksdb-blobs", "--dry-run", "--filter", "none"],
            "only local files",
        ),
        (&["build", "s3://cli/in.ndjson", "-o", "out.sst"], "only local files"),
        (&["scan", "rocksdb-blobs", "-o", "s3://cli/out.ndjson"], "only local files"),
        (&["info", "https://example.org/x.sst?signature=secret"], "query"),
        (&["info", "s3://key:secret@cli/x.sst"], "belong in the environment"),
        (&["build", "in.ndjson", "-o", "s3://key:secret@cli/x.sst"], "belong in the environment"),
    ] {
        let message = bucket.fails(arguments);
        assert!(message.contains(problem), "{arguments:?}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

/// Input of several tables.
fn input(folder: &Path) -> String {
    let path = folder.join("users.ndjson");
    let line = |number| format!("{{\"key\":\"{number:06}\",\"value\":\"value {number}\"}}\n");
    std::fs::write(&path, (0..5000).map(line).collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn built(bucket: &Bucket) {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path());
    let local = folder.path().join("local").to_str().unwrap().to_owned();
    let options = ["--max-file-size", "20KiB"];
    let build =
        |output: &str| bucket.sst(&[&["build", &input, "-o", output][..], &options].concat());
    assert!(build(&local).status.success());
    bucket.proxy.requests();
    let ran = build("s3://cli/out/");
    assert!(ran.status.success(), "{ran:?}");
    assert!(
        text(&ran.stdout).starts_with("out/: 5 000 entries") || text(&ran.stdout).contains("out/"),
        "{ran:?}"
    );
    let requests = bucket.proxy.requests();
    let written: Vec<_> = requests.iter().filter(|it| it.starts_with("PUT")).collect();
    assert!(written.len() > 2, "{requests:?}");
    assert!(written.last().unwrap().contains("manifest.json"), "{requests:?}");
    let scan = |path: &str| bucket.sst(&["scan", path]);
    assert_eq!(scan("s3://cli/out").stdout, scan(&local).stdout);
    assert!(bucket.sst(&["verify", "s3://cli/out"]).status.success());
    let again = bucket.fails(&[&["build", &input, "-o", "s3://cli/out"][..], &options].concat());
    assert!(again.contains("already has objects"), "{again}");

    let one = ["build", &input, "-o", "s3://cli/one.sst"];
    assert!(bucket.sst(&one).status.success());
    assert_eq!(scan("s3://cli/one.sst").stdout, scan(&local).stdout);
    assert!(bucket.fails(&one).contains("use --force"));
    assert!(bucket.sst(&[&one[..], &["--force"]].concat()).status.success());

    let database = ["build", &input, "-o", "s3://cli/new-db", "--as", "database"];
    let ran = bucket.sst(&database);
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(scan("s3://cli/new-db").stdout, scan(&local).stdout);
}

/// Nothing is left of an upload that fails.
fn failed(bucket: &Bucket) {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path());
    bucket.proxy.refuse(Some("PUT"));
    let message =
        bucket.fails(&["build", &input, "-o", "s3://cli/failed/", "--max-file-size", "20KiB"]);
    bucket.proxy.refuse(None);
    assert!(message.contains("s3://cli/failed/"), "{message}");
    let message = bucket.fails(&["info", "s3://cli/failed/"]);
    assert!(message.contains("not found"), "{message}");
}

#[test]
fn a_table_on_an_http_server() {
    let name = "leveldb-bloom-snappy";
    let tables = std::fs::read_dir(databases().join(name)).unwrap().map(|it| it.unwrap().path());
    let table = tables.filter(|it| it.extension().is_some_and(|it| it == "ldb")).min().unwrap();
    let proxy = Proxy::start(Upstream::File(std::fs::read(&table).unwrap().into()));
    let url = format!("http://127.0.0.1:{}/folder/000005.ldb", proxy.port);
    let (far, near) = (sst(&["scan", &url], &[]), sst(&["scan", table.to_str().unwrap()], &[]));
    assert!(!near.stdout.is_empty());
    assert_eq!(text(&far.stdout), text(&near.stdout), "{far:?}");
}
