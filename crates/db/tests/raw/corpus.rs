//! The database directories that the engines wrote.

use std::fs;
use std::path::{Path, PathBuf};

use sstkit_db::raw::{FileName, ManifestState, parse_current};
use sstkit_table::raw::Engine;

/// One directory.
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) engine: Engine,
    pub(crate) files: Vec<(FileName, PathBuf)>,
}

/// All directories, in the order of their names.
pub(crate) fn directories() -> Vec<Directory> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/databases");
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    paths.sort();
    assert!(paths.len() >= 18, "{} directories", paths.len());
    paths.into_iter().map(Directory::read).collect()
}

impl Directory {
    fn read(path: PathBuf) -> Self {
        let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.map(|path| (FileName::parse(&name(&path)), path)).collect();
        files.sort();
        // LevelDB writes no IDENTITY.
        let is_rocksdb = files.iter().any(|(name, _)| *name == FileName::Identity);
        let engine = if is_rocksdb { Engine::RocksDb } else { Engine::LevelDb };
        Self { path, engine, files }
    }

    pub(crate) fn manifest_path(&self) -> PathBuf {
        let number = parse_current(&fs::read(self.path.join("CURRENT")).unwrap()).unwrap();
        self.path.join(FileName::Manifest(number).to_string())
    }

    pub(crate) fn manifest(&self) -> ManifestState {
        let file = fs::File::open(self.manifest_path()).unwrap();
        ManifestState::replay(file, self.engine).unwrap()
    }

    pub(crate) fn logs(&self) -> impl Iterator<Item = (u64, &Path)> {
        self.files.iter().filter_map(|(name, path)| match name {
            FileName::Log(number) => Some((*number, path.as_path())),
            _ => None,
        })
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().into()
}
