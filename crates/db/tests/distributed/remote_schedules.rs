//! The same for outputs in an object store: before any request of a commit, an upload or a removal, others may run as a
//! whole, and any request may be the last one of its process, whether it has arrived or not.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::rc::Rc;

use sstkit_db::{
    BulkManifest, CommitOptions, ObjectFolder, PartOptions, PartSummary, PartWriter, Plan,
    PlanOptions, RemoteBuild,
};
use sstkit_table::{Table, TableOptions};
use sstkit_testkit::random::{Random, seeds};
use tempfile::TempDir;

use super::temporary_folder;

/// Schedules, unless `SSTKIT_CASES` says otherwise.
const SCHEDULES: u64 = 500;

/// The error of a process that is lost.
const LOST: &str = "this process is lost";

/// Processes that interrupt each other, at most.
const DEPTH: u64 = 4;

#[test]
fn no_schedule_gives_overlap_loss_or_duplicates() {
    let mut reached = BTreeMap::<&str, u64>::new();
    let seeds: Vec<u64> = seeds(SCHEDULES).collect();
    for &seed in &seeds {
        println!("SSTKIT_SEED={seed}");
        for what in Rc::new(Cluster::new(seed)).run() {
            *reached.entry(what).or_default() += 1;
        }
    }
    if seeds.len() as u64 >= SCHEDULES {
        let expected = [
            "commit",
            "discard",
            "commit after discard",
            "discard after commit",
            "crash",
            "late upload",
        ];
        for what in expected {
            assert!(reached.contains_key(what), "no schedule had a {what}: {reached:?}");
        }
    }
}

struct Cluster {
    random: RefCell<Random>,
    folder: TempDir,
    objects: RefCell<BTreeMap<String, Vec<u8>>>,
    /// The keys of each part of each plan.
    keys: Vec<Vec<u8>>,
    splits: Vec<Vec<u8>>,
    depth: Cell<u64>,
    is_calm: Cell<bool>,
    attempts: Cell<u64>,
    published: RefCell<Option<Vec<u8>>>,
    /// Plans whose removal has succeeded.
    discarded: RefCell<BTreeSet<String>>,
    /// Plans for which a process was lost that may have left something.
    torn: RefCell<BTreeSet<String>>,
    happened: RefCell<BTreeSet<&'static str>>,
}

/// The store as one process sees it.
#[derive(Clone)]
struct Process(Rc<Cluster>);

impl Cluster {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let keys: BTreeSet<Vec<u8>> = (0..random.below(20))
            .map(|_| {
                let length = 1 + random.below(3);
                random.bytes(length)
            })
            .collect();
        let splits: BTreeSet<Vec<u8>> = (0..random.below(3)).map(|_| random.bytes(1)).collect();
        Self {
            random: RefCell::new(random),
            folder: temporary_folder(),
            objects: RefCell::default(),
            keys: keys.into_iter().collect(),
            splits: splits.into_iter().collect(),
            depth: Cell::new(0),
            is_calm: Cell::new(false),
            attempts: Cell::new(0),
            published: RefCell::default(),
            discarded: RefCell::default(),
            torn: RefCell::default(),
            happened: RefCell::default(),
        }
    }

    fn below(&self, limit: u64) -> u64 {
        self.random.borrow_mut().below(limit)
    }

    fn run(self: Rc<Self>) -> BTreeSet<&'static str> {
        for _ in 0..5 + self.below(15) {
            self.act();
            self.check();
        }
        self.check_discarded();
        // A new driver does what is left, and nothing disturbs it.
        self.is_calm.set(true);
        if self.published.borrow().is_none() {
            let build = self.build();
            let plan = match build.open_plan() {
                Ok(plan) => plan,
                Err(_) => build.plan(&self.options()).unwrap(),
            };
            match self.complete(&plan) {
                Ok(()) => {}
                // A removal of this plan was interrupted: it is repeated.
                Err(error) => {
                    assert!(error.to_string().contains("discarded"), "{error}");
                    build.discard(&plan).unwrap();
                    let plan = build.plan(&self.options()).unwrap();
                    self.complete(&plan).unwrap();
                }
            }
        }
        self.check();
        assert!(self.published.borrow().is_some());
        self.happened.take()
    }

    fn complete(self: &Rc<Self>, plan: &Plan) -> sstkit_db::Result<()> {
        for part in 0..plan.parts() {
            // If a commit was interrupted, its choice stands.
            match self.build().upload(&self.attempt(plan, part)) {
                Err(error) if error.to_string().contains("without this attempt") => {}
                uploaded => uploaded?,
            }
        }
        let summary = self.build().commit(&self.commit_options(true))?;
        assert!(summary.losers.is_empty());
        Ok(())
    }

    fn build(self: &Rc<Self>) -> RemoteBuild<Process> {
        RemoteBuild::new(Process(Rc::clone(self)), "memory://bucket/out")
    }

    fn options(&self) -> PlanOptions {
        // Small enough that a part has several tables.
        let table = TableOptions::rocksdb().block_size(64);
        PlanOptions::new(table).max_file_size(100).splits(self.splits.clone())
    }

    fn commit_options(&self, clean: bool) -> CommitOptions {
        let entries = Some(self.keys.len() as u64);
        CommitOptions::default().checksums(false).clean(clean).entries(entries)
    }

    /// A process does one thing, all of it unless it is lost.
    fn act(self: &Rc<Self>) {
        let build = self.build();
        let Ok(plan) = build.open_plan().or_else(|_| build.plan(&self.options())) else { return };
        match self.below(8) {
            0..=3 => {
                let part = self.below(plan.parts() as u64) as usize;
                if let Err(error) = build.upload(&self.attempt(&plan, part)) {
                    self.lost(&plan, &error);
                    if error.to_string().contains("committed without this attempt") {
                        self.happened.borrow_mut().insert("late upload");
                    }
                }
            }
            4..=6 => {
                if build.commit(&self.commit_options(self.below(2) == 0)).is_ok() {
                    self.happened.borrow_mut().insert("commit");
                } else if self.discarded.borrow().contains(plan.id()) {
                    self.happened.borrow_mut().insert("commit after discard");
                }
            }
            _ => match build.discard(&plan) {
                Ok(()) => {
                    self.discarded.borrow_mut().insert(plan.id().to_owned());
                    self.happened.borrow_mut().insert("discard");
                }
                Err(_) if self.published.borrow().is_some() => {
                    self.happened.borrow_mut().insert("discard after commit");
                }
                Err(error) => self.lost(&plan, &error),
            },
        }
    }

    /// Notes the plan of a process that was lost.
    fn lost(&self, plan: &Plan, error: &sstkit_db::Error) {
        if error.to_string().contains(LOST) {
            self.torn.borrow_mut().insert(plan.id().to_owned());
        }
    }

    /// Of a plan that was discarded, only the decision is left, also if attempts at it were being uploaded.
    fn check_discarded(&self) {
        for id in self.discarded.borrow().difference(&self.torn.borrow()) {
            let objects = self.objects.borrow();
            let left: Vec<&String> = objects.keys().filter(|name| name.contains(id)).collect();
            let decision = format!("_sstkit/{id}/commit.json");
            assert!(left.iter().all(|name| **name == decision), "{left:?}");
        }
    }

    /// An attempt on the disk of a worker. Its name is the value of all of its keys.
    fn attempt(&self, plan: &Plan, part: usize) -> PartSummary {
        self.attempts.set(self.attempts.get() + 1);
        let name = format!("{}-{}", self.below(100), self.attempts.get());
        let disk = self.folder.path().join(&name);
        let plan = Plan::restore(&disk, &plan.to_json()).unwrap();
        let mut writer = PartWriter::create(&plan, part, &name, &PartOptions::default()).unwrap();
        for key in self.keys.iter().filter(|key| plan.part_of(key) == part) {
            writer.put(key, name.as_bytes()).unwrap();
        }
        writer.finish().unwrap()
    }

    /// What holds at any time.
    fn check(&self) {
        let objects = self.objects.borrow();
        let mut published = self.published.borrow_mut();
        let Some(text) = objects.get("manifest.json") else {
            assert!(published.is_none(), "the manifest has disappeared");
            return;
        };
        if let Some(published) = &*published {
            assert_eq!(published, text, "the manifest has changed");
        }
        let manifest: BulkManifest = serde_json::from_slice(text).unwrap();
        let id = manifest.plan.clone().unwrap();
        assert!(!self.discarded.borrow().contains(&id), "a plan was removed and published");
        manifest.check().unwrap();
        let mut found = Vec::new();
        let mut attempts = BTreeMap::<usize, BTreeSet<Vec<u8>>>::new();
        for file in &manifest.files {
            let bytes = objects.get(&file.name).unwrap_or_else(|| panic!("{} is gone", file.name));
            for entry in &Table::from_bytes(bytes.clone()).unwrap() {
                let (key, value) = entry.unwrap();
                let part = self.splits.partition_point(|split| split[..] <= key[..]);
                attempts.entry(part).or_default().insert(value.to_vec());
                found.push(key.to_vec());
            }
        }
        assert_eq!(found, self.keys);
        assert!(attempts.values().all(|names| names.len() == 1), "{attempts:?}");
        published.get_or_insert_with(|| text.clone());
    }
}

impl Process {
    /// What may happen at a request: others come before it, or the process is lost, before or after.
    fn request<T>(
        &self,
        request: impl FnOnce(&mut BTreeMap<String, Vec<u8>>) -> T,
    ) -> io::Result<T> {
        let Self(cluster) = self;
        let is_calm = cluster.is_calm.get();
        if !is_calm && cluster.depth.get() < DEPTH && cluster.below(8) == 0 {
            cluster.depth.set(cluster.depth.get() + 1);
            cluster.act();
            cluster.depth.set(cluster.depth.get() - 1);
        }
        let crash = if is_calm { 2 } else { cluster.below(40) };
        let crashed = || {
            cluster.happened.borrow_mut().insert("crash");
            Err(io::Error::other(LOST))
        };
        if crash == 0 {
            return crashed();
        }
        let result = request(&mut cluster.objects.borrow_mut());
        cluster.check();
        if crash == 1 { crashed() } else { Ok(result) }
    }
}

impl ObjectFolder for Process {
    fn list(&self) -> io::Result<Vec<(String, u64)>> {
        self.request(|objects| {
            objects.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect()
        })
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.request(|objects| objects.get(name).cloned())
    }

    fn create(&self, name: &str, contents: Vec<u8>) -> io::Result<bool> {
        self.request(|objects| match objects.contains_key(name) {
            true => false,
            false => objects.insert(name.to_owned(), contents).is_none(),
        })
    }

    fn upload(&self, name: &str, file: &Path) -> io::Result<()> {
        let bytes = std::fs::read(file)?;
        self.request(|objects| drop(objects.insert(name.to_owned(), bytes)))
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        names.iter().try_for_each(|name| self.request(|objects| drop(objects.remove(name))))
    }
}
